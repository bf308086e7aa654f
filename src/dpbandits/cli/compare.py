"""`dpbandits compare`."""

import csv
import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dpbandits.cli.app import app
from dpbandits.cli.words import check_folder, console, contenders, listed, number, whole
from dpbandits.comparison import Leaderboard, Score, Standing, cases, compare
from dpbandits.simulation.parts import write_file

_POLICIES = "recommended,dp-imed,dp-klucb:index=noise-aware,dp-klucb,adap-klucb,block-ucb,dp-se"
_SHOWN_CASES = 8


@app.command("compare")
def compare_command(
    instances: Annotated[
        str,
        typer.Option(
            help="Sets of bandits: paper, five-arms, close, many-arms, random:NUMBER or random:NUMBER:SEED. "
            "Random ones bring their own epsilon."
        ),
    ] = "paper,five-arms",
    policies: Annotated[
        str,
        typer.Option(help="Names, with settings after colons; `recommended` is one, mine.py:Name a class of yours."),
    ] = _POLICIES,
    epsilon: Annotated[str, typer.Option(help="Privacy levels, such as 0.1,1.")] = "0.1,1",
    delta: Annotated[
        float | None,
        typer.Option(
            help="The second part of the budget, for policies that use one. Default: 1e-6.", show_default=False
        ),
    ] = None,
    horizon: Annotated[str, typer.Option(help="Steps per run; 1e5 is a number too.")] = "1e5",
    runs: Annotated[str, typer.Option(help="Runs of every policy on every case.")] = "1000",
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Cores to use. Default: all. The numbers do not depend on it.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the table, the figure and what was computed.")] = Path(
        "comparison"
    ),
) -> None:
    """Rank policies over many bandits and privacy levels.

    It writes scores.csv (one row per policy and case), ranking.csv and comparison.png. Stopped at any time, the same
    command goes on where it was. Policies that decide at every step (ucb, lazy-dp-ts, ...) take much longer than those
    in phases. An example:

    dpbandits compare --instances random:100 --policies recommended,dp-imed,adap-klucb --horizon 1e6
    """
    check_folder(out=out)
    chosen = cases(listed(instances), [number("epsilon", level) for level in listed(epsilon)])
    try:
        board = compare(
            contenders(policies, delta),
            chosen,
            horizon=whole("horizon", horizon),
            runs=whole("runs", runs),
            seed=seed,
            workers=workers,
            folder=out / "parts",
        )
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None
    if len(chosen) <= _SHOWN_CASES:
        for case in chosen:
            console().print(_case_table(case.name, [score for score in board.scores if score.case == case.name]))
    console().print(_ranking_table(board))
    write_files(board, out)
    print(f"Scores: {out / 'scores.csv'}\nFigure: {out / 'comparison.png'}")


def write_files(board: Leaderboard, out: Path) -> None:
    """Write tables and figure."""
    from dpbandits.comparison.figures import leaderboard_figure

    write_file(out / "scores.csv", board.to_pandas().to_csv(index=False).encode())
    ranking = io.StringIO()
    rows = csv.writer(ranking, lineterminator="\n")
    rows.writerows([Standing._fields, *board.standings()])
    write_file(out / "ranking.csv", ranking.getvalue().encode())
    picture = io.BytesIO()
    leaderboard_figure(board).savefig(picture, format="png", dpi=150)
    write_file(out / "comparison.png", picture.getvalue())


def _case_table(name: str, scores: list[Score]) -> Table:
    table = Table(title=f"{name}; lower bound for long runs, C ln T = {scores[0].yardstick:,.1f}")
    table.add_column("policy", overflow="fold")
    for column in ("mean", "± s.e.", "median", "99%", "worst", "linear", "mean / bound"):
        table.add_column(column, justify="right")
    for score in sorted(scores, key=lambda score: score.mean):
        numbers = (score.mean, score.standard_error, score.median, score.percentile_99, score.worst)
        linear = f"{score.linear / score.counted:.2%}" if score.counted else "-"
        ratio = f"{score.mean / score.yardstick:.2f}" if score.yardstick else "-"
        table.add_row(score.policy, *(f"{value:,.1f}" for value in numbers), linear, ratio)
    return table


def _ranking_table(board: Leaderboard) -> Table:
    table = Table(
        title=f"Over all {len(board.by_case())} cases",
        caption="proved: the guarantee, against the ε that was asked for. mean / bound: geometric mean over the cases, "
        "and what one case in ten exceeds. 99% / median: of a run, median over the cases, and what one case in twenty "
        "exceeds. linear: runs with regret above half of T times the smallest gap, where that is far above the bound. "
        "beaten: cases on which another policy that keeps ε has a smaller mean with 99% confidence.",
    )
    table.add_column("policy", overflow="fold")
    for column in ("proved", "mean / bound", "1 in 10", "99% / median", "1 in 20", "linear", "beaten"):
        table.add_column(column, justify="right")
    for standing in board.standings():
        linear = "-" if standing.linear != standing.linear else f"{standing.linear:.2%}"  # NaN: it cannot be told
        ratios = (standing.ratio, standing.ratio_90, standing.spread, standing.spread_95)
        numbers = (f"{value:.2f}" for value in ratios)
        table.add_row(standing.policy, _privacy(standing.privacy), *numbers, linear, f"{standing.beaten:.0%}")
    return table


def _privacy(multiple: float) -> str:
    """Return a guarantee as a multiple of the epsilon that was asked for."""
    if multiple == float("inf"):
        return "none"
    return "ε" if multiple <= 1 + 1e-9 else f"{multiple:.3g} ε"
