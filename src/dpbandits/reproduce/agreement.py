"""Agreement: do two reproductions find the same? Verdict by verdict, and measure by measure.

Two estimates differ if their intervals do not overlap, each widened by what normal estimates would need for all of
them to hold together with 99% confidence. That is for 50 runs or more: intervals of fewer are too rough, and then only
what is identical is told. What was computed exactly differs if it does by more than powers and Fourier transforms of
two machines may. A number without an interval is the same or cannot be compared.

A verdict follows from its measures, some of them close to a threshold. So two verdicts contradict each other only where
the measures do, or where these are the same and the verdict is not.
"""

import csv
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dpbandits._version import __version__
from dpbandits.errors import InvalidInput
from dpbandits.reproduce.claims import Finding, Verdict
from dpbandits.reproduce.confidence import CONFIDENCE
from dpbandits.reproduce.measures import Measure
from dpbandits.reproduce.study import Settings

CLAIMS_FILE, SETTINGS_FILE = "claims.csv", "settings.json"
FALSE_ALARMS = 0.01
ROUNDING = 1e-6  # relative: what two machines may make of the same formula
FEWEST_RUNS = 50


@dataclass(frozen=True)
class Record:
    """What a reproduction found, as its files hold it."""

    verdicts: dict[str, str]
    measures: dict[tuple[str, str], Measure]  # by claim and name
    settings: dict[str, Any]

    @classmethod
    def of(cls, findings: dict[str, Finding], settings: Settings) -> "Record":
        """Return the record of findings that were just made."""
        measures = {(claim, each.name): each for claim, finding in findings.items() for each in finding.measures}
        return cls({claim: str(finding.verdict) for claim, finding in findings.items()}, measures, described(settings))

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Return the record in a folder that `dpbandits reproduce` has written.

        Raises:
            InvalidInput: if there is none, one of a version that kept text in place of numbers, or a damaged one.
        """
        try:
            with (path / CLAIMS_FILE).open(encoding="utf-8", newline="") as text:
                rows = list(csv.DictReader(text))
            verdicts = {row["claim"]: str(Verdict(row["verdict"])) for row in rows}
            measures = {(row["claim"], row["measure"]): _measure_of(row) for row in rows}
            is_unambiguous = all(row["verdict"] == verdicts[row["claim"]] for row in rows)
            settings = json.loads((path / SETTINGS_FILE).read_text("utf-8"))
            Settings(**{name: settings[name] for name in ("horizon", "runs", "seed", "effort")})
        except (OSError, KeyError, ValueError, TypeError, AttributeError, RecursionError, csv.Error):
            is_unambiguous, rows = False, []
        if not rows or not is_unambiguous or len(measures) < len(rows):
            raise InvalidInput(
                f"Expected against={str(path)!r} to be a folder of dpbandits reproduce, whose {CLAIMS_FILE} has one "
                f"row for each measure and whose {SETTINGS_FILE} says what was run."
            )
        return cls(verdicts, measures, settings)


def described(settings: Settings) -> dict[str, Any]:
    """Return the settings of a reproduction and the version that made it, for its files."""
    return {"dpbandits": __version__, **asdict(settings)}


def _measure_of(row: dict[str, str]) -> Measure:
    value, low, high = (float(row[column] or math.nan) for column in ("value", "low", "high"))
    return Measure(row["measure"], value, low, high, row["unit"])  # type: ignore[arg-type]


@dataclass(frozen=True)
class Difference:
    """A measure that two reproductions disagree about."""

    claim: str
    here: Measure
    there: Measure

    def __str__(self) -> str:
        amounts = self.here.amount, self.there.amount
        if amounts[0] == amounts[1]:  # then all digits are needed to see a difference
            amounts = repr(self.here.value), repr(self.there.value)
        return f"{self.here.name}: {amounts[0]} here, {amounts[1]} there"


@dataclass
class Agreement:
    """What is the same in two reproductions, and what is not.

    Attributes:
        identical: how many measures are the same to the last bit.
        agreeing: how many others have intervals that agree.
        untold: how many others cannot be compared: they have no interval, or are from fewer than 50 runs.
        one_sided: measures that have an interval, or are exact, in one of the two alone.
        differences: the measures that differ.
        verdicts: claims with two verdicts, here and there.
        only_here: measures that the other has not, by claim and name.
        only_there: measures that the other alone has.
        settings: settings that differ, here and there.
        varying: claims with a measure that is not the same and does not differ by more than chance explains.
    """

    identical: int = 0
    agreeing: int = 0
    untold: int = 0
    one_sided: list[tuple[str, str]] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    verdicts: dict[str, tuple[str, str]] = field(default_factory=dict)
    only_here: list[tuple[str, str]] = field(default_factory=list)
    only_there: list[tuple[str, str]] = field(default_factory=list)
    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    varying: set[str] = field(default_factory=set)

    @property
    def contradictions(self) -> dict[str, tuple[str, str]]:
        """The claims that are decided here and there, not alike, and not by measures that vary by chance."""
        differing = {difference.claim for difference in self.differences}
        return {
            claim: pair
            for claim, pair in self.verdicts.items()
            if Verdict.UNDECIDED not in pair and (claim in differing or claim not in self.varying)
        }

    @property
    def differs(self) -> bool:
        """Whether a verdict or a measure contradicts the other."""
        return bool(self.differences or self.contradictions)

    @property
    def is_complete(self) -> bool:
        """Whether every measure has its counterpart, with an interval if it has one itself."""
        return not (self.only_here or self.only_there or self.one_sided)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        answers = {"contradictions": self.contradictions, "differs": self.differs, "complete": self.is_complete}
        return {**asdict(self), "varying": sorted(self.varying), **answers}


def agreement(here: Record, there: Record) -> Agreement:
    """Compare what was found here with what was found there, for the claims that were tested here."""
    tested = {key: measure for key, measure in there.measures.items() if key[0] in here.verdicts}
    result = Agreement(
        verdicts={
            claim: (verdict, there.verdicts[claim])
            for claim, verdict in here.verdicts.items()
            if there.verdicts.get(claim, verdict) != verdict
        },
        only_here=[key for key in here.measures if key not in tested],
        only_there=[key for key in tested if key not in here.measures],
        settings=dict(_different_settings(here.settings, there.settings)),
    )
    pairs = [(key[0], measure, tested[key]) for key, measure in here.measures.items() if key in tested]
    width = widening(sum(not one.is_exact or not other.is_exact for _, one, other in pairs))
    is_rough = min(here.settings["runs"], there.settings["runs"]) < FEWEST_RUNS
    for claim, one, other in pairs:
        if _is_identical(one, other):
            result.identical += 1
            continue
        is_close = math.isclose(one.value, other.value, rel_tol=ROUNDING)
        if is_close or (one.is_exact and other.is_exact):
            if is_close:
                result.agreeing += 1
            else:
                result.differences.append(Difference(claim, one, other))
            continue
        result.varying.add(claim)
        if _is_bounded(one) != _is_bounded(other):
            result.one_sided.append((claim, one.name))
        elif is_rough or not _is_bounded(one):
            result.untold += 1
        elif _overlap(one, other, width):
            result.agreeing += 1
        else:
            result.differences.append(Difference(claim, one, other))
    return result


def widening(estimates: int) -> float:
    """Return by how much intervals of 99% must be widened for all of so many pairs to hold together.

    >>> widening(1), widening(400)
    (1.09, 1.70)
    """
    from scipy.special import ndtri

    each = FALSE_ALARMS / (2 * max(estimates, 1))
    return float(ndtri(1 - each / 2) / ndtri((1 + CONFIDENCE) / 2))


def _is_identical(one: Measure, other: Measure) -> bool:
    return [*map(repr, (one.value, one.low, one.high))] == [*map(repr, (other.value, other.low, other.high))]


def _is_bounded(measure: Measure) -> bool:
    return not math.isnan(measure.low) and not math.isnan(measure.value)


def _overlap(one: Measure, other: Measure, width: float) -> bool:
    lower, upper = sorted((one, other), key=lambda measure: measure.value)
    gap = upper.value - lower.value
    return gap <= width * ((lower.high - lower.value) + (upper.value - upper.low))


def _different_settings(here: dict[str, Any], there: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name in {**here, **there}:
        if here.get(name) != there.get(name):
            yield name, (here.get(name), there.get(name))
