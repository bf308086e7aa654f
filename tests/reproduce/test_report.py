"""What people see: the page, the Markdown, the figures, the data."""

import base64
import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from dpbandits.document import Badge, Block, Bullets, Code, Heading, Paragraph, Table, to_html, to_markdown
from dpbandits.reproduce import CLAIMS, Finding, Study, write_all
from dpbandits.reproduce.experiments import FORMS, PANELS, TWO_ARMS
from dpbandits.reproduce.figures import _apart, draw_panel

Small = tuple[Study, dict[str, Finding], Path]


class Page(HTMLParser):
    """All text, and every tag with its attributes; complains about tags that are not closed."""

    VOID = ("meta", "img")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def is_svg(data: bytes) -> None:
    assert ElementTree.fromstring(data).tag.endswith("svg")  # noqa: S314  (it is our own)


def test_the_page_needs_nothing_else(small: Small) -> None:
    html = (small[2] / "report.html").read_text("utf-8")
    page = Page(html)
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(pictures) == 2 * len(PANELS)
    for attributes in pictures:
        source = attributes["src"] or ""
        assert source.startswith("data:image/svg+xml;base64,")
        is_svg(base64.b64decode(source.split(",")[1]))
        assert "DP-UCB-Int" in (attributes["alt"] or "")
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "iframe")]
    assert not re.search(r"(src|href)=.?(https?:)?//", html)
    assert "@import" not in html
    assert "url(" not in html


def test_page_and_markdown_say_the_same(small: Small) -> None:
    _, findings, folder = small
    text = (folder / "report.md").read_text("utf-8")
    page = "".join(Page((folder / "report.html").read_text("utf-8")).words)
    for claim in CLAIMS:
        finding = findings[claim.name]
        for words in (claim.where, claim.says, claim.test, finding.reason, *finding.numbers):
            assert words in page, claim.name
            assert words.replace("|", "\\|") in text, claim.name
        assert f"dpbandits reproduce --claim {claim.name} --horizon 2000" in page
        assert f"`dpbandits reproduce --claim {claim.name} --horizon 2000`" in text
    assert "These are not the paper's settings" in page
    assert "T = 2,000, 6 runs, seed 0" in text


def test_markdown_links_to_pictures_that_exist(small: Small) -> None:
    folder = small[2]
    links = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", (folder / "report.md").read_text("utf-8"))
    assert len(links) == 2 * len(PANELS)
    for link in links:
        is_svg((folder / link).read_bytes())


def test_figures_are_there_in_all_formats(small: Small) -> None:
    folder = small[2]
    for stem in ("figure", "figure-certified"):
        assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{stem}.pdf").read_bytes().startswith(b"%PDF")
        is_svg((folder / f"{stem}.svg").read_bytes())


def test_data_is_tidy_and_complete(small: Small) -> None:
    study, _, folder = small
    data = pd.read_csv(folder / "regret.csv")
    keys = ["form", "arms", "epsilon", "algorithm", "t"]
    assert not data.duplicated(keys).any()
    assert len(data.drop_duplicates(keys[:-1])) == len(FORMS) * len(PANELS) * 5
    assert (data["best"] <= data["quantile_05"] + 1e-9).all()
    assert (data["quantile_05"] <= data["median"] + 1e-9).all()
    assert (data["median"] <= data["quantile_95"] + 1e-9).all()
    assert (data["quantile_95"] <= data["worst"] + 1e-9).all()
    panel = PANELS[0]
    summary = study.summary(panel.published("DP-UCB"), panel.scenario.environment)
    rows = data[(data["form"] == "published") & (data["arms"] == 2) & (data["epsilon"] == 1.0)]
    rows = rows[rows["algorithm"] == "DP-UCB"]
    np.testing.assert_allclose(rows["mean"], summary.mean)
    assert len(pd.read_csv(folder / "claims.csv")) == len(CLAIMS)


def test_the_same_study_writes_the_same_files(small: Small, tmp_path: Path) -> None:
    study, findings, folder = small
    paths = write_all(study, findings, tmp_path, flags=" --horizon 2000", bounds=True)
    assert len(paths) == 2 * 3 + 8 + 4
    for path in paths:
        assert path.read_bytes() == (folder / path.relative_to(tmp_path)).read_bytes(), path.name


def test_a_panel_names_its_curves_and_marks_the_initial_phase(small: Small) -> None:
    from matplotlib.figure import Figure

    study = small[0]
    panel = next(panel for panel in PANELS if panel.scenario is TWO_ARMS and panel.epsilon == 1.0)
    axes: Any = Figure().add_subplot()
    draw_panel(axes, study, panel, "published", bounds=False)
    labels = [text.get_text() for text in axes.texts]
    assert [label.split(" ")[0] for label in sorted(labels)] == sorted(
        line.algorithm for line in panel.lines("published")
    )
    assert any("DP-UCB (1)" in label and "certified 2" in label for label in labels)
    assert any("DP-UCB-Int (1, e⁻¹⁰)" in label for label in labels)
    marks = sorted(line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 1)
    assert marks[:4] == [2] * 4
    assert 85 < marks[4] <= 92  # the last checkpoint of the 2 x 46 steps
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step t", "regret")
    curves = len(axes.lines)
    draw_panel(axes := Figure().add_subplot(), study, panel, "published", bounds=True)
    assert len(axes.lines) == curves + 6  # UCB1, two of Theorem 3.2, 3.3, 3.5, the lower bound


@pytest.mark.parametrize("places", [[0.5] * 5, [0.0, 0.01, 0.02, 0.9, 0.99], [0.1, 0.5, 0.9], [1.0, 1.0], [0.0]])
def test_labels_keep_apart_and_in_order(places: list[float]) -> None:
    rooms = [0.12, 0.17, 0.12, 0.2, 0.12][: len(places)]
    moved = _apart(places, rooms)
    for (one, below), (other, above) in pairwise(zip(moved, rooms, strict=True)):
        assert other - one >= (below + above) / 2 - 1e-6
    assert moved[0] >= rooms[0] / 2 - 1e-6
    assert moved[-1] <= 1 - rooms[-1] / 2 + 1e-6


def test_text_that_looks_like_markup_stays_text() -> None:
    blocks: list[Block] = [
        Heading("a < b", 1),
        Paragraph("x & <script>"),
        Bullets((("lead <i>", Code("cmd --x '<y>'")),)),
        Table(("h|1", "h2"), (("a|b", (Badge("fails", "fails"), "<b>")),)),
    ]
    html = to_html(blocks, "t<t")
    page = Page(html)
    assert "<script>" not in html
    assert "<i>" not in html
    assert "x & <script>" in unescape("".join(page.words))
    text = to_markdown(blocks)
    assert "| a\\|b | **fails**<br>&lt;b> |" in text
