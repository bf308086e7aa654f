"""Charts as SVG, written by hand: a base install, which has no matplotlib, can write a report.

Every chart has rows, each with the name of an arm on its left. Colours follow the reader's light or dark setting; where
an image does not know that setting, it is light as a whole.
"""

from collections.abc import Sequence
from html import escape

from dpbandits.live.reporting.findings import short_names

WIDTH = 440
_ROW, _TOP, _LEFT, _RIGHT = 24, 30, 140, 60
_SPAN = WIDTH - _LEFT - _RIGHT
_LONGEST_LABEL = 16
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-weight:600}.faint{fill:#666}"
    ".back{fill:#fff}.bar{fill:#0072b2}.rest{fill:#e4e4e4}.line{stroke:#0072b2;stroke-width:3}.grid{stroke:#ddd}"
    ".dot{fill:#d55e00}"
    "@media(prefers-color-scheme:dark){text{fill:#e8e8e8}.faint{fill:#aaa}.back{fill:#16181c}.bar{fill:#56b4e9}"
    ".rest{fill:#3a3d42}.line{stroke:#56b4e9}.grid{stroke:#3a3d42}.dot{fill:#e69f00}}"
)


def bars_svg(title: str, labels: Sequence[str], shares: Sequence[float], texts: Sequence[str]) -> bytes:
    """Draw a bar for every row, of this share of the whole width, with a text at its end."""
    most = max(shares, default=0.0) or 1.0
    parts = []
    for row, (share, text) in enumerate(zip(shares, texts, strict=True)):
        length = _SPAN * share / most
        parts.append(f'<rect class="bar" x="{_LEFT}" y="{_y(row) - 7}" width="{length:.1f}" height="14"/>')
        parts.append(_text(_LEFT + length + 6, _y(row), text))
    return _svg(title, labels, parts)


def intervals_svg(
    title: str,
    labels: Sequence[str],
    intervals: Sequence[tuple[float, float | None, float]],
    bounds: tuple[float, float],
) -> bytes:
    """Draw an interval for every row, from low to high, with a dot at its estimate if there is one."""
    low, high = bounds
    span = WIDTH - _LEFT - 24

    def x(value: float) -> float:
        return _LEFT + span * (value - low) / (high - low)

    bottom = _TOP + _ROW * len(labels)
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = low + share * (high - low)
        parts.append(f'<line class="grid" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(_text(x(value), bottom + 12, f"{value:.4g}", "faint", "middle"))
    for row, (begin, mean, end) in enumerate(intervals):
        y = _y(row)
        parts.append(f'<line class="line" x1="{x(begin):.1f}" x2="{x(end):.1f}" y1="{y}" y2="{y}"/>')
        if mean is not None:
            parts.append(f'<circle class="dot" cx="{x(mean):.1f}" cy="{y}" r="5"/>')
    return _svg(title, labels, parts, below=24)


def budget_svg(title: str, label: str, share: float) -> bytes:
    """Draw how much of a whole is used."""
    span = WIDTH - _LEFT - 24
    length = span * min(share, 1.0)
    parts = [
        f'<rect class="rest" x="{_LEFT}" y="{_y(0) - 7}" width="{span}" height="14"/>',
        f'<rect class="bar" x="{_LEFT}" y="{_y(0) - 7}" width="{length:.1f}" height="14"/>',
    ]
    return _svg(title, [label], parts)


def _svg(title: str, labels: Sequence[str], parts: Sequence[str], below: int = 6) -> bytes:
    height = _TOP + _ROW * len(labels) + below
    names = [
        _text(_LEFT - 8, _y(row), label, "", "end") for row, label in enumerate(short_names(labels, _LONGEST_LABEL))
    ]
    body = "\n".join([_text(4, 14, title, "title"), *names, *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n'
        f'<style>{_STYLE}</style>\n<rect class="back" width="{WIDTH}" height="{height}"/>\n{body}\n</svg>\n'
    ).encode("utf-8", "replace")


def _y(row: int) -> float:
    return _TOP + _ROW * row + _ROW / 2


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="{anchor}">{escape(text)}</text>'
