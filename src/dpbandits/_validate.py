"""Checks of what users pass in, with one wording for the whole library.

The name of the value comes from the keyword, and the text of the interval is also the test:

>>> real("(0, inf)", epsilon=-1)
Traceback (most recent call last):
dpbandits.errors.InvalidInput: Expected epsilon=-1 in (0, inf).
"""

import math
import numbers
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, TypeVar

from dpbandits.errors import InvalidInput, WrongKind

_LONGEST_TEXT = 80

Word = TypeVar("Word", bound=str)


def value_text(value: object) -> str:
    """Return a value for an error message: numbers as they are printed, others as in Python, long ones cut.

    >>> value_text("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... (1,002 characters)"
    """
    is_number = isinstance(value, numbers.Real)
    try:
        text = str(value) if is_number else repr(value)
    except Exception:  # noqa: BLE001  (a repr may do anything; Python itself refuses integers of thousands of digits)
        return "a number of thousands of digits" if is_number else f"something of type {type(value).__name__}"
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:60]}... ({len(text):,} characters)"


def real(interval: str, **named: object) -> float:
    """Return the one named value as a float if it is a number inside `interval`, such as "(1, 1.5]"."""
    ((name, value),) = named.items()
    # Most values are plain floats, and to ask whether something is a number at all takes a microsecond.
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise InvalidInput(f"Expected {name}={value_text(value)} to be a number in {interval}.")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")  # or minus that: outside every interval either way
    if not _inside(interval, number):  # NaN is inside nothing
        raise InvalidInput(f"Expected {name}={value_text(value)} in {interval}.")
    return number


def integer(interval: str, **named: object) -> int:
    """Return the one named value as an int if it is a whole number inside `interval`; 1e5 is one."""
    ((name, value),) = named.items()
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not (isinstance(value, numbers.Integral) or _is_whole(value)):
        raise InvalidInput(f"Expected {name}={value_text(value)} to be a whole number in {interval}.")
    whole = int(value)  # type: ignore[call-overload]
    if not _inside(interval, whole):
        raise InvalidInput(f"Expected {name}={value_text(value)} in {interval}.")
    return int(whole)


def horizon(value: object) -> float:
    """Return a horizon: infinity, or a whole number from 1 to 10^18."""
    if isinstance(value, float) and value == math.inf:
        return math.inf
    return integer("[1, 1000000000000000000]", horizon=value)


def flag(**named: object) -> bool:
    """Return the one named value if it is True or False; a word such as "no" would count as True."""
    ((name, value),) = named.items()
    if not isinstance(value, bool):
        raise InvalidInput(f"Expected {name}={value_text(value)} to be True or False.")
    return value


def one_of(allowed: Collection[Word], **named: object) -> Word:
    """Return the one named value if it is among the allowed words; as one of a Literal, if they are its words."""
    ((name, value),) = named.items()
    for word in allowed:
        if isinstance(value, str) and value == word:
            return word
    raise InvalidInput(f"Expected {name}={value_text(value)} to be one of {', '.join(allowed)}.")


def as_list(**named: Iterable[Any]) -> list[Any]:
    """Return the one named thing as a list; text is refused, which would be a list of letters."""
    ((name, value),) = named.items()
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(f"Expected {name}={value_text(value)} to be a list.")
    return list(value)


def check_kind(kind: type, description: str, **named: object) -> None:
    """Refuse the one named thing if it is not of this kind, which the error describes.

    >>> check_kind(dict, "a dictionary, such as {}", settings=7)
    Traceback (most recent call last):
    dpbandits.errors.WrongKind: Expected settings=7 to be a dictionary, such as {}.
    """
    ((name, value),) = named.items()
    if not isinstance(value, kind):
        raise WrongKind(f"Expected {name}={value_text(value)} to be {description}.")


def real_fields(frozen: object, **intervals: str) -> None:
    """Check the named fields of a frozen dataclass under construction and make floats of them."""
    for name, interval in intervals.items():
        object.__setattr__(frozen, name, real(interval, **{name: getattr(frozen, name)}))


def integer_fields(frozen: object, **intervals: str) -> None:
    """Check the named fields of a frozen dataclass under construction and make ints of them."""
    for name, interval in intervals.items():
        object.__setattr__(frozen, name, integer(interval, **{name: getattr(frozen, name)}))


def _is_whole(value: Any) -> bool:
    try:
        return float(value).is_integer()
    except OverflowError:  # a Fraction of thousands of digits
        return bool(value == int(value))


@cache
def _bounds(interval: str) -> tuple[float, float]:
    lower, upper = map(_bound, interval[1:-1].split(","))
    return lower, upper


def _bound(text: str) -> float:
    # Whole numbers are exact: floats would blur the bounds of 64-bit integers.
    return int(text) if text.strip().removeprefix("-").isdigit() else float(text)


def _inside(interval: str, number: float) -> bool:
    lower, upper = _bounds(interval)
    above = lower <= number if interval[0] == "[" else lower < number
    below = number <= upper if interval[-1] == "]" else number < upper
    return above and below
