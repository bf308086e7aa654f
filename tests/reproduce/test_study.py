"""A small study that was played: what it finds, what people see of it, and that it is the same after every stop."""

import base64
import re
import signal
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import dpbandits as dpb
from dpbandits import cli
from dpbandits.document import Badge, Block, Bullets, Code, Heading, Paragraph, Table, to_html, to_markdown
from dpbandits.reproduce import CLAIMS, Finding, Settings, Study, Verdict, check_claims, play_panels, write_all
from dpbandits.reproduce.claims.any_horizon import SEEDS, runs_without_horizon
from dpbandits.reproduce.measures import measure_lines
from dpbandits.reproduce.paper_experiments import FORMS, PANELS, TWO_ARMS
from dpbandits.reproduce.reproduction_figures import apart_from_each_other, draw_panel

pytestmark = pytest.mark.slow

Small = tuple[Study, dict[str, Finding], Path]
BY_NAME = {claim.name: claim for claim in CLAIMS}
FLAGS = "--quick --horizon 2000 --runs 5"
PLAYED = Settings(horizon=2000, runs=5, effort=0.05)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """One reproduction, as the command makes it, for all tests that look at what came out."""
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["dpbandits", "reproduce", *FLAGS.split(), "--out", str(folder)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
    study = Study(PLAYED, folder)
    with pytest.MonkeyPatch.context() as patch:  # all of it is there
        patch.setattr("dpbandits.simulation.parts.summarise", None)
        findings = check_claims(study)
    return study, findings, folder


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


def test_every_claim_has_a_finding_with_numbers(small: Small) -> None:
    _, findings, _ = small
    assert findings.keys() == BY_NAME.keys()
    for name, finding in findings.items():
        assert finding.measures, name
        assert finding.reason.endswith((".", ".)")), name
        assert not re.search(r"\b(nan|inf)\b", " ".join(measure_lines(finding.measures))), name
        assert Finding.from_dict(finding.to_dict()) == finding


def test_what_does_not_depend_on_runs_is_decided_even_with_few(small: Small) -> None:
    _, findings, _ = small
    expected = {
        Verdict.HOLDS: ["no-horizon", "no-assumption", "post-processing"],
        Verdict.FAILS: [
            *("definition", "hybrid-private", "theorem-3.1", "theorem-3.3", "noise-below-bonus", "lemma-b2"),
            *("tight-error", "optimal-trade-off", "earlier-results"),
        ],
        Verdict.ONLY_IF: [
            *("side-information", "hybrid-error", "tighter-error", "equal-noise", "theorem-3.2-order"),
            "shorter-intervals",
            *("theorem-3.4", "corollary-3.1", "corollary-3.2", "lemma-3.1", "lemma-b1", "several-rewards"),
            "better-bounds",
        ],
    }
    for verdict, names in expected.items():
        for name in names:
            assert findings[name].verdict is verdict, name


@pytest.mark.parametrize(
    ("name", "verdict", "effort"),
    [("theorem-3.5", "fails", 0.3), ("dp-ucb-private", "fails", 1.0), ("spread-private-ucb", "holds only if", 0.1)],
)
def test_with_the_papers_horizon_and_runs_they_decide(tmp_path: Path, name: str, verdict: str, effort: float) -> None:
    """With as many extra runs as each needs: 3000 of DP-UCB-Int lie above its bound by more than four errors."""
    (finding,) = check_claims(Study(Settings(effort=effort), tmp_path), [BY_NAME[name]]).values()
    assert finding.verdict == verdict
    if name == "theorem-3.5":  # by the runs that are drawn once too, not only by Algorithm 3 as printed
        assert measure_lines(finding.measures)[0] == (
            "drawn once, frozen term, t = 1,000,000 – mean: 3,004 ± 1,381; bound: 385.6"
        )


def test_who_knows_the_horizon() -> None:
    assert runs_without_horizon(dpb.UCB()) == SEEDS
    assert runs_without_horizon(dpb.PrivateUCB(epsilon=1.0)) == 0


def test_panels_share_what_they_share(tmp_path: Path) -> None:
    """UCB does not depend on epsilon, Private-UCB not on the form: 5 + 3 curves for two panels less what is shared."""
    study = Study(Settings(horizon=1000, runs=2), tmp_path)
    play_panels(study)
    curves = 2 * 1 + 4 * 1 + 4 * 3 + 4 * 3  # UCB; Private-UCB; three as published; three as proved
    assert len(list((tmp_path / "parts").iterdir())) == curves
    assert study.parts.pulls == curves * 2 * 1000


# ---- what people see: the page, the Markdown, the figures, the data


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
        for words in (claim.where, claim.says, claim.test, finding.reason, *measure_lines(finding.measures)):
            assert words in page, claim.name
            assert words.replace("|", "\\|") in text, claim.name
        assert f"dpbandits reproduce --claim {claim.name} {FLAGS}" in page
        assert f"`dpbandits reproduce --claim {claim.name} {FLAGS}`" in text
    assert "These are not the paper's settings" in page
    assert "T = 2,000, 5 runs, seed 0" in text


def test_markdown_links_to_pictures_that_exist(small: Small) -> None:
    folder = small[2]
    links = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", (folder / "report.md").read_text("utf-8"))
    assert len(links) == 2 * len(PANELS)
    for link in links:
        is_svg((folder / link).read_bytes())


def test_figures_are_there_in_all_formats(small: Small) -> None:
    folder = small[2]
    for stem in ("figure", "figure-proved"):
        assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{stem}.pdf").read_bytes().startswith(b"%PDF")
        is_svg((folder / f"{stem}.svg").read_bytes())


def test_data_is_tidy_and_complete(small: Small) -> None:
    study, findings, folder = small
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
    claims = pd.read_csv(folder / "claims.csv")
    assert set(claims["claim"]) == set(BY_NAME)
    assert not claims.duplicated(["claim", "measure"]).any()
    assert len(claims) == sum(len(finding.measures) for finding in findings.values())


def test_bounds_are_drawn_into_every_panel_if_asked_for(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, findings, folder = small
    asked = []
    monkeypatch.setattr(
        "dpbandits.reproduce.reproduction_figures.draw_panel", lambda *shown, bounds: asked.append(bounds)
    )
    write_all(study, findings, tmp_path, bounds=True)
    assert asked == [True] * 2 * len(FORMS) * len(PANELS)  # in the figures and in the report
    for path, is_told in ((tmp_path, True), (folder, False)):
        for words in ("Thin: bounds as published", "`dpbandits reproduce --bounds`" if is_told else "--bounds"):
            assert (words in (path / "report.md").read_text("utf-8")) == is_told


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
    assert any("DP-UCB (1)" in label and "proved 2" in label for label in labels)
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
    moved = apart_from_each_other(places, rooms)
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


# ---- stopped at any moment

# The command, hit at a moment that does not hang on anybody's time: killed when a file is half written, or interrupted
# while compiled code is being loaded.
HIT = """
import os, signal, sys, threading
from pathlib import Path
from dpbandits import _writing
from dpbandits.cli import main
from dpbandits.engine.cache import _StampedCache

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have it ignored
moment, folder = sys.argv.pop(), Path(sys.argv[-1])
replace, load = _writing.replace_file, _StampedCache.load_overload

def replace_or_be_killed(path, write):
    def write_half(part):
        write(part)
        os.truncate(part, part.stat().st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)

    is_now = moment == path.name or moment == f"part {len(list(path.parent.iterdir()))}"
    replace(path, write_half if is_now else write)

def load_and_be_interrupted(cache, signature, target):
    if moment == "loading" and list(folder.glob("parts/*.json")):
        assert threading.current_thread() is not threading.main_thread()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    return load(cache, signature, target)

_writing.replace_file, _StampedCache.load_overload = replace_or_be_killed, load_and_be_interrupted
main()
"""


def test_killed_interrupted_and_started_again_gives_the_same_files(small: Small, tmp_path: Path) -> None:
    """In other processes, so that nothing hangs on one of them either. What was computed is not computed again."""
    whole = small[2]
    kept: dict[str, int] = {}
    hits = [("part 12", -signal.SIGKILL), ("loading", 130), ("figure.svg", -signal.SIGKILL), ("never", 0)]
    for moment, status in hits:
        words = ["reproduce", *FLAGS.split(), "--out", str(tmp_path), moment]
        ended = subprocess.run([sys.executable, "-c", HIT, *words], check=False, capture_output=True, text=True)
        assert ended.returncode == status, ended.stderr
        assert ended.stderr.startswith("Playing the four panels.\n")
        assert ended.stderr.endswith("Stopped. The same command goes on from here.\n") == (status == 130)
        parts = {
            path.name: path.stat().st_mtime_ns
            for path in (tmp_path / "parts").iterdir()
            if path.suffix in (".npz", ".json")
        }
        assert kept.items() <= parts.items()
        assert len(kept) < len(parts) or moment == "never"
        kept = parts
        assert (tmp_path / "report.html").exists() == (moment == "never")
        assert (tmp_path / "figure.svg").exists() == (moment == "never")
    assert kept.keys() == {path.name for path in (whole / "parts").iterdir()}
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.parent.name != "parts"]
    assert len(files) == 6 + 5 + 8
    for file in files:
        assert (tmp_path / file).read_bytes() == (whole / file).read_bytes(), file
