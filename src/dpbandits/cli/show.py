"""`dpbandits show`: the state of a live experiment, from its journal, also while it runs."""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer

from dpbandits.cli.app import app
from dpbandits.cli.files import policy_class
from dpbandits.cli.parsing import check_ending
from dpbandits.document import Badge, Block, Bullets, Cell, Code, Heading, Paragraph, Table
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.persistence import journal_overview
from dpbandits.live.reporting.findings import Findings, short_names
from dpbandits.live.reporting.report_contents import contents
from dpbandits.live.reporting.report_json import to_plain
from dpbandits.live.reporting.report_page import page_path, write_page

_WIDTH = 80
_ARMS, _RELEASES = 20, 5  # on a screen
_GAP = "  "
_wrapped = partial(wrap, width=_WIDTH, break_on_hyphens=False)


@app.command("show")
def show_experiment_command(
    journal: Annotated[Path, typer.Argument(help="The journal of a live experiment, which may be running.")],
    mark: Annotated[
        Path | None, typer.Option(help="The high-water mark of the journal. Default: JOURNAL.mark.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="For a policy of your own, its class: mine.py:Name. The file is run.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the state as a page to this file (.html).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the state as JSON, with all arms and releases.")
    ] = False,
) -> None:
    """Show the state of a live experiment: which arm is best, estimates, the promise, the budget spent, releases.

    The journal is only read, without a lock, while another program may be writing it; nothing is changed. Rewards are
    not shown, nor is the number of answers that are awaited. Examples:

    \b
    dpbandits show trial.journal

    \b
    dpbandits show trial.journal --mark /other/disk/trial.mark --report trial.html
    """
    check_ending(report=report, allowed=(".html",))
    records = AcknowledgedRecords(journal, mark)
    if report is not None:
        page_path(report, records.places)
    kind = None if policy is None else policy_class(policy)
    try:
        overview = journal_overview(records, kind)
    except KeyboardInterrupt:
        print("Stopped. Nothing was changed.", file=sys.stderr)
        raise SystemExit(130) from None
    findings = Findings(overview)
    if as_json:
        print(json.dumps(to_plain(findings), indent=2, allow_nan=False))
    else:
        print("\n".join(_lines(contents(findings, _ARMS, _RELEASES))))
    if report is not None:
        write_page(report, overview, records.places)
        if not as_json:
            print(f"\nReport: {report}")


# ---- a report on a terminal


def _lines(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield a report in lines of 80 columns. Pictures are for pages."""
    for block in blocks:
        if isinstance(block, Heading):
            yield from (block.text,) if block.level == 1 else ("", block.text)
            yield ("=" if block.level == 1 else "-") * len(block.text)
        elif isinstance(block, Paragraph):
            yield from _wrapped(block.text)
        elif isinstance(block, Bullets):
            for lead, item in block.items:
                yield from _item(lead, item)
        elif isinstance(block, Table):
            yield from _columns(block) if block.numeric else _statements(block)


def _item(lead: str, item: Cell) -> Iterator[str]:
    if not isinstance(item, Code):
        yield from _wrapped(f"{lead} {_cell_text(item)}", initial_indent="- ", subsequent_indent="  ")
        return
    yield f"- {lead}"
    # A command in several lines is still one that can be copied.
    yield from " \\\n".join(
        _wrapped(item.text, width=_WIDTH - 2, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
    ).splitlines()


def _statements(table: Table) -> Iterator[str]:
    for row in table.rows:
        for name, cell in zip(table.header, row, strict=True):
            if isinstance(cell, tuple):
                yield from _wrapped(_cell_text(cell))
            else:
                yield f"{name}: {_cell_text(cell)}"


def _columns(table: Table) -> Iterator[str]:
    """Yield a table whose first column gives way: names are cut to what is left of the width."""
    rows = [table.header, *(tuple(map(_cell_text, row)) for row in table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    left = _WIDTH - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
    first = max(min(widths[0], left), 3)
    names = short_names([row[0] for row in rows[1:]], first)
    for name, row in zip([table.header[0], *names], rows, strict=True):
        cells = [name.ljust(first)]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield _GAP.join(cells).rstrip()


def _cell_text(cell: Cell) -> str:
    if isinstance(cell, tuple):
        return " ".join(map(_cell_text, cell))
    return cell.text if isinstance(cell, Code | Badge) else cell
