"""The page of a checked ledger: one file that needs nothing else."""

from dpbandits.document import Badge, Block, Bullets, Cell, Code, Heading, Paragraph, Table, to_html
from dpbandits.live.checking.verdict import (
    CANNOT_BE_TOLD,
    DOES_NOT_HOLD,
    HOLDS,
    LedgerCheck,
    cost_text,
)
from dpbandits.privacy import Budget, Guarantee

_COLOURS = {HOLDS: "holds", DOES_NOT_HOLD: "fails", CANNOT_BE_TOLD: "undecided"}
_MOST = 50  # reasons and arms on the page


def to_page(check: LedgerCheck, file: str, command: str | None = None) -> str:
    """Return the page of a check of this file. `command` repeats the check."""
    title = f"Ledger {file}"
    blocks: list[Block] = [Heading(title, 1)]
    if check.warning is not None:
        blocks.append(Paragraph(check.warning))
    blocks.append(Table(("verdict", "result"), ((Badge(check.verdict, _COLOURS[check.verdict]), check.sentence),)))
    blocks += [Heading("What it says, and what it costs"), Table(("", ""), _figures(check))]
    if check.arms:
        blocks += [Heading("Costs so far by arm"), *_arms(check)]
    if len(check.reasons) > 1:
        blocks += [Heading("Reasons"), Bullets(tuple(_split(reason) for reason in check.reasons[:_MOST]))]
        if len(check.reasons) > _MOST:
            blocks.append(Paragraph(f"And {len(check.reasons) - _MOST:,} more."))
    for heading, items in (("Checked", check.checked), ("Cannot be checked", check.unchecked)):
        blocks += [Heading(heading), Bullets(tuple(map(_split, items)))] if items else []
    if command is not None:
        blocks += [Heading("Again"), Bullets((("The same check:", Code(command)),))]
    return to_html(blocks, title)


def _figures(check: LedgerCheck) -> tuple[tuple[Cell, ...], ...]:
    rows: list[tuple[Cell, ...]] = [
        ("policy", check.policy or "unknown"),
        ("claim to check", _cost(check.claim)),
        ("promise of row 0", _cost(check.promised)),
        ("whole schedule, recomputed", _cost(check.whole)),
        ("releases so far, recomputed", _cost(check.spent)),
        ("rows", f"{check.rows:,}"),
    ]
    if check.head is not None:
        rows.append(("head", Code(f"{check.head[0]}:{check.head[1]}")))
    return tuple(rows)


def _arms(check: LedgerCheck) -> list[Block]:
    rows = tuple(
        (str(arm.arm), f"{arm.releases:,}", f"{arm.rewards:,}", f"{arm.epsilon:.6g}") for arm in check.arms[:_MOST]
    )
    table: list[Block] = [
        Table(("arm", "releases", "rewards in them", "epsilon of its worst reward"), rows, numeric=True)
    ]
    if len(check.arms) > _MOST:
        table.append(Paragraph(f"And {len(check.arms) - _MOST:,} more arms."))
    return table


def _cost(cost: Budget | Guarantee | None) -> str:
    if cost is None:
        return "none"
    if isinstance(cost, Budget):
        return cost_text(cost)
    return f"{cost_text(cost)} in {cost.unit}, by {cost.theorem}"


def _split(sentence: str) -> tuple[str, str]:
    """Return the words before a colon, which stand out, and the rest."""
    lead, colon, rest = sentence.partition(": ")
    return (lead + ":", rest) if colon and len(lead) < 30 else ("", sentence)
