"""Figures of a comparison and of a plan."""

from typing import TYPE_CHECKING

import numpy as np

from dpbandits._extras import require_extras
from dpbandits._phrases import count_text
from dpbandits.comparison.advice import Plan
from dpbandits.comparison.leaderboard import Leaderboard
from dpbandits.plots import COLOURS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def leaderboard_figure(board: Leaderboard) -> "Figure":
    """Draw, for every policy, mean regret against C ln T and bad luck against the median: a dot per case."""
    require_extras("matplotlib")
    from matplotlib.figure import Figure

    names = [standing.policy for standing in board.standings()]
    figure = Figure(figsize=(11.0, 1.6 + 0.42 * len(names)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for row, name in enumerate(names):
        scores = board.of(name)
        ratios = [score.mean / score.yardstick for score in scores if score.yardstick > 0]
        spreads = [score.percentile_99 / score.median for score in scores if score.median > 0]
        for axes, values in ((left, ratios), (right, spreads)):
            _strip(axes, row, values)
    cases, horizons = len(board.by_case()), sorted({score.horizon for score in board.scores})
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xlabel(f"mean regret / (C ln T), {board.yardstick}")
    right.set_xlabel("99th percentile / median of a run")
    left.axvline(1.0, color="0.4", linewidth=0.8)
    right.axvline(1.0, color="0.4", linewidth=0.8)
    for axes in (left, right):
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis)
        axes.grid(True, axis="x", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    least = f"{min(score.runs for score in board.scores):,}"
    steps = " and ".join(f"{horizon:,}" for horizon in horizons)
    extent = f"{count_text(cases, 'case')}, {least} runs or more of {steps} steps."
    figure.suptitle(
        f"{extent} A dot per case; bars: median, and where 90% are below",
        fontsize="medium",
        x=0.01,
        ha="left",
    )
    return figure


def _strip(axes: "Axes", row: int, values: list[float]) -> None:
    if not values:
        return
    sideways = 0.18 * np.sin(np.arange(len(values)) * 2.399963)  # spread evenly, the same every time
    axes.scatter(values, row + sideways, s=9, color=COLOURS[1], alpha=0.45, linewidth=0)
    for value, height in ((np.median(values), 0.34), (np.quantile(values, 0.9), 0.22)):
        axes.plot([value, value], [row - height, row + height], color=COLOURS[2], linewidth=2.0)


def _plain_ticks(axis: "Axis") -> None:
    """Label 1, 2, 5, 10, 20, ... as they are."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def plan_figure(plan: Plan) -> "Figure":
    """Draw the share of people with another arm than the best: at the end by epsilon, and over time."""
    require_extras("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = list(dict.fromkeys(answer.policy for answer in plan.answers))
    for i, name in enumerate(names):
        answers = sorted((a for a in plan.answers if a.policy == name), key=lambda a: a.epsilon)
        style = {"color": COLOURS[(i + 1) % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.8}
        left.errorbar(
            [a.epsilon for a in answers],
            [100 * a.worse.mean for a in answers],
            yerr=[100 * a.worse.margin for a in answers],
            marker="o",
            markersize=4,
            label=name,
            **style,
        )
    usual = plan.without.worse
    left.axhline(100 * usual.mean, color="black", linewidth=1.2, label="no privacy")
    left.axhspan(100 * (usual.mean - usual.margin), 100 * (usual.mean + usual.margin), color="0.9", zorder=0)
    left.axhline(100 * plan.lots, color="0.6", linewidth=1.0, linestyle=":", label="drawing lots")
    left.set_xscale("log")
    left.set_xticks(plan.epsilons, [f"{epsilon:g}" for epsilon in plan.epsilons])
    left.minorticks_off()
    left.set_xlabel("ε: smaller is more private")
    left.set_ylabel("people with another arm than the best, %")
    left.set_title("At the end, with intervals of about 95%", fontsize="medium", loc="left")
    right.plot(plan.times, 100 * plan.without.curve, color="black", linewidth=1.2, label="no privacy")
    for i, epsilon in enumerate(plan.epsilons):
        best = plan.best(epsilon)
        style = {"color": COLOURS[(i + 1) % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.8}
        right.plot(plan.times, 100 * best.curve, label=f"ε = {epsilon:g}: {best.policy}", **style)
    right.set_xscale("log")
    right.set_xlabel("people so far")
    right.set_title("Over time, the best policy of each level", fontsize="medium", loc="left")
    # Before, hardly anything is known.
    right.set_xlim(max(1.0, plan.horizon / 1000), plan.horizon)
    for axes in (left, right):
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis)
        axes.grid(True, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0.0, -0.13), ncols=2)
    figure.suptitle(plan.title, fontsize="medium", x=0.01, ha="left")
    return figure
