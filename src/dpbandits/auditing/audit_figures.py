"""Figures of an audit: the ratios of the events searched and tested, and the loss of every reward."""

from typing import TYPE_CHECKING

import numpy as np

from dpbandits._extras import require_extras
from dpbandits._phrases import count_text
from dpbandits._statistics import binomial_high, binomial_low
from dpbandits.auditing.exact_losses import ExactAudit
from dpbandits.auditing.runs import FULLY_FOLLOWED
from dpbandits.auditing.sampled_audit import Audit
from dpbandits.plots import COLOURS, drawn, same_every_time
from dpbandits.privacy import Guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (7.0, 4.2)


def ratios_svg(audit: Audit) -> bytes:
    """Draw the ratio of every event against its probability: those of the search, and those tested with intervals."""
    require_extras("matplotlib")
    from matplotlib.figure import Figure

    with same_every_time():
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        masses = [each.mass for each in audit.explored]
        ratios = [each.ratio for each in audit.explored]
        axes.plot(
            masses, ratios, ".", color="#999999", alpha=0.6, markersize=4, label="searched (the best of many are lucky)"
        )
        label = f"tested, {audit.confidence * 100:.10g}% for all together"
        for place, tested in enumerate(audit.tested):
            mass = max(tested.hits, 0.5) / tested.trials
            low, high = _interval(audit, place)
            if np.isfinite(high):
                axes.plot(mass, tested.ratio(audit.claim.delta), "o", color=COLOURS[2])
            else:
                high = low + 1.0
                axes.annotate("∞", (mass, high), ha="center", va="bottom", color=COLOURS[2])
            axes.plot([mass, mass], [low, high], color=COLOURS[2], linewidth=2.5, label=label if place == 0 else None)
        _claims(axes, audit.claim, audit.proved)
        axes.set_xscale("log")
        axes.set_xlim(min([0.5, *masses, *(max(tested.hits, 0.5) / tested.trials for tested in audit.tested)]) / 2, 1.2)
        axes.set_xlabel("probability of the event")
        axes.set_ylabel("ln of the ratio of its probabilities")
        axes.set_title("How much likelier is an event with one reward changed?", fontsize="medium", loc="left")
        axes.legend(frameon=False, fontsize="small")
        return drawn(figure, ".svg")


def losses_svg(audit: ExactAudit) -> bytes:
    """Draw the exact loss of every reward by its time."""
    require_extras("matplotlib")
    from matplotlib.figure import Figure

    with same_every_time():
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        finite = np.where(np.isfinite(audit.losses), audit.losses, np.nan)
        times = np.arange(1, len(audit.losses) + 1)
        label = "most that it lost in a run"
        if audit.horizon > FULLY_FOLLOWED:  # of most rewards only one of their block is known
            places = np.flatnonzero((np.diff(finite, prepend=0.0) != 0) & (finite > 0))
            axes.plot(times[places], finite[places], ".", color=COLOURS[1], markersize=3, label=label)
            axes.set_xscale("log")
        else:
            axes.step(times, finite, where="mid", color=COLOURS[1], linewidth=1.2, label=label)
        endless = times[np.isinf(audit.losses)]
        if len(endless):
            axes.plot(endless, np.full(len(endless), audit.claim.epsilon), "^", color=COLOURS[2], label="no bound")
        if audit.claim.delta == 0:
            _claims(axes, audit.claim, audit.proved)
        else:
            axes.plot([], [], " ", label=f"worst at delta {audit.claim.delta:.3g}: {audit.epsilon:.4g}")
        if len(audit.losses) > audit.horizon:
            axes.axvline(audit.horizon + 0.5, color="#888888", linewidth=1, linestyle=":", label="horizon")
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel("time of the reward")
        axes.set_ylabel("loss: sum over its releases")
        size = f"{count_text(audit.arms, 'arm')}, {count_text(audit.horizon, 'step')}"
        title = f"What does every single reward lose? ({size})"
        axes.set_title(title, fontsize="medium", loc="left")
        axes.legend(frameon=False, fontsize="small")
        return drawn(figure, ".svg")


def _interval(audit: Audit, place: int) -> tuple[float, float]:
    """Return the bound, and as far on the other side: where the ratio is, not corrected for looks."""
    tested = audit.tested[place]
    alpha = (1 - audit.confidence) / len(audit.tested) / 2
    high = binomial_high(tested.hits, tested.trials, alpha)
    low = binomial_low(tested.neighbour_hits, tested.trials, alpha)
    return tested.bound, float(np.log(max(high - audit.claim.delta, 1e-300) / low)) if low > 0 else np.inf


def _claims(axes: "Axes", claim: Guarantee, proved: Guarantee | None) -> None:
    axes.axhline(claim.epsilon, color=COLOURS[0], linewidth=1.2, linestyle="--", label=f"claimed: {claim.epsilon:.4g}")
    if proved is not None and proved.epsilon != claim.epsilon:
        axes.axhline(
            proved.epsilon, color=COLOURS[3], linewidth=1.2, linestyle=":", label=f"proved: {proved.epsilon:.4g}"
        )
