"""Measure: one number that a claim was tested by, and where the truth is. Text is made of it where it is shown."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

from dpbandits.errors import InvalidInput
from dpbandits.reproduce.confidence import Interval, number

Count = Literal["plays", "steps", "items", "releases", "draws", "runs", "times", "panels", "intervals", "arms"]
Unit = Literal["", "regret", "share", "factor", "exponent", "log ratio", "epsilon", "delta", Count]
UNITS: tuple[Unit, ...] = get_args(Unit)
_ALIKE = 1e-9  # relative: what sums of the same numbers may differ by


@dataclass(frozen=True)
class Measure:
    """A number with a name that is the same in every run, so that two runs can be compared.

    The truth is from `low` to `high`, with 99% confidence: both are the value itself where it was computed exactly, and
    NaN where nothing is known of it but what these runs showed. What stands before a colon in the name is what several
    measures are about.

    Raises:
        InvalidInput: if the value is not between its ends, or the unit is none.

    >>> print(Measure.estimated("2 arms, ε = 1: DP-UCB", Interval(307.2, 300.0, 314.4), "regret"))
    2 arms, ε = 1 – DP-UCB: 307.2 ± 7.2
    >>> print(Measure.exact("as published", 2.0, "epsilon"))
    as published: ε = 2
    """

    name: str
    value: float
    low: float
    high: float
    unit: Unit = ""

    def __post_init__(self) -> None:
        is_known = self.low <= self.value <= self.high
        is_unknown = (math.isnan(self.low) and math.isnan(self.high)) or math.isnan(self.value)
        if not (is_known or is_unknown) or self.unit not in UNITS or not self.name.isprintable():
            raise InvalidInput(
                f"Expected a measure in its interval, with a printable name and a known unit, not {self!r}."
            )

    @classmethod
    def exact(cls, name: str, value: float, unit: Unit = "") -> "Measure":
        """Return a number that was computed, not estimated."""
        return cls(name, float(value), float(value), float(value), unit)

    @classmethod
    def estimated(cls, name: str, interval: Interval, unit: Unit = "") -> "Measure":
        """Return an estimate with its interval. Runs that are all alike tell of no interval, and seem exact."""
        value, low, high = map(float, interval)
        if high - low <= _ALIKE * abs(value):
            return cls.observed(name, value, unit)
        return cls(name, value, low, high, unit)

    @classmethod
    def observed(cls, name: str, value: float, unit: Unit = "") -> "Measure":
        """Return what these runs showed, without an interval."""
        return cls(name, float(value), math.nan, math.nan, unit)

    @property
    def is_exact(self) -> bool:
        """Whether it was computed and not estimated."""
        return self.low == self.value == self.high

    @property
    def subject(self) -> str:
        """What several measures are about, or nothing."""
        return self.name.rpartition(": ")[0]

    @property
    def amount(self) -> str:
        """The number as people write it, with its interval and its unit."""
        if self.unit == "share":
            return _percentage(self)
        text = _with_interval(self)
        if self.unit == "epsilon":
            return f"ε = {text}"
        if self.unit == "delta":
            return f"δ = {text}"
        if self.unit == "factor":
            return f"{text} times"
        return f"{text} {self._noun}" if self._noun else text

    @property
    def _noun(self) -> str:
        if self.unit in ("", "regret", "exponent", "log ratio"):
            return ""
        return self.unit.removesuffix("s") if self.value == 1 else self.unit

    def __str__(self) -> str:
        return " – ".join(filter(None, (self.subject, self._part)))

    @property
    def _part(self) -> str:
        return f"{self.name.removeprefix(f'{self.subject}: ')}: {self.amount}"


def measure_lines(measures: Iterable[Measure]) -> tuple[str, ...]:
    """Return measures as text, a line for all that are about the same.

    >>> exact = Measure.exact
    >>> measure_lines([exact("means: at first", 3), exact("means: at last", 4.5), exact("in all", 2, "plays")])
    ('means – at first: 3; at last: 4.5', 'in all: 2 plays')
    """
    lines = []
    for subject, group in groupby(measures, key=lambda measure: measure.subject):
        first, *others = group
        if subject:
            lines.append("; ".join([str(first), *(each._part for each in others)]))
        else:
            lines += map(str, (first, *others))
    return tuple(lines)


def _with_interval(measure: Measure) -> str:
    value, low, high = measure.value, measure.low, measure.high
    if math.isnan(low) or measure.is_exact:
        return number(value)
    if abs((high - value) - (value - low)) <= 0.02 * (high - low) or not math.isfinite(high - low):
        return str(Interval(value, low, high))
    return f"{number(value)} ({number(low)} to {number(high)})"


def _percentage(measure: Measure) -> str:
    def percent(share: float) -> str:
        return f"{number(100 * share) if 0 < share < 1e-5 else format(100 * share, '.3g')}%"

    if math.isnan(measure.low) or measure.is_exact:
        return percent(measure.value)
    return f"{percent(measure.value)} ({percent(measure.low)} to {percent(measure.high)})"
