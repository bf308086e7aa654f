"""check_ledger: whether a ledger keeps its promise, from its text alone."""

from dataclasses import replace

from dpbandits._validate import check_kind, value_text
from dpbandits.errors import InvalidInput, LedgerError, WrongKind
from dpbandits.live.checking.promise import Promise, read_promise
from dpbandits.live.checking.release_rows import Releases
from dpbandits.live.checking.verdict import (
    CANNOT_BE_TOLD,
    DOES_NOT_HOLD,
    HOLDS,
    BrokenPromise,
    LedgerCheck,
    Undecidable,
    cost_text,
    distinct_texts,
)
from dpbandits.live.schedule_cost import exceeds
from dpbandits.policies import Policy
from dpbandits.policies.labels import label
from dpbandits.privacy import Budget, Guarantee, Ledger, group_guarantee, per_reward_budget
from dpbandits.privacy.ledger import Head, read_head, validated_head

_CHAIN = "The chain: that every row has its hash and holds that of the row before."
_END = "The end: that the last row is the one of the given head."
_BEGINNING = "The beginning: that row {row:,} is the one of the given head, so that all rows up to it are as they were."
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
    "That the noise was really drawn so, from a good source, and only once.",
    "That every release was recorded, and that nothing else left the program.",
    "That the sums were those of the rewards they should hold, and that each person gave as few as they say.",
)
_UNCHECKED_END = "That no rows are missing at the end and none were added there: that takes the head."
_UNCHECKED_SINCE = "That no rows are missing after row {row:,} and none were added there: that takes a later head."
_UNCHECKED_TIMES = "That blocks were released when row 0 says, and rewards let in as long: a ledger has no times."
_UNCHECKED_SHARES = "That arms got the shares of all decisions that row 0 says: a ledger has releases, not decisions."
_UNCHECKED_RESTORED = (
    "Which releases are missing since it was restored from an earlier copy: all of the schedule counts as spent."
)
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
        head: the head that was kept elsewhere, its hash, or both as NUMBER:HASH. Without it nobody can tell whether
            rows are missing at the end, or were added. It may be an earlier one: it vouches for the rows up to its own.
        policy: the class of a policy that is not one of the built-in ones.

    Returns:
        The verdict, its reasons, and which checks were made. A text that is not a ledger is a verdict, not an error.

    Raises:
        InvalidInput: the head is not that of a row, or the class is not that of the policy in the ledger.

    >>> import dpbandits as dpb
    >>> bandit = dpb.Bandit(dpb.DPIMED(epsilon=1.0), arms=["A", "B"])
    >>> for _ in range(10):
    ...     bandit.update(bandit.select(), reward=1.0)
    >>> check_ledger(bandit.ledger.to_jsonl(), head=bandit.ledger.head).verdict
    'holds'
    >>> check_ledger(bandit.ledger.to_jsonl(), claim=Budget(0.5)).reasons
    ('The schedule of row 0 costs epsilon = 1, and the claim is epsilon = 0.5.',)
    """
    _check_arguments(text, claim, head, policy)
    head = read_head(head) if isinstance(head, str) else head
    unchecked = _UNCHECKED if head is not None else (_UNCHECKED_END, *_UNCHECKED)
    check = LedgerCheck(CANNOT_BE_TOLD, (), (), unchecked, 0, None, head_checked=head is not None, claim=claim)
    if not text.strip():
        return replace(check, reasons=("The text is empty: a ledger has at least one row.",))
    if not text.lstrip().startswith("{"):
        return replace(check, reasons=("The text is not a ledger: it does not begin with a row.",))
    try:
        ledger = Ledger.from_jsonl(text)
        head_row = None if head is None else _row_of(head, ledger)
    except LedgerError as problem:
        return replace(check, verdict=DOES_NOT_HOLD, reasons=(str(problem),))
    check = replace(check, checked=(_CHAIN,), rows=len(ledger), head=ledger.head)
    if head_row is not None:
        check = _with_head(check, head_row)
    try:
        promise = read_promise(ledger[0].content, policy)
        releases = Releases(promise)
        releases.read(list(ledger)[1:])
    except Undecidable as problem:
        return replace(check, reasons=(str(problem),))
    except BrokenPromise as problem:
        return replace(check, verdict=DOES_NOT_HOLD, reasons=(str(problem),), checked=(*check.checked, _ROW_0))
    spent = releases.spent()
    reasons = [*_cost_problems(promise, spent, claim), *releases.reasons]
    return replace(
        check,
        verdict=DOES_NOT_HOLD if reasons else HOLDS,
        reasons=tuple(reasons),
        checked=(*check.checked, _ROW_0, *_ROWS),
        unchecked=(
            *check.unchecked,
            *([_UNCHECKED_TIMES] if promise.configuration.window is not None else []),
            *([_UNCHECKED_SHARES] if promise.configuration.shares is not None else []),
            *([_UNCHECKED_RESTORED] if releases.is_restored else []),
            *([_UNCHECKED_COST] if promise.is_cost_taken_on_trust else []),
        ),
        policy=label(promise.configuration.policy),
        promised=promise.terms.person,
        whole=promise.person_cost,
        spent=_of_person(spent, promise),
        arms=releases.by_arm(),
    )


def _row_of(head: Head | str, ledger: Ledger) -> int:
    """Return the number of the row that was the last one when the head was kept, or raise LedgerError."""
    end = f"The ledger ends at row {ledger.head[0]} with hash {ledger.head[1]}"
    if isinstance(head, str):
        for row in ledger:
            if row.hash == head:
                return row.number
        raise LedgerError(f"{end}, and no row has the hash of the given head, {head}.")
    number, digest = head
    if not 0 <= number < len(ledger):
        raise LedgerError(f"{end}, and the given head is row {value_text(number)} with hash {digest[:64]}.")
    if ledger[number].hash != digest:
        raise LedgerError(f"Row {number} has hash {ledger[number].hash}, and in the given head it has {digest[:64]}.")
    return number


def _with_head(check: LedgerCheck, head_row: int) -> LedgerCheck:
    """Say which rows the head covers: all of them, or those that were there when it was kept."""
    since = check.rows - 1 - head_row
    if since == 0:
        return replace(check, checked=(*check.checked, _END), rows_after_head=0)
    return replace(
        check,
        checked=(*check.checked, _BEGINNING.format(row=head_row)),
        unchecked=(_UNCHECKED_SINCE.format(row=head_row), *check.unchecked),
        rows_after_head=since,
    )


def _cost_problems(promise: Promise, spent: Guarantee | None, claim: Budget | None) -> list[str]:
    problems = []
    promised = promise.terms.one_reward
    # Pure costs are added up exactly, from the scales of the rows: the same on every machine.
    is_whole = spent is promise.reward_cost  # which was compared when row 0 was read
    if spent is None or (not is_whole and exceeds(spent, promised, promise.tolerance if spent.delta else 0.0)):
        cost = "more than can be bounded" if spent is None else cost_text(spent)
        problems.append(f"The releases cost {cost} in one reward, and row 0 promises {cost_text(promised)}.")
    if claim is not None and not promise.allows(claim):
        cost, claimed = distinct_texts(promise.person_cost, claim)
        problems.append(f"The schedule of row 0 costs {cost}, and the claim is {claimed}.{_at_delta(promise, claim)}")
    return problems


def _at_delta(promise: Promise, claim: Budget) -> str:
    """Return what was compared with the claim, where that is the cost at another delta than the schedule's own."""
    budget = per_reward_budget(claim, promise.configuration.contributions)
    if budget.delta == promise.reward_cost.delta:
        return ""
    cost = promise.reward_cost_at(budget.delta)
    if cost is None:
        return f" At delta = {budget.delta:.3g} in one reward no bound is known."
    return f" At delta = {budget.delta:.3g} it costs epsilon = {cost.epsilon:.6g} in one reward."


def _of_person(spent: Guarantee | None, promise: Promise) -> Guarantee | None:
    try:
        return None if spent is None else group_guarantee(spent, promise.configuration.contributions)
    except InvalidInput:  # a delta of 1 or more
        return None


def _check_arguments(text: object, claim: object, head: object, policy: object) -> None:
    if not isinstance(text, str):
        raise WrongKind(f"Expected a ledger as text, not {value_text(text)}.")
    if claim is not None:
        check_kind(Budget, "a Budget, such as Budget(epsilon=1)", claim=claim)
    if not isinstance(head, str):
        validated_head(head)
    if policy is not None and not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise WrongKind(f"Expected policy={value_text(policy)} to be the class of a policy.")
