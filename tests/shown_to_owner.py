"""Everything that a live experiment shows its owner, as plain values that can be compared."""

from pathlib import Path
from typing import Any

import dpbandits as dpb


def page_of(bandit: dpb.Bandit, folder: Path) -> str:
    """The page, as text."""
    path = folder / "page.html"
    bandit.report(path)
    return path.read_text(encoding="utf-8")


def drawn_in(figure: Any) -> list[Any]:
    """The data of a figure: lines, bars, bands, words."""
    found: list[Any] = []
    for axes in figure.axes:
        found += [line.get_xydata().tolist() for line in axes.lines]
        found += [patch.get_bbox().bounds for patch in axes.patches]
        found += [path.vertices.tolist() for band in axes.collections for path in band.get_paths()]
        found += [text.get_text() for text in axes.get_xticklabels() + axes.get_yticklabels()]
        found += [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()]
    return found


def everything_reported(bandit: dpb.Bandit, folder: Path) -> list[str]:
    """Page, figure and tables; texts, since NaN is not equal to itself."""
    frames = [bandit.to_pandas(), bandit.ledger.to_pandas()]
    return [page_of(bandit, folder), str(drawn_in(bandit.plot())), *(frame.to_csv() for frame in frames)]
