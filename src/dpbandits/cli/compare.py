"""`dpbandits compare`: its options, the files that it writes and the tables that it prints."""

import csv
import io
import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from dpbandits._writing import write_file
from dpbandits.cli.app import app, needing
from dpbandits.cli.files import environment_from
from dpbandits.cli.options import AsJson, Keep, OwnEnvironment, Workers
from dpbandits.cli.output import print_json, print_rows
from dpbandits.cli.parsing import check_folder, contenders, parse_levels, split_commas, whole
from dpbandits.comparison import Case, Leaderboard, Score, Standing, cases, compare
from dpbandits.comparison.instances import cases_at_levels
from dpbandits.comparison.leaderboard import FEWEST_FOR_99
from dpbandits.errors import InvalidInput
from dpbandits.plots import write_figure

_INSTANCES = "paper,five-arms"
_EPSILON = "0.1,1"
_POLICIES = "recommended,dp-imed,noise-aware-klucb,dp-klucb,adap-klucb,block-ucb,dp-se"
_SHOWN_CASES = 8


@app.command("compare")
@needing("numba", "pandas", "matplotlib")
def compare_command(
    instances: Annotated[
        str | None,
        typer.Option(
            help="Sets of bandits: paper, five-arms, close, many-arms, random:NUMBER or random:NUMBER:SEED. "
            f"Random ones have their own epsilons. Default: {_INSTANCES}, unless --environment is given.",
            show_default=False,
        ),
    ] = None,
    environment: OwnEnvironment = None,
    policies: Annotated[
        str,
        typer.Option(
            help="Names, with settings after colons. `recommended` is one; mine.py:Name is a class of your own."
        ),
    ] = _POLICIES,
    epsilon: Annotated[
        str | None, typer.Option(help=f"Privacy levels. Default: {_EPSILON}.", show_default=False)
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="The delta of the budget, for policies that use one. Default: 1e-6.", show_default=False),
    ] = None,
    horizon: Annotated[str, typer.Option(help="Steps per run, such as 1e5.")] = "1e5",
    runs: Annotated[str, typer.Option(help="Runs of every policy on every case.")] = "1000",
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Workers = None,
    keep: Keep = None,
    out: Annotated[
        Path,
        typer.Option(
            help="The folder for the tables and the figure; without --keep also for finished runs, in parts/."
        ),
    ] = Path("comparison"),
    as_json: AsJson = False,
) -> None:
    """Rank policies over many bandits and privacy levels.

    It writes scores.csv (one row per policy and case), ranking.csv and comparison.png. If it is stopped, the same
    command continues where it stopped; one with more runs starts from the finished runs. Policies that decide at
    every step (ucb, lazy-dp-ts, ...) take much longer than policies in phases. Examples:

    \b
    dpbandits compare --instances random:100 --policies recommended,dp-imed,adap-klucb --horizon 1e6

    \b
    dpbandits compare --environment mine.py:stars --policies recommended,mine.py:Mine --epsilon 0.5
    """
    check_folder(out=out)
    if keep is not None:
        check_folder(keep=keep)
    case_list = _cases(instances, environment, epsilon)
    try:
        board = compare(
            contenders(policies, delta),
            case_list,
            horizon=whole("horizon", horizon),
            runs=whole("runs", runs),
            seed=seed,
            workers=workers,
            folder=out / "parts" if keep is None else keep,
        )
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None
    write_files(board, out)
    if as_json:
        print_json({"yardstick": board.yardstick, "scores": board.scores, "ranking": board.standings()})
        return
    if len(case_list) <= _SHOWN_CASES:
        for case in case_list:
            _show_case(case.name, [score for score in board.scores if score.case == case.name])
    _show_ranking(board)
    print(f"Scores: {out / 'scores.csv'}\nFigure: {out / 'comparison.png'}")


def _cases(instances: str | None, environment: str | None, epsilon: str | None) -> list[Case]:
    """Return all cases. An epsilon that none of them would use is refused."""
    sets = split_commas(_INSTANCES if instances is None and environment is None else instances or "")
    levels = parse_levels(_EPSILON if epsilon is None else epsilon)
    case_list = cases(sets, levels) if sets or environment is None else []
    if environment is not None:
        case_list += cases_at_levels(environment, environment_from(environment), levels)
    elif epsilon is not None and all(text.split(":")[0] == "random" for text in sets):
        raise InvalidInput(
            f"Expected epsilon={epsilon!r} only with bandits that have none of their own, not {instances}."
        )
    return case_list


def write_files(board: Leaderboard, out: Path) -> None:
    """Write tables and figure."""
    from dpbandits.comparison.comparison_figures import leaderboard_figure

    out.mkdir(parents=True, exist_ok=True)
    write_file(out / "scores.csv", board.to_pandas().to_csv(index=False).encode())
    ranking = io.StringIO()
    rows = csv.writer(ranking, lineterminator="\n")
    rows.writerows([Standing._fields, *board.standings()])
    write_file(out / "ranking.csv", ranking.getvalue().encode())
    write_figure(leaderboard_figure(board), out / "comparison.png")


def _show_case(name: str, scores: list[Score]) -> None:
    is_bound = scores[0].is_bernoulli
    what = "lower bound for long runs, C ln T" if is_bound else "C ln T of Bernoulli arms with the same means"
    rows = []
    for score in sorted(scores, key=lambda score: score.mean):
        unlucky = score.percentile_99 if score.runs >= FEWEST_FOR_99 else math.nan
        numbers = (score.mean, score.standard_error, score.median, unlucky, score.worst)
        linear = f"{score.linear / score.counted:.2%}" if score.counted else "-"
        ratio = f"{score.mean / score.yardstick:.2f}" if score.yardstick else "-"
        rows.append([score.policy, *(f"{value:,.1f}" if value == value else "-" for value in numbers), linear, ratio])
    columns = ["policy", "mean", "± s.e.", "median", "99%", "worst", "linear", "mean / C ln T"]
    print_rows(f"{name}; {what} = {scores[0].yardstick:,.1f}", columns, rows)


def _show_ranking(board: Leaderboard) -> None:
    rows = []
    for standing in board.standings():
        linear = "-" if standing.linear != standing.linear else f"{standing.linear:.2%}"  # NaN: it cannot be told
        ratios = (standing.ratio, standing.ratio_90, standing.spread, standing.spread_95)
        numbers = (f"{value:.2f}" if value == value else "-" for value in ratios)  # NaN: with too few runs
        rows.append([standing.policy, _privacy(standing), *numbers, linear, f"{standing.beaten:.0%}"])
    print_rows(
        f"Over all {len(board.by_case())} cases" if len(board.by_case()) > 1 else "Over one case",
        ["policy", "proved", "mean / C ln T", "1 in 10", "99% / median", "1 in 20", "linear", "beaten"],
        rows,
        "proved: the guarantee, against the ε that was asked for; stated: by the author of the policy, not by us. "
        f"C ln T: {board.yardstick}; geometric mean over the cases, and what one case in ten exceeds. 99% / median: of "
        "a run, median over the cases, and what one case in twenty exceeds. linear: runs with regret above half of T "
        "times the smallest gap, where that is far above C ln T. beaten: cases in which another policy that keeps ε "
        "has a smaller mean with 99% confidence.",
    )


def _privacy(standing: Standing) -> str:
    """Return a guarantee as a multiple of the epsilon that was asked for."""
    if standing.privacy == float("inf"):
        return "none"
    multiple = "ε" if standing.privacy <= 1 + 1e-9 else f"{standing.privacy:.3g} ε"
    multiple += f", δ = {standing.delta:g}" if standing.delta else ""
    return multiple if standing.is_ours else f"{multiple} (stated)"
