"""The paper's figure: regret over time in four panels, as published and as proved."""

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any

from dpbandits._extras import require_extras
from dpbandits._writing import write_file
from dpbandits.plots import COLOURS, DASHES, drawn, same_every_time
from dpbandits.reproduce.confidence import number
from dpbandits.reproduce.paper_experiments import PANELS, Line, Panel, privacy_text
from dpbandits.reproduce.regret_bounds import bound_forms, regret_bound
from dpbandits.reproduce.study import Study
from dpbandits.theory import lower_bounds

FORMATS = (".png", ".svg", ".pdf")
TITLES = {"published": "As published", "proved": "As proved: with the privacy that was asked for"}
_STYLES = {
    name: (COLOURS[colour], DASHES[dash])
    for dash, (name, colour) in enumerate(
        {"UCB": 0, "Private-UCB": 5, "DP-UCB": 1, "DP-UCB-Bound": 2, "DP-UCB-Int": 3}.items()
    )
}
_BOUND_STYLES: dict[str, Any] = {"published": ":", "proved": (0, (6, 2, 1, 2))}
_BELOW = 0.1  # where the regret axis begins; nothing is drawn below
_ROOM = 0.122  # of the axis, for one label of two lines
_LINE = 0.045  # and for one more line


def save_figure(study: Study, form: str, folder: Path, *, bounds: bool) -> Iterator[Path]:
    """Draw all four panels into one figure, write it in every format, and yield each file when it is there."""
    require_extras("matplotlib")
    from matplotlib.figure import Figure

    stem = "figure" if form == "published" else f"figure-{form}"
    with same_every_time():
        # Fixed margins: matplotlib's own layout doubles the time.
        figure = Figure(figsize=(15.0, 9.6))
        grid = {"left": 0.045, "right": 0.862, "top": 0.9, "bottom": 0.055, "wspace": 0.52, "hspace": 0.22}
        for panel, axes in zip(PANELS, figure.subplots(2, 2, gridspec_kw=grid).flat, strict=True):
            draw_panel(axes, study, panel, form, bounds=bounds)
        figure.text(0.012, 0.988, TITLES[form], fontsize=13, fontweight="bold", va="top")
        figure.text(0.012, 0.962, "\n".join(wrap(caption(study, bounds=bounds), 190)), fontsize=9.5, va="top")
        for ending in FORMATS:
            path = folder / f"{stem}{ending}"
            yield write_file(path, drawn(figure, ending))


def panel_svg(study: Study, panel: Panel, form: str, *, bounds: bool) -> bytes:
    """Return one panel as an SVG, for the report."""
    require_extras("matplotlib")
    from matplotlib.figure import Figure

    with same_every_time():
        figure = Figure(figsize=(5.4, 4.1))  # small, so that its letters are large on a telephone
        axes = figure.add_axes((0.125, 0.115, 0.48, 0.81))
        draw_panel(axes, study, panel, form, bounds=bounds)
        return drawn(figure, ".svg")


def caption(study: Study, *, bounds: bool) -> str:
    """Say what is drawn."""
    chosen = study.settings
    drawn = (
        f"Mean regret of {chosen.runs:,} runs (seed {chosen.seed}), bands from the 5th to the 95th percentile; ○ "
        "ends the initial phase, in which arms take turns. In parentheses the input privacy."
    )
    if bounds:
        drawn += (
            " Thin: bounds as published (dotted) and as proved (dash-dotted), both at most t max Δ; grey: what "
            "regret is at least asymptotically if δ = 0."
        )
    return drawn


def draw_panel(axes: Any, study: Study, panel: Panel, form: str, *, bounds: bool) -> None:
    """Draw one panel."""
    horizon = study.settings.horizon
    largest = horizon * max(panel.scenario.gaps)
    ends = []
    for line in panel.lines(form):
        colour, dash = _STYLES[line.algorithm]
        summary = study.summary(line.policy, panel.scenario.environment)
        times, mean = summary.checkpoints, summary.mean
        axes.plot(times, mean, color=colour, linestyle=dash, linewidth=1.9, zorder=3)
        axes.fill_between(times, summary.quantile(0.05), summary.quantile(0.95), color=colour, alpha=0.15, linewidth=0)
        opening = line.opening(len(panel.scenario.means))
        if opening < horizon:
            place = summary.at(opening)
            axes.plot(times[place], mean[place], "o", color=colour, markerfacecolor="white", markersize=6, zorder=4)
        if bounds:
            _draw_bounds(axes, line, panel, times, colour)
        ends.append((float(mean[-1]), _label(study, panel, line, float(mean[-1])), colour))
    if bounds:
        constant = lower_bounds.asymptotic_constant(panel.scenario.means, panel.epsilon)
        late = times[times >= horizon / 100]  # it says nothing about a beginning
        axes.plot(late, [constant * math.log(t) for t in late], "--", color="0.45", linewidth=1.2, zorder=2)
    axes.set(
        xscale="log", yscale="log", xlim=(1, horizon), ylim=(_BELOW, 2 * largest), xlabel="step t", ylabel="regret"
    )
    axes.set_title(panel.name, loc="left", fontsize=11, fontweight="bold")
    axes.minorticks_off()
    axes.grid(True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    _label_ends(axes, ends)


def _draw_bounds(axes: Any, line: Line, panel: Panel, times: Any, colour: str) -> None:
    for form in bound_forms(line.policy):
        if form in _BOUND_STYLES:
            bounds = [regret_bound(line.policy, panel.scenario.gaps, float(t), form) for t in times]
            axes.plot(times, bounds, color=colour, linestyle=_BOUND_STYLES[form], linewidth=1.0, zorder=2)


def _label(study: Study, panel: Panel, line: Line, end: float) -> str:
    """Return what is written at the end of a curve: name, input privacy, mean, proved privacy."""
    words = [f"{line.algorithm} {_asked(line)}: {number(end)}", _proved(line, study.settings.horizon)]
    steady = study.steady(line.policy, panel.scenario.environment)
    if steady.runs > study.settings.runs:
        words.insert(1, f"({number(float(steady.mean[-1]))} in {steady.runs:,} runs)")
    return "\n".join(words)


def _label_ends(axes: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write every curve's name at its end, apart from each other."""
    low, high = (math.log(limit) for limit in axes.get_ylim())
    at = [(math.log(max(end, _BELOW)) - low) / (high - low) for end, _, _ in ends]
    order = sorted(range(len(at)), key=at.__getitem__)
    rooms = [_ROOM + _LINE * (ends[i][1].count("\n") - 1) for i in order]
    for i, place in zip(order, apart_from_each_other([at[i] for i in order], rooms), strict=True):
        _, label, colour = ends[i]
        axes.annotate(
            label,
            xy=(1.0, at[i]),
            xytext=(1.04, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=colour,
            fontsize=8.5,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "relpos": (0, 0.5), "shrinkB": 0},
        )


def _asked(line: Line) -> str:
    """Return the input privacy in parentheses, as the paper's legend has it."""
    budget = line.input_privacy()
    text = "not private" if budget is None else privacy_text(budget)
    return text if text.startswith("(") else f"({text})"


def _proved(line: Line, horizon: int) -> str:
    guarantee = line.guarantee(horizon)
    if guarantee is None:
        return "no privacy"
    if guarantee.epsilon == 0:
        return "no release yet"
    return f"proved {privacy_text(guarantee)}"


def apart_from_each_other(places: list[float], rooms: list[float]) -> list[float]:
    """Return rising places so far apart that each has its room around it, near the given ones and inside [0, 1]."""
    moved = list(places)
    between = [(one + other) / 2 for one, other in pairwise(rooms)]
    for _ in range(100):  # neighbours that overlap give way equally
        for i, room in enumerate(between):
            overlap = max(0.0, room - (moved[i + 1] - moved[i]))
            moved[i] -= overlap / 2
            moved[i + 1] += overlap / 2
    for i in range(len(moved)):  # then all move inside, from below and from above
        moved[i] = max(moved[i], moved[i - 1] + between[i - 1] if i else rooms[0] / 2)
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], moved[i + 1] - between[i] if i + 1 < len(moved) else 1 - rooms[-1] / 2)
    return moved
