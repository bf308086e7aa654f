"""Shares: some arms get at least a share of all decisions. Which of them is next follows from counts alone."""

import math
from collections.abc import Mapping, Sequence

from dpbandits import _validate
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.live.arms import number_of_arm, numbers_of
from dpbandits.live.counts import Counts


def validated_shares(shares: Mapping[str | int, float] | None, arms: Sequence[str | int]) -> tuple[float, ...] | None:
    """Return for every arm which share of all decisions it gets at least; None if nothing was asked for."""
    if shares is None:
        return None
    if not isinstance(shares, Mapping):
        raise InvalidInput(f"Expected shares={value_text(shares)} to be a mapping of arms to numbers, or None.")
    numbers = numbers_of(arms)
    given = {number_of_arm(arm, numbers): _share(arm, share) for arm, share in shares.items()}
    if not any(given.values()):
        return None
    return checked_shares([given.get(number, 0.0) for number in range(len(arms))], arms)


def named_shares(shares: Sequence[float], arms: Sequence[str | int]) -> dict[str | int, float]:
    """Return the shares that were asked for, by the names of their arms."""
    return {arm: share for arm, share in zip(arms, shares, strict=True) if share}


def checked_shares(shares: Sequence[float], arms: Sequence[str | int]) -> tuple[float, ...]:
    """Return shares, one for every arm, if together they leave something to the policy."""
    if not isinstance(shares, list | tuple):
        raise InvalidInput(f"Expected shares={value_text(shares)} to be a list of numbers, one for each arm.")
    if len(shares) != len(arms):
        raise InvalidInput(f"Expected a share for each of {len(arms)} arms, not {len(shares)}.")
    plain = tuple(_share(arm, share) for arm, share in zip(arms, shares, strict=True))
    together = math.fsum(plain)  # the same in every version of Python
    if not together < 1:
        raise InvalidInput(
            f"Expected shares={value_text(named_shares(shares, arms))} to be less than 1 together, not {together:.6g}: "
            "the rest is chosen."
        )
    if not any(plain):
        raise InvalidInput("Expected at least one share above 0.")
    return plain


def _share(arm: str | int, share: object) -> float:
    return _validate.real("[0, 1)", **{f"share of {arm!r}": share})


def neediest_arm(shares: Sequence[float], counts: Counts) -> int | None:
    """Return the arm that lacks most of its share of all decisions; None if none does that has a free place."""
    missing = {
        arm: share * counts.decisions - counts.decided[arm]
        for arm, share in enumerate(shares)
        if share and counts.free_block(arm) is not None
    }
    arm = max(missing, key=lambda arm: missing[arm], default=None)
    return arm if arm is not None and missing[arm] > 0 else None
