"""`dpbandits reproduce`."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table

from dpbandits import reproduce
from dpbandits._extras import require_extras
from dpbandits._phrases import count_text
from dpbandits.cli.app import app
from dpbandits.cli.options import AsJson
from dpbandits.cli.output import print_json
from dpbandits.cli.parsing import check_folder, console, number
from dpbandits.errors import InvalidInput
from dpbandits.reproduce import CLAIMS, Agreement, Claim, Finding, Record, Study, agreement, measure_lines
from dpbandits.reproduce.paper_experiments import FORMS, HORIZON, PANELS, RUNS

_QUICK_RUNS = 10
_QUICK_EFFORT = 0.05
_COLOURS = {"holds": "green", "holds only if": "yellow", "fails": "red", "not decided": "dim"}


@app.command("reproduce")
def reproduce_command(
    out: Annotated[Path, typer.Option(help="The folder for figures, report and data.")] = Path("reproduction"),
    horizon: Annotated[str, typer.Option(help="Steps per run; the paper has 1e5.")] = "1e5",
    runs: Annotated[
        str | None, typer.Option(help="Runs per curve; the paper has 100. Memory does not grow with them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="10 runs, and fewer for single claims: a first look in half a minute.")
    ] = False,
    bounds: Annotated[bool, typer.Option("--bounds", help="Draw the regret bounds into the figures.")] = False,
    claim: Annotated[
        str | None, typer.Option(help="Test this claim alone, from scratch, and write nothing. See the report.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Compare with this folder of another version, device or number of runs.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the experiments of the 2016 paper again and test every claim it makes.

    It writes report.html (open it in a browser), report.md, figure.png, .svg and .pdf, figure-proved.*, and data.
    Stopped at any time, the same command goes on where it was. An example:

    \b
    dpbandits reproduce --runs 1000 --out thousand-runs
    dpbandits reproduce --seed 1 --out other-seed --against reproduction

    With --against, exit status 1 says that a number differs by more than chance explains, or a verdict although the
    numbers are the same; 3 that nothing differs, but one of the two has numbers or intervals that the other lacks. A
    claim that is not decided in one of them contradicts nothing. Estimates from fewer than 50 runs are not compared.
    """
    usual_runs = _QUICK_RUNS if quick else RUNS
    settings = reproduce.Settings(
        horizon=cast(int, number("horizon", horizon)),  # Settings checks that it is whole
        runs=usual_runs if runs is None else cast(int, number("runs", runs)),
        seed=seed,
        effort=_QUICK_EFFORT if quick else 1.0,
    )
    flags = " --quick" if quick else ""
    flags += "" if settings.horizon == HORIZON else f" --horizon {settings.horizon}"
    flags += "" if settings.runs == usual_runs else f" --runs {settings.runs}"
    flags += f" --seed {seed}" if seed else ""
    other = None if against is None else _other(against, settings)
    if claim is not None:
        _repeat(claim, settings, as_json, other)
        return
    require_extras("numba", "pandas", "matplotlib")
    is_foreign = (out / "report.html").exists() and not (out / "parts").is_dir()
    if (out.exists() and not out.is_dir()) or out.resolve() == Path.cwd() or is_foreign:
        raise InvalidInput(f"Expected out={str(out)!r} to be a folder for the results alone.")
    check_folder(out=out)
    study = reproduce.Study(settings, out)
    try:
        _say("Playing the four panels.")
        reproduce.play_panels(study)
        pulls, seconds = study.parts.pulls, study.parts.seconds
        _say("Playing DP-UCB-Int more often: a few runs decide its mean.")
        reproduce.play_more(study)
        _say(f"Testing {len(CLAIMS)} claims.")
        findings = reproduce.check_claims(study)
        _say("Drawing and writing.")
        reproduce.write_all(study, findings, out, flags=flags, bounds=bounds)
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None
    if as_json:
        _print_document(findings, settings, other, report=out / "report.html")
    else:
        console().print(_panels_table(study), _verdicts_table(findings))
        if pulls:
            print(f"The panels: {pulls:.2g} pulls in {seconds:.1f} s of CPU time, compiling included.")
        print(f"Report: {out / 'report.html'}")
    _compare(findings, settings, other, is_quiet=as_json)


def _say(stage: str) -> None:
    """Tell what is being done where no progress bar is shown."""
    if not sys.stderr.isatty():
        print(stage, file=sys.stderr)


def _repeat(name: str, settings: reproduce.Settings, as_json: bool, other: Record | None) -> None:
    known = {claim.name: claim for claim in CLAIMS}
    name = name.lower()
    if name not in known:
        raise InvalidInput(f"Expected claim={name!r} to be one of {', '.join(known)}.")
    with tempfile.TemporaryDirectory() as folder:
        findings = reproduce.check_claims(reproduce.Study(settings, Path(folder)), [known[name]])
    if as_json:
        _print_document(findings, settings, other)
    else:
        _show_claim(known[name], findings[name])
    _compare(findings, settings, other, is_quiet=as_json)


def _print_document(
    findings: dict[str, Finding], settings: reproduce.Settings, other: Record | None, **files: Path
) -> None:
    document: dict[str, Any] = {"claims": _verdicts(findings), **files}
    if other is not None:
        document["against"] = agreement(Record.of(findings, settings), other).to_dict()
    print_json(document)


def _other(folder: Path, settings: reproduce.Settings) -> Record:
    """Return the record to compare with, if it can be compared."""
    record = Record.read(folder)
    horizon = record.settings["horizon"]
    if horizon != settings.horizon:
        raise InvalidInput(
            f"Expected horizon={settings.horizon} to be {horizon}, that of {folder}: regret after other times cannot "
            "be compared."
        )
    return record


def _compare(
    findings: dict[str, Finding], settings: reproduce.Settings, other: Record | None, *, is_quiet: bool
) -> None:
    """Show what differs from another reproduction, and end with the status that says so."""
    if other is None:
        return
    result = agreement(Record.of(findings, settings), other)
    if not is_quiet:
        _show_agreement(result)
    if result.differs or not result.is_complete:
        raise typer.Exit(1 if result.differs else 3)


def _show_agreement(result: Agreement) -> None:
    lines = Console(soft_wrap=True)

    def say(text: str) -> None:
        lines.print(text, markup=False, highlight=False)

    said = [f"{name} {here} here, {there} there" for name, (here, there) in result.settings.items()]
    say("\nAgainst the other reproduction" + (f" ({'; '.join(said)}):" if said else ", with the same settings:"))
    for claim, (here, there) in result.verdicts.items():
        say(f"  {claim}: {here} here, {there} there")
    if not result.verdicts:
        say("  every verdict is the same")
    compared = result.identical + result.agreeing + result.untold + len(result.one_sided) + len(result.differences)
    say(
        f"  of {count_text(compared, 'measure')} {result.identical} are identical, {result.agreeing} others agree "
        f"within their errors, {result.untold} others cannot be compared, {len(result.differences)} differ"
    )
    for difference in result.differences:
        say(f"  {difference.claim}: {difference}")
    lacking = (
        ("only here", result.only_here),
        ("only there", result.only_there),
        ("with an interval on one side alone", result.one_sided),
    )
    for what, names in lacking:
        for claim, name in names:
            say(f"  {claim}: {name}, {what}")


def _verdicts(findings: dict[str, Finding]) -> list[dict[str, object]]:
    """Return every claim that was tested, and what came out, for programs."""
    tested = [claim for claim in CLAIMS if claim.name in findings]
    about = [{"name": claim.name, "where": claim.where, "says": claim.says, "test": claim.test} for claim in tested]
    return [{**known, **findings[claim.name].to_dict()} for known, claim in zip(about, tested, strict=True)]


def _panels_table(study: Study) -> Table:
    table = Table(title="Mean regret, as published / as proved")
    table.add_column("algorithm", no_wrap=True)
    for panel in PANELS:
        table.add_column(panel.name, justify="right")
    for place, line in enumerate(PANELS[0].lines("published")):
        cells = []
        for panel in PANELS:
            policies = (panel.lines(form)[place].policy for form in FORMS)
            means = (study.steady(policy, panel.scenario.environment).mean[-1] for policy in policies)
            cells.append(" / ".join(f"{mean:,.0f}" for mean in means))
        table.add_row(line.algorithm, *cells)
    return table


def _verdicts_table(findings: dict[str, Finding]) -> Table:
    table = Table(title="Every claim of the paper; the report has the reasons")
    for column in ("claim", "where", "verdict"):
        table.add_column(column, overflow="fold", no_wrap=column == "claim")  # a name that can be copied
    for claim in CLAIMS:
        finding = findings[claim.name]
        table.add_row(claim.name, claim.where, finding.verdict, style=_COLOURS[finding.verdict])
    return table


def _show_claim(claim: Claim, finding: Finding) -> None:
    lines = Console(soft_wrap=True)
    lines.print(f"{claim.where}. {claim.says}\n\nTest: {claim.test}\n", markup=False, highlight=False)
    for line in measure_lines(finding.measures):
        lines.print(f"  {line}", markup=False, highlight=False)
    text = f"\n{finding.verdict.upper()}: {finding.reason}"
    lines.print(text, style=_COLOURS[finding.verdict], markup=False, highlight=False)
