"""Figures: labelled, safe for colour-blind readers, the same everywhere."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._extras import require_extras
from dpbandits._writing import write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's palette, which colour-blind readers can tell apart; dashes help in print.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1.5, 1.5)), (0, (1, 1)))


def plot_regret(
    regrets: Mapping[str, NDArray[np.float64]], times: NDArray[np.int64], title: str, axes: "Axes | None" = None
) -> "Axes":
    """Draw mean regret over time, both axes logarithmic, with bands from the 5th to the 95th percentile of the runs."""
    if axes is None:
        require_extras("matplotlib")
        from matplotlib.figure import Figure

        axes = Figure(figsize=(8.0, 5.0), layout="constrained").add_subplot()
    runs = 0
    ends = []
    for i, (name, regret) in enumerate(regrets.items()):
        colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
        runs = len(regret)
        mean = regret.mean(axis=0)
        (line,) = axes.plot(times, mean, color=colour, linestyle=dash, linewidth=1.8, label=name)
        if runs > 1:
            low, high = np.quantile(regret, [0.05, 0.95], axis=0)
            axes.fill_between(times, low, high, color=colour, alpha=0.15, linewidth=0)
        ends.append((float(mean[-1]), name, line))
    axes.set_xscale("log")
    axes.set_xlabel("step t")
    axes.set_yscale("log", nonpositive="clip")
    axes.set_ylabel("regret")
    of_runs = "one run" if runs == 1 else f"mean of {runs:,} runs, band from the 5th to the 95th percentile"
    axes.set_title(f"{title}\n{of_runs}", fontsize="medium", loc="left")
    axes.set_xlim(times[0], times[-1] if len(times) > 1 else times[0] + 1)
    axes.set_ylim(bottom=0.1, top=max(1.0, *(2 * last for last, _, _ in ends), axes.get_ylim()[1]))
    axes.grid(True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    # In the order of the curves at the end, so that the eye finds its line.
    ordered = sorted(ends, key=lambda end: -end[0])
    labels = [f"{name}: {last:,.1f}".replace("$", r"\$") for last, name, _ in ordered]  # no formulas
    axes.legend([line for _, _, line in ordered], labels, frameon=False, loc="upper left", title="mean at the end")
    return axes


def drawn(figure: "Figure", ending: str, dpi: int = 130) -> bytes:
    """Return a figure as a .png, .svg or .pdf file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=ending[1:], dpi=dpi, metadata=_metadata(ending))
    return buffer.getvalue()


def write_figure(figure: "Figure", path: Path) -> None:
    """Write a figure to a .png, .svg or .pdf file, which is there as a whole or not at all."""
    write_file(path, drawn(figure, path.suffix.lower(), dpi=150))


def _metadata(ending: str) -> dict[str, Any]:
    """Return metadata without the time, so that the same numbers give the same file."""
    metadata: dict[str, dict[str, Any]] = {
        ".png": {"Software": "dpbandits"},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    return metadata[ending]


@contextmanager
def same_every_time() -> Iterator[None]:
    """Draw so that the same numbers give the same file."""
    require_extras("matplotlib")
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "dpbandits", "svg.fonttype": "path", "font.family": "DejaVu Sans"}):
        yield
