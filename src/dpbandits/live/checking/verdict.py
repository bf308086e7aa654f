"""The result of checking a ledger: the verdict, its reasons, what was checked and what cannot be."""

from dataclasses import dataclass
from typing import Any

from dpbandits._phrases import count_text
from dpbandits.privacy import Budget, Guarantee
from dpbandits.privacy.ledger import Head

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
CANNOT_BE_TOLD = "cannot be told"

_END_UNCHECKED = (
    "The end of the ledger was not checked: without the head that was kept elsewhere, "
    "rows may be missing or added there."
)
_LISTED = 10  # reasons in the text; `to_dict` has all


class BrokenPromise(Exception):
    """Raised when a ledger does not hold. The message is the reason."""


class Undecidable(Exception):
    """Raised when nobody can tell whether a ledger holds. The message is the reason."""


@dataclass(frozen=True)
class ArmSpent:
    """What the releases of one arm have cost the reward of it that lost most."""

    arm: str | int
    releases: int
    rewards: int  # that are in a release
    epsilon: float  # pure: the losses of its releases, added up where a reward is in several


@dataclass(frozen=True)
class LedgerCheck:
    """The result of `check_ledger`.

    `spent` is what the rows cost the reward, or the person, that lost most. With delta = 0 it is exact; otherwise it
    shows progress and is not proved, since how many releases an arm has had depends on what was released. `whole` is
    what the whole schedule of row 0 can cost, recomputed; `promised` is what row 0 says. None where it could not be
    computed.
    """

    verdict: str
    reasons: tuple[str, ...]  # why not; a sentence for every check that failed
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]  # what no check of a text can show
    rows: int
    head: Head | None
    head_checked: bool
    rows_after_head: int | None = None  # which the given head does not cover; None without one that is in the chain
    policy: str | None = None
    claim: Budget | None = None
    promised: Guarantee | None = None
    whole: Guarantee | None = None
    spent: Guarantee | None = None
    arms: tuple[ArmSpent, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether everything that can be checked is right."""
        return self.verdict == HOLDS

    @property
    def warning(self) -> str | None:
        """What a reader must know before the verdict: which rows no head covers."""
        if not self.head_checked:
            return _END_UNCHECKED
        if not self.rows_after_head:
            return None
        covered = self.rows - 1 - self.rows_after_head
        return (
            f"The head covers the rows up to {covered:,}, and not the {count_text(self.rows_after_head, 'row')} after "
            "it: at the end, rows may be missing or added."
        )

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        if self.verdict == CANNOT_BE_TOLD:
            return f"Cannot be told: {_lowered(self.reasons[0])}"
        if self.verdict == DOES_NOT_HOLD:
            more = len(self.reasons) - 1
            return f"Does not hold: {_lowered(self.reasons[0])}" + (
                f" {count_text(more, 'more reason')}." if more else ""
            )
        assert self.whole is not None
        assert self.spent is not None
        assert self.promised is not None
        claimed = "" if self.claim is None else f" and the {cost_text(self.claim)} of the claim"
        return (
            f"Holds: {count_text(self.rows - 1, 'release')} of {self.policy}, as row 0 lays down. So far they cost "
            f"{cost_text(self.spent)} in {self.whole.unit}, and in the end at most {cost_text(self.whole)}: within the "
            f"{cost_text(self.promised)} that row 0 promises{claimed}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        return {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "checked": list(self.checked),
            "cannot_be_checked": list(self.unchecked),
            "rows": self.rows,
            "head": None if self.head is None else {"number": self.head[0], "hash": self.head[1]},
            "head_checked": self.head_checked,
            "rows_after_head": self.rows_after_head,
            "policy": self.policy,
            "claim": None if self.claim is None else {"epsilon": self.claim.epsilon, "delta": self.claim.delta},
            "promised": None if self.promised is None else self.promised.to_dict(),
            "whole": None if self.whole is None else self.whole.to_dict(),
            "spent": None if self.spent is None else self.spent.to_dict(),
            "arms": [vars(arm) for arm in self.arms],
        }

    def __str__(self) -> str:
        lines = [] if self.warning is None else [self.warning]
        lines.append(self.sentence)
        if len(self.reasons) > 1:
            lines += ["Reasons:", *(f"- {reason}" for reason in self.reasons[:_LISTED])]
            if len(self.reasons) > _LISTED:
                lines.append(f"- and {len(self.reasons) - _LISTED:,} more.")
        failed = " (what failed is listed above)" if self.verdict == DOES_NOT_HOLD else ""
        for title, items in ((f"Checked{failed}:", self.checked), ("Cannot be checked:", self.unchecked)):
            lines += [title, *(f"- {item}" for item in items)] if items else []
        if self.head is not None:
            lines.append(f"Head: {self.head[0]}:{self.head[1]}")
        return "\n".join(lines)


def cost_text(cost: Budget | Guarantee) -> str:
    """Return a cost in few words, with "about" if it is not proved."""
    about = "about " if isinstance(cost, Guarantee) and not cost.proved else ""
    return f"{about}epsilon = {cost.epsilon:.6g}" + (f", delta = {cost.delta:.3g}" if cost.delta else "")


def distinct_texts(cost: Guarantee, allowed: Budget | Guarantee) -> tuple[str, str]:
    """Return two costs as texts that differ: with all digits, if a few are not enough."""
    texts = cost_text(cost), cost_text(allowed)
    if texts[0] != texts[1]:
        return texts
    return (
        f"epsilon = {cost.epsilon!r}, delta = {cost.delta!r}",
        f"epsilon = {allowed.epsilon!r}, delta = {allowed.delta!r}",
    )


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:] if sentence.startswith(("The ", "It ", "No ", "Row ")) else sentence
