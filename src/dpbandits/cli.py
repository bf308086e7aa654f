"""The command line: `dpbandits reproduce`, `dpbandits simulate`, `dpbandits policies`."""

import ast
import sys
import tempfile
from dataclasses import MISSING, fields
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from dpbandits import __version__, _validate
from dpbandits.environments import Bernoulli
from dpbandits.errors import DPBanditsError, InvalidInput
from dpbandits.policies import POLICIES, Policy
from dpbandits.simulation import SimulationResult, simulate

app = typer.Typer(
    help="Differentially private bandits: reproduce the paper they start from, simulate them, see what is proved.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

OUTPUTS = (".parquet", ".csv", ".json")
PLOTS = (".png", ".svg", ".pdf")


def main() -> None:
    """Run the command line; bad input, or a file that cannot be written, ends with one sentence and status 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no ± shows something else
    try:
        app()
    except (DPBanditsError, OSError) as problem:
        Console(stderr=True, soft_wrap=True).print(f"dpbandits: {problem}", style="red", markup=False, highlight=False)
        raise SystemExit(2) from None


def _show_version(asked: bool) -> None:
    if asked:
        print(f"dpbandits {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...


@app.command("reproduce")
def reproduce_command(
    out: Annotated[Path, typer.Option(help="The folder for figures, report and data.")] = Path("reproduction"),
    horizon: Annotated[str, typer.Option(help="Steps per run; the paper has 1e5.")] = "1e5",
    runs: Annotated[
        str | None, typer.Option(help="Runs per curve; the paper has 100. Memory does not grow with them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="10 runs, and fewer for single claims: a first look in 15 s.")
    ] = False,
    bounds: Annotated[bool, typer.Option("--bounds", help="Draw the regret bounds into the figures.")] = False,
    claim: Annotated[
        str | None, typer.Option(help="Test this claim alone, from scratch, and write nothing. See the report.")
    ] = None,
) -> None:
    """Run the experiments of the 2016 paper again and test every claim it makes.

    It writes report.html (open it in a browser), report.md, figure.png, .svg and .pdf, figure-certified.*, and data.
    Stopped at any time, the same command goes on where it was. An example:

    dpbandits reproduce --runs 1000 --out thousand-runs
    """
    from dpbandits import reproduce

    chosen_runs = _whole("runs", ("10" if quick else "100") if runs is None else runs)
    effort = 0.05 if quick else 1.0
    settings = reproduce.Settings(horizon=_whole("horizon", horizon), runs=chosen_runs, seed=seed, effort=effort)
    flags = " --quick" if quick else ""
    flags += "" if settings.horizon == 100_000 else f" --horizon {settings.horizon}"
    flags += "" if runs is None else f" --runs {chosen_runs}"
    flags += f" --seed {seed}" if seed else ""
    if claim is not None:
        known = {each.name: each for each in reproduce.CLAIMS}
        if claim not in known:
            raise InvalidInput(f"Expected claim={claim!r} to be one of {', '.join(known)}.")
        with tempfile.TemporaryDirectory() as folder:
            study = reproduce.Study(settings, Path(folder))
            _show_claim(known[claim], reproduce.check_claims(study, [known[claim]])[claim])
        return
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"Expected out={str(out)!r} to be a folder.")
    study = reproduce.Study(settings, out)
    try:
        reproduce.play_panels(study)
        pulls, seconds = study.pulls, study.seconds
        findings = reproduce.check_claims(study)
        reproduce.write_all(study, findings, out, flags=flags, bounds=bounds)
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None
    _console().print(_panels_table(study), _verdicts_table(findings))
    if pulls:
        print(f"The panels: {pulls:.2g} pulls in {seconds:.1f} s of CPU time, compiling included.")
    print(f"Report: {out / 'report.html'}")


def _panels_table(study: Any) -> Table:
    from dpbandits.reproduce.experiments import PANELS

    table = Table(title="Mean regret, as published / as certified")
    table.add_column("algorithm")
    for panel in PANELS:
        table.add_column(panel.name, justify="right")
    for row in zip(
        *(zip(panel.lines("published"), panel.lines("certified"), strict=True) for panel in PANELS), strict=True
    ):
        cells = [
            " / ".join(f"{study.summary(line.policy, panel.scenario.environment).mean[-1]:,.0f}" for line in pair)
            for panel, pair in zip(PANELS, row, strict=True)
        ]
        table.add_row(row[0][0].algorithm, *cells)
    return table


def _verdicts_table(findings: Any) -> Table:
    from dpbandits.reproduce import CLAIMS

    table = Table(title="Every claim of the paper")
    for column in ("where", "claim", "verdict", "which means"):
        table.add_column(column, overflow="fold")
    for claim in CLAIMS:
        finding = findings[claim.name]
        table.add_row(claim.where, claim.name, finding.verdict, finding.reason, style=_COLOURS[finding.verdict])
    return table


_COLOURS = {"holds": "green", "holds only if": "yellow", "fails": "red", "not decided": "dim"}


def _show_claim(claim: Any, finding: Any) -> None:
    console = Console(soft_wrap=True)
    console.print(f"{claim.where}. {claim.says}\n\nTest: {claim.test}\n", markup=False, highlight=False)
    for line in finding.numbers:
        console.print(f"  {line}", markup=False, highlight=False)
    text = f"\n{finding.verdict.upper()}: {finding.reason}"
    console.print(text, style=_COLOURS[finding.verdict], markup=False, highlight=False)


@app.command("simulate")
def simulate_command(
    arms: Annotated[str, typer.Option(help="Probability of success of every arm, such as 0.9,0.6.")] = "0.9,0.6",
    policies: Annotated[
        str,
        typer.Option(
            help="Names, with settings after colons: ucb,dp-ucb-int:series=x:bonus=frozen. See `dpbandits policies`."
        ),
    ] = "ucb,dp-ucb-int",
    epsilon: Annotated[float, typer.Option(help="Privacy budget of every private policy that sets none itself.")] = 1.0,
    delta: Annotated[
        float | None, typer.Option(help="Its second part, for policies that use one. Default: 1/(10 horizon).")
    ] = None,
    horizon: Annotated[str, typer.Option(help="Steps per run; 1e5 is a number too.")] = "1e5",
    runs: Annotated[str, typer.Option(help="Independent runs of every policy.")] = "100",
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Cores to use. Default: all. The numbers do not depend on it.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw regret over time to this file (.png, .svg, .pdf).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write policy, run, t, regret to this file (.parquet, .csv, .json).")
    ] = None,
) -> None:
    """Play policies against Bernoulli arms many times and show their regret.

    Regret is the expected reward lost against always playing the best arm. An example:

    dpbandits simulate --arms 0.9,0.6 --policies ucb,dp-ucb,dp-ucb-int --epsilon 1 --horizon 1e5 --plot regret.png
    """
    _check_ending(plot=plot, allowed=PLOTS)
    _check_ending(out=out, allowed=OUTPUTS)
    steps = _whole("horizon", horizon)
    environment = Bernoulli([_validate.real("[0, 1]", arms=_number("arms", mean)) for mean in _listed(arms)])
    chosen_delta = delta if delta is not None else 1 / (10 * max(steps, 1))
    chosen = [parse_policy(text, epsilon, chosen_delta) for text in _listed(policies)]
    result = simulate(
        chosen,
        environment,
        horizon=steps,
        runs=_whole("runs", runs),
        seed=seed,
        workers=workers,
    )
    by_name = dict(zip(result.names, chosen, strict=True))
    _console().print(regret_table(result, by_name))
    if out is not None:
        write_table(result, out)
        print(f"Data: {out}")
    if plot is not None:
        result.plot().figure.savefig(plot, dpi=150)  # type: ignore[union-attr]
        print(f"Figure: {plot}")


@app.command("policies")
def policies_command(
    epsilon: Annotated[float, typer.Option(help="The budget to state guarantees for.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Its second part, for policies that use one.")] = 1e-6,
) -> None:
    """List the policies: names, guarantees, settings, where they come from."""
    table = Table(
        title=f"Policies, made with epsilon = {epsilon:g} and delta = {delta:g} where they use one", expand=False
    )
    for column in ("name", "proved, for the whole action sequence", "published claim", "settings", "from"):
        table.add_column(column, overflow="fold")
    for name, kind in POLICIES.items():
        variants = [parse_policy(name, epsilon, delta)]
        if "variant" in {field.name for field in fields(kind)}:  # type: ignore[arg-type]
            variants.append(parse_policy(f"{name}:variant=published", epsilon, delta))
        for policy in variants:
            shown = name if policy is variants[0] else f"{name}\n:variant=published"
            settings = _settings(kind) if policy is variants[0] else ""
            table.add_row(shown, _stated(policy.guarantee()), _stated(policy.claim(), ""), settings, policy.source)
    _console().print(table)


def parse_policy(text: str, epsilon: float, delta: float) -> Policy:
    """Return the policy that a text such as "dp-ucb-int:series=x" describes."""
    name, *settings = text.split(":")
    if name not in POLICIES:
        raise InvalidInput(f"Expected policy {name!r} to be one of {', '.join(POLICIES)}.")
    kind = POLICIES[name]
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    chosen: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in known:
            if not known:
                raise InvalidInput(f"Expected {name} without settings, not {setting!r}: it has none.")
            allowed = ", ".join(known)
            raise InvalidInput(f"Expected setting {setting!r} of {name} as key=value, with a key among {allowed}.")
        chosen[key] = _value(value)
    defaults = {"epsilon": epsilon, "delta": delta}
    return kind(**{key: value for key, value in defaults.items() if key in known} | chosen)


def regret_table(result: SimulationResult, policies: dict[str, Policy]) -> Table:
    """Return the summary as a table for the terminal."""
    summary = result.summary()
    arms = shorten(", ".join(f"{mean:g}" for mean in result.means), 60, placeholder=" ...")
    table = Table(title=f"Regret after {result.horizon:,} steps, {result.runs:,} runs, arms {arms}")
    table.add_column("policy", overflow="fold")
    for column in ("mean", "± s.e.", "median", "99%", "worst"):
        table.add_column(column, justify="right", overflow="fold")
    table.add_column("proved privacy")
    for name, values in summary.iterrows():
        policy = policies[str(name)]
        numbers = [f"{value:,.1f}" if value == value else "-" for value in values]  # NaN: one run has no error
        table.add_row(str(name), *numbers, _stated(policy.guarantee(), short=True))
    return table


def write_table(result: SimulationResult, path: Path) -> None:
    """Write every run as a tidy table, in the format of the file's ending."""
    frame = result.to_pandas()
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix.lower() == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records")


def _console() -> Console:
    return Console(width=None if Console().is_terminal else 160)


def _stated(guarantee: Any, nothing: str = "none", *, short: bool = False) -> str:
    if guarantee is None:
        return nothing
    budget = (
        f"{guarantee.epsilon:.4g}-DP"
        if guarantee.delta == 0
        else f"({guarantee.epsilon:.4g}, {guarantee.delta:.2g})-DP"
    )
    if short:
        return budget
    return f"{budget}, {'by' if guarantee.certified else 'claimed by'} {guarantee.theorem}"


def _settings(kind: type[Policy]) -> str:
    return ", ".join(
        field.name if field.default is MISSING else f"{field.name}={field.default}"
        for field in fields(kind)  # type: ignore[arg-type]
    )


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(name: str, text: str) -> float:
    for kind in (int, float):  # a float would round long integers
        try:
            return kind(text)
        except ValueError:
            continue
    raise InvalidInput(f"Expected {name}={text!r} to be a number.")


def _whole(name: str, text: str) -> int:
    return _validate.integer("[1, inf)", **{name: _number(name, text)})


def _check_ending(allowed: tuple[str, ...], **named: Path | None) -> None:
    ((name, path),) = named.items()
    if path is None:
        return
    if path.suffix.lower() not in allowed:
        raise InvalidInput(f"Expected {name}={str(path)!r} to end in {', '.join(allowed)}.")
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(f"Expected {name}={str(path)!r} to be a file in a folder that exists.")
