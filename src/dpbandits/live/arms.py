"""Arms: their names, as they are given, and their numbers, by which everything inside knows them."""

import numbers
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from dpbandits import _validate
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.policies.policy import MAX_ARMS

_LONGEST_NAME = 200
_LARGEST_NAME = 2**63


def arm_names(arms: int | Sequence[str | int]) -> tuple[str | int, ...]:
    """Return the names of the arms: those given, or 0, 1, ... for a number of arms."""
    if isinstance(arms, numbers.Real):
        return tuple(range(_validate.integer(f"[2, {MAX_ARMS}]", arms=arms)))
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence | np.ndarray):
        raise InvalidInput(
            f"Expected arms={value_text(arms)} to be a list of names or a whole number in [2, {MAX_ARMS}]."
        )
    names = tuple(_arm_name(arm) for arm in arms)
    _validate.integer(f"[2, {MAX_ARMS}]", **{"number of arms": len(names)})
    doubled = [str(arm) for arm, times in Counter(names).items() if times > 1]
    if doubled:
        raise InvalidInput(f"Expected different arms: {', '.join(doubled[:5])} is there more than once.")
    return names


def _arm_name(arm: object) -> str | int:
    if isinstance(arm, numbers.Integral) and not isinstance(arm, bool) and abs(int(arm)) < _LARGEST_NAME:
        return int(arm)  # a plain one, also for a NumPy integer
    if isinstance(arm, str) and 0 < len(arm) <= _LONGEST_NAME:
        return str(arm)
    raise InvalidInput(
        f"Expected arm={value_text(arm)} to be a name of 1 to {_LONGEST_NAME} characters or a whole number."
    )


def numbers_of(arms: Sequence[str | int]) -> dict[str | int, int]:
    """Return the number of every arm, by its name."""
    return {arm: number for number, arm in enumerate(arms)}


def number_of_arm(arm: object, arms: Mapping[str | int, int]) -> int:
    """Return the number of the arm with this name."""
    try:
        number = None if isinstance(arm, bool | float) else arms.get(arm)  # type: ignore[call-overload]
    except TypeError:  # not even hashable
        number = None
    if number is None:
        names = ", ".join(map(repr, list(arms)[:10])) + (", ..." if len(arms) > 10 else "")
        raise InvalidInput(f"Expected arm={value_text(arm)} to be one of {names}.")
    return int(number)
