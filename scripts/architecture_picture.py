"""Draw docs/architecture.svg: the way of one reward, live and simulated. `make picture` runs this.

The picture is checked in; a test compares it with what is drawn here.
"""

from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "architecture.svg"
WIDTH, HEIGHT = 800, 668
LINE = 17  # from one line of text to the next
STYLE = (
    "text{font:13px Helvetica,Arial,sans-serif;fill:#1a1a1a}.heading{font-weight:bold;font-size:15px}"
    ".title{font-weight:bold}.note{font-size:12px;fill:#444}.zone{font-size:12px;font-style:italic;fill:#444}"
    ".back{fill:#fff}.secret{fill:#fbe3dd}.public{fill:#e0eefa}.box{fill:#fff;stroke:#555}"
    ".kernel{fill:#fff3cf;stroke:#b07d00;stroke-width:1.5}.door{fill:#333}.light{fill:#fff}"
    ".arrow{stroke:#333;stroke-width:1.5;fill:none;marker-end:url(#head)}"
)
HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#333"/></marker>'
)


def text(x: float, y: float, words: str, style: str = "", anchor: str = "middle") -> str:
    style = f' class="{style}"' if style else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{style}>{escape(words)}</text>'


def area(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'


def box(x: float, y: float, width: float, height: float, title: str, *lines: str, style: str = "box") -> list[str]:
    """Return a box with its title and lines, as a block in its middle."""
    first = y + height / 2 - len(lines) * LINE / 2 + 4.5
    middle = x + width / 2
    below = [text(middle, first + LINE * number, line, "note") for number, line in enumerate(lines, start=1)]
    return [area(x, y, width, height, style), text(middle, first, title, "title"), *below]


def door(y: float, height: float, *lines: str) -> list[str]:
    """Return the door between the secret and the public side."""
    first = y + height / 2 - (len(lines) - 1) * LINE / 2 - 6
    words = [text(516, first + 5 + LINE * number, line, "light") for number, line in enumerate(lines, start=1)]
    return [area(476, y, 80, height, "door"), text(516, first, "release", "light title"), *words]


def arrow(*corners: tuple[float, float]) -> str:
    path = "L".join(f"{x:g} {y:g}" for x, y in corners)
    return f'<path class="arrow" d="M{path}"/>'


def live() -> list[str]:
    """Return the upper half: a person's reward, and the arm of the next person."""
    return [
        text(14, 24, "Live: one person's reward, and the next person's arm", "heading", "start"),
        area(118, 38, 350, 182, "secret"),
        text(126, 54, "secret", "zone", "start"),
        area(564, 38, 222, 182, "public"),
        area(118, 228, 668, 104, "public"),
        text(778, 54, "public", "zone", "end"),
        *box(8, 70, 100, 250, "person", "gets an arm,", "answers with", "a reward"),
        *box(134, 70, 140, 62, "Bandit.close", "all is checked", "before it counts"),
        *box(318, 70, 136, 62, "Learner", "adds the reward", "to a secret sum"),
        *door(38, 182, "the only", "door;", "exact noise", "is added"),
        *box(604, 70, 166, 62, "ledger", "a row per release,", "hash-chained"),
        *box(134, 158, 320, 50, "journal, a private file", "every step is on disk before anybody sees it"),
        *box(604, 246, 166, 70, "update", "turns releases into", "released statistics", style="kernel"),
        *box(358, 246, 166, 70, "select", "reads released", "statistics only", style="kernel"),
        *box(134, 246, 140, 70, "Bandit.assign", "gives the arm to", "the next person"),
        arrow((108, 101), (132, 101)),
        arrow((274, 101), (316, 101)),
        arrow((454, 101), (474, 101)),
        arrow((556, 101), (602, 101)),
        arrow((204, 132), (204, 156)),
        arrow((386, 132), (386, 156)),
        arrow((687, 132), (687, 244)),
        text(679, 180, "the value,", "note", "end"),
        text(679, 196, "once on disk", "note", "end"),
        arrow((604, 281), (526, 281)),
        arrow((358, 281), (276, 281)),
        text(317, 273, "arm", "note"),
        arrow((134, 281), (110, 281)),
    ]


def simulated() -> list[str]:
    """Return the lower half: the same kernels, with rewards from an environment."""
    return [
        text(14, 366, "Simulated: the same kernels, compiled, very often", "heading", "start"),
        area(118, 380, 350, 112, "secret"),
        text(126, 396, "secret", "zone", "start"),
        area(564, 380, 222, 112, "public"),
        area(118, 500, 668, 104, "public"),
        text(778, 396, "public", "zone", "end"),
        *box(8, 412, 100, 180, "environment", "draws the", "reward of", "an arm"),
        *box(134, 412, 140, 62, "engine loop", "hands over rewards,", "one or a block"),
        *box(318, 412, 136, 62, "update", "adds the reward", "to a secret sum", style="kernel"),
        *door(380, 112, "seeded", "noise", "is added"),
        *box(604, 412, 166, 62, "update", "turns releases into", "released statistics", style="kernel"),
        *box(604, 518, 166, 70, "select", "reads released", "statistics only", style="kernel"),
        *box(358, 518, 166, 70, "engine loop", "plays the arm as long", "as the policy holds it"),
        *box(134, 518, 140, 70, "trace", "regret, switches,", "plays over time"),
        arrow((108, 443), (132, 443)),
        arrow((274, 443), (316, 443)),
        arrow((454, 443), (474, 443)),
        arrow((556, 443), (602, 443)),
        arrow((687, 474), (687, 516)),
        arrow((604, 553), (526, 553)),
        text(565, 545, "arm", "note"),
        arrow((358, 553), (276, 553)),
        arrow((441, 588), (441, 615), (58, 615), (58, 594)),
        text(250, 630, "the arm that is played", "note"),
    ]


def legend() -> list[str]:
    return [
        area(14, 642, 24, 16, "kernel"),
        text(46, 655, "a kernel: written once, run as it is or compiled", "note", "start"),
        area(352, 642, 24, 16, "secret"),
        text(384, 655, "secret: rewards, sums without noise", "note", "start"),
        area(634, 642, 24, 16, "public"),
        text(666, 655, "public: may be seen", "note", "start"),
    ]


def picture() -> str:
    """Return the picture as SVG, an element a line."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'role="img" aria-label="The way of one reward through dpbandits">'
    )
    back = f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>'
    parts = [opening, f"<style>{STYLE}</style>", f"<defs>{HEAD}</defs>", back, *live(), *simulated(), *legend()]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
