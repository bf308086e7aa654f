"""A claim of the paper: where it stands, what it says in our words, how it is tested, and what came out."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from dpbandits.reproduce.study import Study


class Verdict(StrEnum):
    """What can be said of a claim. "Not decided" means too few runs, which happens with small settings only."""

    HOLDS = "holds"
    ONLY_IF = "holds only if"
    FAILS = "fails"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class Finding:
    """What came out. `because` is the condition of "holds only if", and the reason of the other verdicts."""

    verdict: Verdict
    because: str
    numbers: tuple[str, ...]

    @property
    def reason(self) -> str:
        """What to say beside the verdict."""
        if self.verdict is Verdict.UNDECIDED:
            return "these runs are too few or too short to tell."
        return self.because

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Finding":
        """Return what `to_dict` wrote down."""
        return cls(Verdict(plain["verdict"]), plain["because"], tuple(plain["numbers"]))


Check = Callable[[Study], Finding]


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper."""

    name: str
    where: str
    says: str
    test: str
    check: Check

    @property
    def command(self) -> str:
        """What repeats this row alone."""
        return f"dpbandits reproduce --claim {self.name}"


def claim(name: str, *, where: str, says: str, test: str) -> Callable[[Check], Claim]:
    """Make a claim of the function that tests it."""
    return lambda check: Claim(name, where, says, test, check)
