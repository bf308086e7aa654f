"""A claim of the paper: where it stands, what it says in our words, how it is tested, and what came out."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from dpbandits.errors import InvalidInput
from dpbandits.reproduce.measures import Measure
from dpbandits.reproduce.study import Study


class Verdict(StrEnum):
    """What can be said of a claim. "Not decided" means too few or too short runs."""

    HOLDS = "holds"
    ONLY_IF = "holds only if"
    FAILS = "fails"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class Finding:
    """What came out. `because` is the condition of "holds only if", and the reason of the other verdicts."""

    verdict: Verdict
    because: str
    measures: tuple[Measure, ...]

    def __post_init__(self) -> None:
        names = [measure.name for measure in self.measures]
        if not names or len({*names}) < len(names):
            raise InvalidInput(f"Expected measures={names} to be one or more, each with a name of its own.")

    @property
    def reason(self) -> str:
        """What to say beside the verdict."""
        if self.verdict is Verdict.UNDECIDED:
            return "these runs are too few or too short to tell."
        return self.because

    def measure(self, name: str) -> Measure:
        """Return the measure of this name."""
        (measure,) = (measure for measure in self.measures if measure.name == name)
        return measure

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Finding":
        """Return what `to_dict` wrote down."""
        measures = tuple(Measure(**measure) for measure in plain["measures"])
        return cls(Verdict(plain["verdict"]), plain["because"], measures)


class Cause(StrEnum):
    """What several claims fail by."""

    COUNTERS = (
        "The hybrid counter uses a reward twice, in a tree and in the next total. It costs 2ε, not ε, and so do the "
        "algorithms that are built on it"
    )
    STUCK = (
        "DP-UCB-Int does not allow for its own noise. If the first release of the best arm is too low, it may never be "
        "played again: a share of the runs that does not depend on t has linear regret, and it decides the mean"
    )


Check = Callable[[Study], Finding]


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper."""

    name: str
    where: str
    says: str
    test: str
    check: Check
    cause: Cause | None = None

    @property
    def command(self) -> str:
        """What repeats this row alone."""
        return f"dpbandits reproduce --claim {self.name}"


def claim(name: str, *, where: str, says: str, test: str, cause: Cause | None = None) -> Callable[[Check], Claim]:
    """Make a claim of the function that tests it."""
    return lambda check: Claim(name, where, says, test, check, cause)


def judged(*, holds: bool, fails: bool) -> Verdict:
    """Return the verdict of a test that may show either, or not enough for any."""
    return Verdict.HOLDS if holds else Verdict.FAILS if fails else Verdict.UNDECIDED
