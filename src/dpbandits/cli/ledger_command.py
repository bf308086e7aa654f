"""`dpbandits ledger verify` and `dpbandits ledger show`: their options, texts and tables."""

import shlex
import shutil
import sys
from pathlib import Path
from textwrap import fill, shorten
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbandits import _validate
from dpbandits._phrases import count_text, duration_text
from dpbandits._validate import value_text
from dpbandits._writing import write_file
from dpbandits.cli.app import app
from dpbandits.cli.files import policy_class
from dpbandits.cli.options import AsJson
from dpbandits.cli.output import print_json
from dpbandits.cli.parsing import check_ending, console
from dpbandits.errors import InvalidInput
from dpbandits.live import LedgerCheck, check_ledger
from dpbandits.live.checking.check_page import to_page
from dpbandits.live.checking.release_rows import COLUMNS
from dpbandits.live.restoration import is_restoration
from dpbandits.privacy import Budget, Ledger

STATUS = {"holds": 0, "does not hold": 1, "cannot be told": 3}
ledger_app = typer.Typer(
    help="Check or show the ledger of a live bandit, as exported by Ledger.to_jsonl.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(ledger_app, name="ledger")
File = Annotated[Path, typer.Argument(help="The export of a ledger: one row per line.")]
OwnPolicy = Annotated[
    str | None, typer.Option(help="For a policy of your own, its class: mine.py:Name. The file is run.")
]


@ledger_app.command("verify")
def verify_command(
    file: File,
    claim: Annotated[
        float | None,
        typer.Option(help="The epsilon that one person may lose at most. Default: what row 0 promises."),
    ] = None,
    delta: Annotated[float, typer.Option(help="The delta of the claim.")] = 0.0,
    head: Annotated[str | None, typer.Option(help="The head that was kept elsewhere, as HASH or NUMBER:HASH.")] = None,
    policy: OwnPolicy = None,
    as_json: AsJson = False,
    report: Annotated[Path | None, typer.Option(help="Write the result as a page to this file (.html).")] = None,
) -> None:
    """Tell whether a ledger keeps its promise.

    It checks the chain, the configuration, every release, and the cost of all of them together. The exit status is 0
    if the promise holds, 1 if it does not, 3 if neither can be said, 2 for wrong input. Keep the head elsewhere, in a
    mail or a ticket: without it nobody can tell whether rows are missing at the end. The ledger may have grown since:
    the head vouches for the rows up to its own. Examples:

    \b
    dpbandits ledger verify trial.jsonl --claim 1 --head 17:6c1f...

    \b
    dpbandits ledger verify trial.jsonl --policy mine.py:ExploreThenCommit --report ledger.html
    """
    check_ending(report=report, allowed=(".html",))
    if claim is None and delta:
        raise InvalidInput(f"Expected delta={delta} together with a claim.")
    try:
        check = check_ledger(
            _text_of(file),
            claim=None if claim is None else Budget(_validate.real("(0, inf)", claim=claim), delta),
            head=head,
            policy=None if policy is None else policy_class(policy),
        )
    except KeyboardInterrupt:
        print("Stopped. Nothing was decided.", file=sys.stderr)
        raise SystemExit(130) from None
    if as_json:
        print_json(check.to_dict())
    else:
        _say(str(check))
    if report is not None:
        arguments: list[Any] = ["dpbandits", "ledger", "verify", file]
        for option, value in (("--claim", claim), ("--delta", delta or None), ("--head", head), ("--policy", policy)):
            arguments += [] if value is None else [option, value]
        write_file(report, to_page(check, file.name, shlex.join(map(str, arguments))).encode("utf-8", "replace"))
        if not as_json:
            print(f"Report: {report}")
    raise typer.Exit(STATUS[check.verdict])


@ledger_app.command("show")
def show_command(file: File, policy: OwnPolicy = None, as_json: AsJson = False) -> None:
    """Show a ledger as tables.

    They have its configuration, its releases, and what these have cost so far, arm by arm.
    """
    text = _text_of(file)
    ledger = Ledger.from_jsonl(text)
    first, rows = ledger[0].content, list(ledger)[1:]
    if as_json:
        _print_document(ledger, text, policy)
        return
    screen = Console() if Console().is_terminal else console()
    if "policy" not in first:
        table = Table("row", "content", title="A ledger without the configuration of a Bandit")
        for row in ledger:
            _add(table, str(row.number), shorten(row.content_json, 1000, placeholder=" ..."))
        screen.print(table)
    else:
        screen.print(_configuration_table(first))
        screen.print(_releases_table(first, [(row.number, row.content) for row in rows]))
        check = check_ledger(text, policy=None if policy is None else policy_class(policy))
        screen.print(_costs_table(check)) if check.arms else _say(f"What it cost is not known. {check.sentence}")
    print(f"Head: {ledger.head[0]}:{ledger.head[1]}")


def _print_document(ledger: Ledger, text: str, policy: str | None) -> None:
    """Print all rows, and what every arm has cost if that is known."""
    costs = None
    if "policy" in ledger[0].content:
        costs = check_ledger(text, policy=None if policy is None else policy_class(policy)).arms
    rows = [{"number": row.number, "content": row.content} for row in ledger]
    print_json({"rows": rows, "costs": costs or None, "head": f"{ledger.head[0]}:{ledger.head[1]}"})


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8-sig", errors="replace")


def _say(text: str) -> None:
    """Print lines, at the width of a terminal where there is one."""
    if Console().is_terminal:
        width = shutil.get_terminal_size().columns
        text = "\n".join(
            fill(line, width, subsequent_indent="  " if line.startswith("- ") else "", break_on_hyphens=False)
            for line in text.splitlines()
        )
    print(text)


# ---- tables


def _configuration_table(first: dict[str, Any]) -> Table:
    table = Table(title="What was fixed at the start (row 0)", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    arms = first.get("arms")
    named = ", ".join(map(str, arms[:20])) + (", ..." if len(arms) > 20 else "") if isinstance(arms, list) else arms
    _add(table, "policy", _settings(first["policy"]))
    _add(table, "as it runs", _settings(first.get("live_policy")))
    _add(table, "arms", str(named))
    _add(table, "horizon", "none" if first.get("horizon") is None else _number(first["horizon"]))
    missing = _number(first.get("default_reward"))
    _add(table, "rewards", f"{first.get('reward_bounds')}, others: {first.get('out_of_bounds')}, missing: {missing}")
    _add(table, "of one person", f"{_number(first.get('contributions'))} at most")
    if "sticky" in first:
        _add(table, "who comes again", "keeps their arm" if first["sticky"] is True else "gets a fresh choice")
    if "window" in first:
        _add(table, "answers", _window(first["window"]))
        _add(table, "timing", _number(first.get("timing")))
        _add(table, "least shares", _shares(first.get("shares"), arms))
    _add(table, "grid", f"2^-{_number(first.get('grid_bits'))} of a reward")
    _add(table, "one reward", _promise(first.get("reward_guarantee")))
    _add(table, "one person", _promise(first.get("guarantee")))
    return table


def _releases_table(first: dict[str, Any], rows: list[tuple[int, dict[str, Any]]]) -> Table:
    releases = sum(not is_restoration(content) for _, content in rows)
    title = f"{count_text(releases, 'release')}; noise and value in rewards" if releases else "No releases yet"
    table = Table(title=title, box=None, padding=(0, 2, 0, 0))  # without lines it fits into 80 columns
    for column in ("row", "arm", "release", "rewards", "assigned", "noise", "epsilon", "value"):
        is_arm = column == "arm"
        table.add_column(column, justify="left" if is_arm else "right", no_wrap=True, max_width=16 if is_arm else None)
    grid_bits, arms = first.get("grid_bits"), first.get("arms")
    for number, content in rows:
        if content.keys() != COLUMNS.keys():
            _add(table, str(number), "restored" if is_restoration(content) else "no release")
            continue
        arm, scale = content["arm"], content["scale"]
        is_named = isinstance(arms, list) and type(arm) is int and 0 <= arm < len(arms)
        steps = 2**grid_bits if type(grid_bits) is int and 0 <= grid_bits < 64 else 1
        _add(
            table,
            str(number),
            str(arms[arm]) if is_named and isinstance(arms, list) else _number(arm),
            _number(content["release"]),
            _number(content["count"]),
            f"{_number(content['first'])}-{_number(content['last'])}",
            _number(scale / steps if type(scale) is float else scale),
            _number(content["epsilon"]),
            _number(content["value"]),
        )
    return table


def _costs_table(check: LedgerCheck) -> Table:
    table = Table(title="Costs so far, of every arm's worst reward")
    for column in ("arm", "releases", "rewards in them", "epsilon"):
        table.add_column(column, justify="left" if column == "arm" else "right", overflow="fold")
    for arm in check.arms:
        _add(table, str(arm.arm), f"{arm.releases:,}", f"{arm.rewards:,}", f"{arm.epsilon:.6g}")
    return table


def _settings(settings: object) -> str:
    if not isinstance(settings, dict):
        return value_text(settings)
    values = {key: value for key, value in settings.items() if value is not None and key != "name"}
    text = ", ".join(f"{key}={_number(value)}" for key, value in values.items())
    return f"{settings['name']}: {text}" if "name" in settings else text


def _window(seconds: object) -> str:
    if seconds is None:
        return "taken for ever"
    return f"taken for {duration_text(seconds)}" if type(seconds) is float else value_text(seconds)


def _shares(shares: object, arms: object) -> str:
    """Return the shares that were asked for, by the names of their arms where there is one for each."""
    if shares is None:
        return "none"
    if not (isinstance(shares, list) and isinstance(arms, list) and len(shares) == len(arms)):
        return value_text(shares)
    return ", ".join(f"{arm}: {_number(share)}" for arm, share in zip(arms, shares, strict=True) if share)


def _promise(plain: object) -> str:
    if not isinstance(plain, dict):
        return value_text(plain)
    return (
        f"epsilon = {_number(plain.get('epsilon'))}, delta = {_number(plain.get('delta'))} in {plain.get('unit')}, "
        f"horizon {_number(plain.get('horizon'))}, by {plain.get('theorem')}"
    )


def _add(table: Table, *cells: object) -> None:
    """Add a row of whatever a ledger holds: no markup, and nothing that a terminal would obey."""
    table.add_row(*(escape("".join(c if c.isprintable() else "?" for c in str(cell))) for cell in cells))


def _number(value: object) -> str:
    if type(value) is float:
        return f"{value:.5g}"
    return f"{value:,}" if type(value) is int and abs(value) < 10**18 else value_text(value).strip("'")
