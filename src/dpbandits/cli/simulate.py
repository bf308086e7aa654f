"""`dpbandits simulate` and `dpbandits policies`: their options, files and tables."""

import math
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from dpbandits._phrases import count_text, one_line
from dpbandits._writing import replace_file
from dpbandits.cli.app import app, needing
from dpbandits.cli.files import environment_from
from dpbandits.cli.options import AsJson, Keep, Means, OwnEnvironment, Workers
from dpbandits.cli.output import print_json, print_rows
from dpbandits.cli.parsing import (
    PLOTS,
    USUAL_DELTA,
    check_delta,
    check_different,
    check_ending,
    check_folder,
    parse_levels,
    parse_means,
    parse_policy,
    split_commas,
    whole,
)
from dpbandits.comparison.leaderboard import FEWEST_FOR_99
from dpbandits.environments import Bernoulli, Environment
from dpbandits.errors import InvalidInput
from dpbandits.plots import write_figure
from dpbandits.policies import POLICIES, Policy, is_ours
from dpbandits.simulation import SimulationResult, simulate
from dpbandits.simulation.names import unique_names

DATA = (".parquet", ".csv", ".json")
_MEANS = "0.9,0.6"


@app.command("simulate")
@needing("numba", "pandas")
def simulate_command(
    means: Means = None,
    environment: OwnEnvironment = None,
    policies: Annotated[
        str,
        typer.Option(
            help="Names, with settings after colons: ucb,dp-ucb-int:series=x:bonus=frozen. See `dpbandits policies`. "
            "mine.py:Name is a class of your own."
        ),
    ] = "ucb,dp-ucb-int",
    epsilon: Annotated[
        str,
        typer.Option(help="Privacy levels, such as 0.1,1. Every private policy plays at each, unless it sets its own."),
    ] = "1",
    delta: Annotated[
        float | None, typer.Option(help="The delta of the budget, for policies that use one. Default: 1e-6.")
    ] = None,
    horizon: Annotated[str, typer.Option(help="Steps per run, such as 1e5.")] = "1e5",
    runs: Annotated[str, typer.Option(help="Independent runs of every policy.")] = "100",
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Workers = None,
    keep: Keep = None,
    plot: Annotated[Path | None, typer.Option(help="Draw regret over time to this file (.png, .svg, .pdf).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the summary, a row per policy, to this file (.parquet, .csv, .json).")
    ] = None,
    all_runs: Annotated[
        Path | None, typer.Option(help="Write policy, run, t, regret to this file (.parquet, .csv, .json).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play policies many times against Bernoulli arms, or rewards of your own, and show their regret.

    Regret is the expected reward lost against always playing the best arm. Without --means and --environment the arms
    are 0.9,0.6. Policies get the arms in the given order, and short runs depend on it: policies in phases open with the
    first arm. (`compare` and `plan` play another order in every run.) Examples:

    \b
    dpbandits simulate --means 0.9,0.6 --policies ucb,dp-ucb,dp-ucb-int --epsilon 0.1,1 --horizon 1e5 --plot regret.png

    \b
    dpbandits simulate --environment mine.py:stars --policies ucb,mine.py:Mine:plays=20 --runs 1e4 --keep played
    """
    check_ending(plot=plot, allowed=PLOTS)
    check_ending(out=out, allowed=DATA)
    check_ending(all_runs=all_runs, allowed=DATA)
    check_different(plot=plot, out=out, all_runs=all_runs)
    if keep is not None:
        check_folder(keep=keep)
    steps = whole("horizon", horizon)
    arms = _environment(means, environment)
    policy_list = _policies_at_levels(
        split_commas(policies), parse_levels(epsilon), USUAL_DELTA if delta is None else delta
    )
    check_delta(delta, *policy_list)
    named = unique_names(policy_list)
    try:
        result = simulate(named, arms, horizon=steps, runs=whole("runs", runs), seed=seed, workers=workers, folder=keep)
    except KeyboardInterrupt:
        print("Stopped." if keep is None else "Stopped. The same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None
    rows = [_row(result, name, policy) for name, policy in named.items()]
    if as_json:
        about = {"environment": result.environment, "means": result.means, "seed": seed}
        print_json({**about, "horizon": result.horizon, "runs": result.runs, "policies": rows})
    else:
        _show(result, named)
    notices = []
    if out is not None:
        _write_summary(rows, out)
        notices.append(f"Summary: {out}")
    if all_runs is not None:
        _write(result.to_pandas(), all_runs)
        notices.append(f"All runs: {all_runs}")
    if plot is not None:
        write_figure(result.plot().figure, plot)  # type: ignore[arg-type]
        notices.append(f"Figure: {plot}")
    if not as_json:
        print(*notices, sep="\n", end="\n" if notices else "")


@app.command("policies")
def policies_command(
    epsilon: Annotated[float, typer.Option(help="The budget to state guarantees for.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The delta of the budget, for policies that use one.")] = 1e-6,
    as_json: AsJson = False,
) -> None:
    """List the policies: names, guarantees, settings, where they come from."""
    policy_list: list[tuple[str, Policy]] = []
    for name, kind in POLICIES.items():
        policy_list.append((name, parse_policy(name, epsilon, delta)))
        if "variant" in {field.name for field in fields(kind)}:  # type: ignore[arg-type]
            published = f"{name}:variant=published"
            policy_list.append((published, parse_policy(published, epsilon, delta)))
    if as_json:
        print_json([_policy_document(name, policy) for name, policy in policy_list])
        return
    print_rows(
        f"Policies, made with epsilon = {epsilon:g} and delta = {delta:g} where they use one",
        ["name", "proved, for the whole action sequence", "published claim", "regret", "settings", "from"],
        [
            [
                name.replace(":", "\n:"),
                "none" if (proved := policy.guarantee()) is None else proved.brief,
                "" if (claimed := policy.claim()) is None else claimed.brief,
                policy.regret,
                *("" if ":" in name else _settings(type(policy)), policy.source),
            ]
            for name, policy in policy_list
        ],
        "recommended: noise-aware-imed. Sums run over the inferior arms; C is that of Lai & Robbins, "
        "C_ε that of Azize et al. 2025. Where no regret is given, none is proved.",
        is_text=True,
    )


def _policy_document(name: str, policy: Policy) -> dict[str, Any]:
    proved, claimed = policy.guarantee(), policy.claim()
    return {
        "name": name,
        "proved": None if proved is None else proved.to_dict(),
        "claimed": None if claimed is None else claimed.to_dict(),
        **{"regret": policy.regret, "source": policy.source},
        "settings": {field.name: getattr(policy, field.name) for field in fields(policy)},  # type: ignore[arg-type]
    }


def _settings(kind: type[Policy]) -> str:
    return ", ".join(
        field.name if field.default is MISSING else f"{field.name}={field.default}"
        for field in fields(kind)  # type: ignore[arg-type]
    )


def _environment(means: str | None, environment: str | None) -> Environment:
    if environment is None:
        return Bernoulli(parse_means(_MEANS if means is None else means))
    if means is not None:
        raise InvalidInput(f"Expected means={means!r} without environment={environment!r}, which replaces it.")
    return environment_from(environment)


def _policies_at_levels(texts: list[str], levels: list[float], delta: float) -> list[Policy]:
    """Return every policy at every level; one that sets its own level, or has none, only once."""
    policy_list: list[Policy] = []
    for text in texts:
        variants = [parse_policy(text, level, delta) for level in levels]
        policy_list += {repr(policy): policy for policy in variants}.values()
    return policy_list


def _row(result: SimulationResult, name: str, policy: Policy) -> dict[str, Any]:
    """Return the results of one policy, for programs."""
    keys = ("mean", "standard_error", "median", "percentile_99", "worst")
    guarantee = policy.guarantee()
    return {
        **{"policy": name, "settings": repr(policy)},
        **dict(zip(keys, map(float, result.summary().loc[name]), strict=True)),
        **{"runs": result.runs, "horizon": result.horizon},
        "proved_epsilon": math.nan if guarantee is None else guarantee.epsilon,
        "proved_delta": math.nan if guarantee is None else guarantee.delta,
        "proved_by": "" if guarantee is None else "dpbandits" if is_ours(policy) else "its author",
    }


def _show(result: SimulationResult, policies: dict[str, Policy]) -> None:
    rows = []
    for name, values in result.summary().iterrows():
        policy = policies[str(name)]
        guarantee = policy.guarantee()
        privacy = "none" if guarantee is None else guarantee.level
        if guarantee is not None and not is_ours(policy):
            privacy += ", stated by its author"
        if result.runs < FEWEST_FOR_99:
            values = values.mask(values.index == "99th percentile")
        rows.append([str(name), *(f"{value:,.1f}" if value == value else "-" for value in values), privacy])
    is_bernoulli = result.environment.startswith("Bernoulli(")
    arms = f"arms {', '.join(f'{mean:g}' for mean in result.means)}" if is_bernoulli else result.environment
    title = f"Regret after {count_text(result.horizon, 'step')}, {count_text(result.runs, 'run')}, {one_line(arms, 60)}"
    caption = (
        "privacy: what is proved for the policy, unless its author states it. The arms are in the given order, and "
        "short runs depend on it."
    )
    print_rows(title, ["policy", "mean", "± s.e.", "median", "99%", "worst", "privacy"], rows, caption)


def _write_summary(rows: list[dict[str, Any]], path: Path) -> None:
    import pandas as pd

    _write(pd.DataFrame(rows), path)


def _write(frame: Any, path: Path) -> None:
    """Write a table in the format of the file's ending."""
    if path.suffix.lower() == ".parquet":
        replace_file(path, lambda part: frame.to_parquet(part, index=False))
    elif path.suffix.lower() == ".csv":
        replace_file(path, lambda part: frame.to_csv(part, index=False))
    else:
        replace_file(path, lambda part: frame.to_json(part, orient="records", double_precision=15))
