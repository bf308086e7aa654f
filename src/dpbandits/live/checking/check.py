"""check_ledger: whether a ledger keeps its promise, from its text alone."""

from dataclasses import replace

from dpbandits._validate import shown
from dpbandits.errors import InvalidInput, LedgerError
from dpbandits.live.checking.cost import exceeds
from dpbandits.live.checking.promise import Promise, read_promise
from dpbandits.live.checking.releases import Releases
from dpbandits.live.checking.verdict import (
    CANNOT_BE_TOLD,
    DOES_NOT_HOLD,
    HOLDS,
    LedgerCheck,
    Unknown,
    Wrong,
    stated,
)
from dpbandits.policies import Policy
from dpbandits.privacy import Budget, Guarantee, Ledger, group_guarantee
from dpbandits.privacy.ledger import Head

_CHAIN = "The chain: that every row has its hash and holds that of the row before."
_END = "The end: that the last row is the one of the given head."
_ROW_0 = (
    "Row 0: that its settings are those of a Bandit, that its policy runs as it says, and that its schedule costs no "
    "more than it promises, by our own accounting."
)
_ROWS = (
    "Every release: that it is the next one of its arm, with the count and the noise of the schedule, and that its "
    "epsilon is what this noise costs.",
    "All releases together: that they cost no more than row 0 promises, that no more rewards entered than may, and "
    "that none can be in two blocks.",
)
_UNCHECKED = (
    "That the noise was really drawn so, from a good source, and once.",
    "That every release was recorded, and that nothing else left the program.",
    "That the sums were those of the rewards they should hold, and that each person gave as few as they say.",
)
_UNCHECKED_END = "That no rows are missing at the end and none were added there: that takes the head."
_UNCHECKED_COST = "What the whole schedule costs: it is too long to be added up, and the policy's own word was taken."


def check_ledger(
    text: str,
    *,
    claim: Budget | None = None,
    head: Head | str | None = None,
    policy: type[Policy] | None = None,
) -> LedgerCheck:
    """Check the export of a bandit's ledger: its chain, its configuration, every release, and what they cost together.

    Args:
        text: what `Ledger.to_jsonl` returned.
        claim: the most that it may cost one person; row 0 makes a promise of its own.
        head: the head that was kept elsewhere, or its hash. Without it nobody can tell whether rows are missing at the
            end, or were added.
        policy: the class of a policy that is not one of ours.

    >>> import dpbandits as dpb
    >>> bandit = dpb.Bandit(dpb.DPIMED(epsilon=1.0), arms=["A", "B"])
    >>> for _ in range(10):
    ...     bandit.update(bandit.select(), reward=1.0)
    >>> check_ledger(bandit.ledger.to_jsonl(), head=bandit.ledger.head).verdict
    'holds'
    >>> check_ledger(bandit.ledger.to_jsonl(), claim=Budget(0.5)).reasons
    ('Row 0 promises epsilon = 1, and the claim is epsilon = 0.5.',)
    """
    _check_arguments(claim, head, policy)
    found = LedgerCheck(CANNOT_BE_TOLD, (), (), _unchecked(head), 0, None, head_checked=head is not None, claim=claim)
    if text == "":
        return replace(found, reasons=("The text is empty: a ledger has at least one row.",))
    try:
        ledger = Ledger.from_jsonl(text, None if isinstance(head, str) else head)
        if isinstance(head, str) and ledger.head[1] != head:
            raise LedgerError(f"The ledger ends at row {ledger.head[0]} with hash {ledger.head[1]}, not {head[:64]}.")
    except LedgerError as problem:
        return replace(found, verdict=DOES_NOT_HOLD, reasons=(str(problem),))
    checked = (_CHAIN, *([] if head is None else [_END]))
    found = replace(found, checked=checked, rows=len(ledger), head=ledger.head)
    try:
        promise = read_promise(ledger[0].content, policy)
        releases = Releases(promise)
        releases.read(list(ledger)[1:])
    except Unknown as problem:
        return replace(found, reasons=(str(problem),))
    except Wrong as problem:
        return replace(found, verdict=DOES_NOT_HOLD, reasons=(str(problem),), checked=(*checked, _ROW_0))
    spent = releases.spent()
    reasons = [*_cost_problems(promise, spent, claim), *releases.reasons]
    return replace(
        found,
        verdict=DOES_NOT_HOLD if reasons else HOLDS,
        reasons=tuple(reasons),
        checked=(*checked, _ROW_0, *_ROWS),
        unchecked=(*found.unchecked, *([_UNCHECKED_COST] if promise.cost_is_told else [])),
        policy=promise.configuration.policy.name,
        promised=promise.terms.person,
        whole=promise.person_cost,
        spent=_of_person(spent, promise),
        arms=releases.by_arm(),
    )


def _cost_problems(promise: Promise, spent: Guarantee | None, claim: Budget | None) -> list[str]:
    problems = []
    promised = promise.terms.one_reward
    # Pure costs are added up exactly, from the scales of the rows: the same on every machine.
    if spent is None or exceeds(spent, promised, promise.same if spent.delta else 0.0):
        cost = "more than can be bounded" if spent is None else stated(spent)
        problems.append(f"The releases cost {cost} in one reward, and row 0 promises {stated(promised)}.")
    if claim is not None and not promise.allows(claim):
        problems.append(f"Row 0 promises {stated(promise.terms.person)}, and the claim is {stated(claim)}.")
    return problems


def _of_person(spent: Guarantee | None, promise: Promise) -> Guarantee | None:
    try:
        return None if spent is None else group_guarantee(spent, promise.configuration.contributions)
    except InvalidInput:  # a delta of 1 or more
        return None


def _unchecked(head: object) -> tuple[str, ...]:
    return _UNCHECKED if head is not None else (_UNCHECKED_END, *_UNCHECKED)


def _check_arguments(claim: object, head: object, policy: object) -> None:
    if claim is not None and not isinstance(claim, Budget):
        raise InvalidInput(f"Expected claim={shown(claim)} to be a Budget, such as Budget(epsilon=1).")
    is_hash = isinstance(head, str) and len(head) == 64 and set(head) <= set("0123456789abcdef")
    is_pair = isinstance(head, tuple | list)  # looked at again where it is used
    if not (head is None or is_hash or is_pair):
        raise InvalidInput(f"Expected head={shown(head)} to be the number and the hash of a row, or its hash alone.")
    if policy is not None and not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise InvalidInput(f"Expected policy={shown(policy)} to be the class of a policy.")
