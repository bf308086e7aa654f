"""Timing: for how long a reward is accepted, when a block is released, and how a clock is read.

`open`: a block is released when its last answer comes, at the latest when it is due. `sealed`: when it is due and never
because a reward came, so that neither the presence nor the time of a reward shows. A full block is due one window after
its last assignment was handed out: then no answer to any of its assignments is accepted any more.
"""

import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Literal, get_args

from dpbandits import _validate
from dpbandits._phrases import count_text, duration_text, one_line
from dpbandits._validate import value_text
from dpbandits.errors import ClockWarning, InvalidInput, WrongKind

Timing = Literal["open", "sealed"]
TIMINGS: tuple[Timing, ...] = get_args(Timing)

_WINDOWS = "[0.001, 1e8]"  # seconds: the longest is three years, less than a clock may leap
_READINGS = "[-1e12, 1e12]"  # seconds; milliseconds since 1970 are above
_LEAP = 10 * 365.25 * 86400  # seconds: so much later it is another clock, such as that of the machine after one from 0

Clock = Callable[[], float]


def validated_window(window: float | None) -> float | None:
    """Return for how many seconds a reward is accepted; None for ever."""
    return None if window is None else _validate.real(_WINDOWS, window=window)


def validated_timing(timing: Timing, window: float | None) -> Timing:
    """Return when blocks are released: a sealed one is when its window is over, so there must be one."""
    _validate.one_of(TIMINGS, timing=timing)
    if timing == "sealed" and window is None:
        raise InvalidInput(
            "Expected window=None to be a number of seconds with timing='sealed': a block is released one window after "
            "its last assignment."
        )
    return timing


def validated_clock(clock: Any, window: float | None) -> Clock | None:
    """Return what tells the time; None where no window needs it."""
    if clock is not None and not callable(clock):
        raise WrongKind(f"Expected clock={value_text(clock)} to be a function that returns seconds.")
    if window is None:
        return None
    return time.time if clock is None else clock


def reading(clock: Clock) -> float:
    """Return what the clock says, in seconds."""
    try:
        time = clock()
    except Exception as problem:  # noqa: BLE001  (it knows nothing secret, so its own words may be shown)
        raise InvalidInput(f"The clock did not answer: {type(problem).__name__}: {one_line(problem)}") from None
    return _validate.real(_READINGS, **{"the clock's seconds": time})


def check_leap(time: float, latest: float) -> None:
    """Refuse a reading that is so much later than the latest one that it must be of another clock.

    It would end all windows, and there would be no way back.
    """
    if time - latest > _LEAP:
        raise InvalidInput(
            f"Expected the clock's seconds={time:.17g} to be within ten years of {latest:.17g}, the latest before: go "
            "on with the clock that this bandit began with (clock=...). Nothing has changed."
        )


def is_reading(value: object) -> bool:
    """Tell whether a value can be one that the clock has given."""
    low, high = map(float, _READINGS.strip("[]").split(","))
    return type(value) is float and low <= value <= high


def _rounded_text(seconds: float) -> str:
    """Return a duration of some days in days, of some hours in hours, of some minutes in minutes, or in seconds."""
    unit = next((unit for unit in (86400, 3600, 60) if seconds >= 2 * unit), 1)
    return duration_text(unit * round(seconds / unit))


def warn_of_earlier_reading(time: float, latest: float) -> None:
    """Tell whoever called the library that the clock was put far back."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("dpbandits."):
        level, frame = level + 1, frame.f_back
    warnings.warn(
        f"The clock says {time:.17g}, about {_rounded_text(latest - time)} before its latest reading. Until it is "
        "there again no block is due and no window ends. If that reading was wrong, go on with a clock that adds "
        f"{count_text(math.ceil(latest - time), 'second')} to this one.",
        ClockWarning,
        stacklevel=level,
    )
