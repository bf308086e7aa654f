"""The figure of a live experiment: who got which arm, the estimates, and how much of the budget is spent."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpbandits._extras import require_extras
from dpbandits._phrases import count_text
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.reporting.findings import CONFIDENCE, Findings, short_names
from dpbandits.live.reporting.release_history import estimates_over_releases, spent_over_releases
from dpbandits.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ARMS = 30  # rows that can still be read
_LONGEST_LABEL = 24
_RELEASES = "releases, of all arms together"


def overview_figure(overview: Overview) -> "Figure":
    """Draw an overview in three panels."""
    require_extras("matplotlib")
    from matplotlib.figure import Figure

    findings = Findings(overview)
    figure = Figure(figsize=(14.0, 4.5), layout="constrained")
    allocation, estimates, budget = figure.subplots(1, 3)
    _draw_allocation(allocation, findings)
    if len(findings.names) <= len(COLOURS):
        _draw_history(estimates, findings)
    else:
        _draw_intervals(estimates, findings)
    _draw_budget(budget, findings)
    for axes in (estimates, budget):
        if axes.get_xlabel() == _RELEASES:
            axes.xaxis.get_major_locator().set_params(integer=True)
    for axes in (allocation, estimates, budget):
        axes.grid(True, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_allocation(axes: "Axes", findings: Findings) -> None:
    arms = _arms_with_rows(findings)
    axes.barh(range(len(arms)), [findings.overview.assigned_to[number] for number in arms], color=COLOURS[1])
    _name_rows(axes, findings, arms)
    axes.set_xlabel("assignments")
    best = "" if len(arms) == len(findings.names) else f"; the {len(arms)} arms with the best estimates"
    axes.set_title(count_text(findings.overview.assigned, "assignment") + best, fontsize="medium", loc="left")


def _draw_history(axes: "Axes", findings: Findings) -> None:
    for number, name in enumerate(_labels(findings.names)):
        points = estimates_over_releases(findings.overview, number, CONFIDENCE)
        rows = [row for row, _ in points]
        means = [float("nan") if estimate.mean is None else estimate.mean for _, estimate in points]
        colour = COLOURS[number]
        # A step lasts until the arm's next release, or until now.
        ends = [*rows, findings.releases]
        axes.step(ends, [*means, *means[-1:]] if means else [float("nan")], where="post", color=colour, label=name)
        if points:
            lows, highs = [each.low for _, each in points], [each.high for _, each in points]
            band = ([*lows, lows[-1]], [*highs, highs[-1]])
            axes.fill_between(ends, *band, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.set_ylim(*findings.overview.configuration.rewards.bounds)
    axes.set_xlabel(_RELEASES)
    axes.set_ylabel("mean reward")
    axes.set_title("Estimates with 95% intervals", fontsize="medium", loc="left")
    axes.legend(fontsize="small", framealpha=0.7, edgecolor="none")


def _draw_intervals(axes: "Axes", findings: Findings) -> None:
    arms = _arms_with_rows(findings)
    for place, number in enumerate(arms):
        estimate = findings.estimates[number]
        axes.plot([estimate.low, estimate.high], [place, place], color=COLOURS[1], linewidth=2.5)
        if estimate.mean is not None:
            axes.plot(estimate.mean, place, "o", color=COLOURS[2], markersize=4)
    _name_rows(axes, findings, arms)
    axes.set_xlim(*findings.overview.configuration.rewards.bounds)
    axes.set_xlabel("mean reward")
    axes.set_title("Estimates with 95% intervals", fontsize="medium", loc="left")


def _draw_budget(axes: "Axes", findings: Findings) -> None:
    spent = spent_over_releases(findings.overview)
    budget = findings.overview.terms.person.epsilon
    axes.step(
        [row for row, _ in spent], [epsilon for _, epsilon in spent], where="post", color=COLOURS[1], label="spent"
    )
    axes.axhline(budget, color=COLOURS[0], linewidth=1.2, linestyle="--", label=f"promised: {budget:.4g}")
    axes.set_ylim(0, 1.1 * budget)
    axes.set_xlabel(_RELEASES)
    delta = findings.overview.terms.person.delta
    axes.set_ylabel(f"epsilon, about, at delta {delta:.3g}" if delta else "epsilon")
    axes.set_title("Privacy budget spent", fontsize="medium", loc="left")
    axes.legend(frameon=False, fontsize="small", loc="lower right")


def _arms_with_rows(findings: Findings) -> list[int]:
    """Return the arms that have a row: all of them, or those with the best estimates."""
    return sorted(findings.ranking[:_MOST_ARMS])


def _name_rows(axes: "Axes", findings: Findings, arms: list[int]) -> None:
    axes.set_yticks(range(len(arms)), _labels([findings.names[number] for number in arms]), fontsize="small")
    axes.invert_yaxis()


def _labels(names: Sequence[str]) -> list[str]:
    """Return short names that matplotlib takes as they are: no formulas, and none left out for a line before it."""
    plain = [name.replace("$", r"\$") for name in short_names(names, _LONGEST_LABEL)]
    return [f" {name}" if name.startswith("_") else name for name in plain]
