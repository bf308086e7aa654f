"""`dpbandits simulate` and `dpbandits policies`."""

from dataclasses import MISSING, fields
from pathlib import Path
from textwrap import shorten
from typing import Annotated

import typer
from rich.table import Table

from dpbandits import _validate
from dpbandits.cli.app import app, needing
from dpbandits.cli.words import PLOTS, check_delta, check_ending, console, listed, number, parse_policy, stated, whole
from dpbandits.environments import Bernoulli
from dpbandits.policies import POLICIES, Policy
from dpbandits.simulation import SimulationResult, simulate

OUTPUTS = (".parquet", ".csv", ".json")


@app.command("simulate")
@needing("numba", "pandas")
def simulate_command(
    arms: Annotated[str, typer.Option(help="Probability of success of every arm, such as 0.9,0.6.")] = "0.9,0.6",
    policies: Annotated[
        str,
        typer.Option(
            help="Names, with settings after colons: ucb,dp-ucb-int:series=x:bonus=frozen. See `dpbandits policies`. "
            "A class of yours is mine.py:Name."
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
    check_ending(plot=plot, allowed=PLOTS)
    check_ending(out=out, allowed=OUTPUTS)
    steps = whole("horizon", horizon)
    environment = Bernoulli([_validate.real("[0, 1]", arms=number("arms", mean)) for mean in listed(arms)])
    chosen_delta = delta if delta is not None else 1 / (10 * max(steps, 1))
    chosen = [parse_policy(text, epsilon, chosen_delta) for text in listed(policies)]
    check_delta(delta, *chosen)
    result = simulate(
        chosen,
        environment,
        horizon=steps,
        runs=whole("runs", runs),
        seed=seed,
        workers=workers,
    )
    by_name = dict(zip(result.names, chosen, strict=True))
    console().print(regret_table(result, by_name))
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
        title=f"Policies, made with epsilon = {epsilon:g} and delta = {delta:g} where they use one",
        caption="recommended: noise-aware-imed. Sums run over the inferior arms; C is that of Lai & Robbins, "
        "C_ε that of Azize et al. 2025. Where no regret is given, none is proved.",
    )
    for column in ("name", "proved, for the whole action sequence", "published claim", "regret", "settings", "from"):
        table.add_column(column, overflow="fold")
    for name, kind in POLICIES.items():
        variants = [parse_policy(name, epsilon, delta)]
        if "variant" in {field.name for field in fields(kind)}:  # type: ignore[arg-type]
            variants.append(parse_policy(f"{name}:variant=published", epsilon, delta))
        for policy in variants:
            shown = name if policy is variants[0] else f"{name}\n:variant=published"
            settings = _settings(kind) if policy is variants[0] else ""
            proved, claimed = stated(policy.guarantee()), stated(policy.claim(), "")
            table.add_row(shown, proved, claimed, policy.regret, settings, policy.source)
    console().print(table)


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
        table.add_row(str(name), *numbers, stated(policy.guarantee(), short=True))
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


def _settings(kind: type[Policy]) -> str:
    return ", ".join(
        field.name if field.default is MISSING else f"{field.name}={field.default}"
        for field in fields(kind)  # type: ignore[arg-type]
    )
