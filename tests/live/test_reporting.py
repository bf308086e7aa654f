"""The page, the figure and the tables of a live experiment: what they say in every situation."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pytest

import dpbandits as dpb
from blocking import uninstall
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.persistence import journal_overview
from dpbandits.live.reporting.findings import Findings, short_names, shortened_name
from dpbandits.live.reporting.release_history import spent_over_releases
from shared_noise import SharedNoise
from shown_to_owner import drawn_in, page_of

pytestmark = pytest.mark.slow

STRONG = dpb.NoiseAwareIMED(epsilon=5.0)


def bandit_of(policy: Any = STRONG, arms: Any = ("control", "drug A", "drug B"), **options: Any) -> dpb.Bandit:
    return dpb.Bandit(policy, arms, noise=SharedNoise(1), **options)


def play(bandit: dpb.Bandit, means: list[float], people: int) -> dpb.Bandit:
    """Play with rewards that are the highest one as often as the means say, and else the lowest."""
    low, high = bandit.ledger[0].content["reward_bounds"]
    numbers = {arm: number for number, arm in enumerate(bandit.arms)}
    for person in range(people):
        assignment = bandit.assign(unit=person)
        share = (person * 0.618034) % 1.0
        bandit.close(assignment, high if share < means[numbers[assignment.arm]] else low)
    return bandit


class Tags(HTMLParser):
    """The tags of a page, its text and its pictures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.pictures: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        source = dict(attrs).get("src")
        if tag == "img" and source is not None:
            self.pictures.append(base64.b64decode(source.removeprefix("data:image/svg+xml;base64,")).decode())

    def handle_data(self, data: str) -> None:
        self.text += data


def read(bandit: dpb.Bandit, folder: Path) -> Tags:
    page = page_of(bandit, folder)
    found = Tags(page)
    assert "script" not in found.tags
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)  # it needs nothing else
    for picture in found.pictures:
        expat.ParserCreate().Parse(picture, True)
    return found


def test_a_decided_experiment(tmp_path: Path) -> None:
    bandit = play(bandit_of(), [0.1, 0.2, 0.95], 2500)
    found = read(bandit, tmp_path)
    assert "noise-aware-imed: 2,500 assignments to 3 arms, " in found.text
    assert "drug B is the best arm, with 95% confidence." in found.text
    assert "Against drug A: better by " in found.text
    assert str(bandit.guarantee) in found.text
    assert f"Spent: {bandit.spent()}, which is 100%." in found.text
    number, digest = bandit.ledger.head
    assert f"dpbandits ledger verify trial.jsonl --head {number}:{digest}" in found.text
    assert f"The last 10 of {number}; the ledger has all." in found.text
    assert len(found.pictures) == 3
    estimate = bandit.estimates()["drug B"]
    assert f"{estimate.low:.3f} to {estimate.high:.3f}" in found.text


def test_an_undecided_experiment(tmp_path: Path) -> None:
    text = read(play(bandit_of(), [0.5, 0.5, 0.5], 200), tmp_path).text
    assert "Which arm is the best is undecided, at 95% confidence." in text
    assert "may still be better." in text
    assert "More will be released as answers come in. A block of assignments waits for its last answer" in text


def test_what_is_not_protected_depends_on_timing(tmp_path: Path) -> None:
    text = read(bandit_of(), tmp_path).text
    assert 'with a window and timing="sealed" it would not.' in text
    text = read(bandit_of(window=3600), tmp_path).text
    assert "that somebody took part, and when an answer comes." in text
    assert 'the time of a release tells something; with timing="sealed" it would not.' in text
    assert "More will be released as answers come in." in text
    text = read(bandit_of(window=3600, timing="sealed"), tmp_path).text
    assert "Protected as well: whether and when somebody answered, like the answer itself" in text
    assert "released by the clock alone, 1 hour after its last one at the earliest." in text
    assert "Not protected: that somebody took part." in text
    assert "More will be released as windows close." in text
    assert "waits for its last answer" not in text


def test_what_was_fixed_at_the_start_and_shows_in_the_numbers_is_said(tmp_path: Path) -> None:
    assert "fixed at the start:" not in read(bandit_of(), tmp_path).text
    text = read(bandit_of(window=3600, shares={"control": 0.125, "drug B": 1 / 3}), tmp_path).text
    assert "Answers are taken for 1 hour." in text
    assert "The least shares of decisions that enter, fixed at the start: control 12.5%, drug B 33.33%." in text


def test_an_empty_experiment(tmp_path: Path) -> None:
    bandit = bandit_of()
    text = read(bandit, tmp_path).text
    assert "0 assignments to 3 arms, 0 releases so far." in text
    assert "Nothing has been released yet, so nothing can be said about the arms." in text
    assert "None yet. The ledger has its first row, what was fixed at the start." in text
    assert "against the others" not in text
    assert bandit.to_pandas()["mean"].isna().all()
    assert bandit.ledger.to_pandas().empty
    assert drawn_in(bandit.plot())


def test_an_exhausted_experiment_in_the_users_units(tmp_path: Path) -> None:
    bandit = bandit_of(dpb.DPUCBInt(epsilon=3.0, delta=0.0, horizon=200), ["A", "B"], reward_bounds=(1, 5))
    found = read(play(bandit, [0.2, 0.9], 250), tmp_path)
    assert bandit.exhausted
    assert "It is exhausted: there will be no more releases." in found.text
    assert "Estimates are mean rewards, between 1 and 5, " in found.text
    assert "A missing answer counts as 1." in found.text
    assert re.findall(r">([0-9.]+)</text>", found.pictures[1]) == ["1", "2", "3", "4", "5"]
    assert bandit.to_pandas()["high"].max() <= 5


def test_several_rewards_of_one_person_and_a_delta(tmp_path: Path) -> None:
    policy = dpb.DPUCBInt(epsilon=2.0, delta=1e-6, horizon=1000)
    text = read(play(bandit_of(policy, contributions=2), [0.2, 0.3, 0.9], 300), tmp_path).text
    assert "whatever the answers of one person, up to 2 of them, may have been" in text
    assert "(but for a chance of " in text
    assert re.search(r"Spent: about [0-9.]+ of [0-9.]+ spent, at delta [0-9.e-]+, which is about \d+%\.", text)
    assert "is no guarantee of its own" in text
    assert "Several rewards of one person are not independent" in text


def test_a_promise_that_is_worth_little_is_called_so(tmp_path: Path) -> None:
    text = read(bandit_of(dpb.NoiseAwareIMED(epsilon=900.0)), tmp_path).text
    assert "change by a factor of at most e^900 with one answer. That is a weak promise." in text


def test_a_factor_is_judged_by_its_size(tmp_path: Path) -> None:
    strong = read(bandit_of(dpb.NoiseAwareIMED(epsilon=1.0)), tmp_path).text
    assert "would have been about as likely had it been different, up to a factor of 2.72. " in strong
    assert "about 3 is usual. More than 20 is weak." in strong
    weak = read(bandit_of(dpb.NoiseAwareIMED(epsilon=6.0)), tmp_path).text
    assert "would have been as likely had it been different, up to a factor of 403. " in weak
    assert "about 3 is usual. This is a weak promise." in weak


def test_sixty_arms(tmp_path: Path) -> None:
    arms = [f"headline number {number} of the spring campaign" for number in range(60)]
    bandit = play(bandit_of(arms=arms), [number / 60 for number in range(60)], 2000)
    found = read(bandit, tmp_path)
    assert all(name in found.text for name in arms)
    assert len(set(re.findall(r"headline num…\d+…", found.pictures[0]))) == 60  # they can be told apart
    assert "Of the other 51 arms, " in found.text
    labels = [label.get_text() for label in bandit.plot().axes[1].get_yticklabels()]
    assert len(set(labels)) == 30


def test_more_arms_than_fit_a_page(tmp_path: Path) -> None:
    text = read(bandit_of(arms=250), tmp_path).text
    assert "These have the best estimates so far. There are 150 more arms." in text


def test_names_that_are_no_words(tmp_path: Path) -> None:
    arms = ["<script>alert(1)</script>", "x" * 200, "\x1b[31m\x00\u202e", "\ud800 $a_b$", "_", "</text>&amp;"]
    bandit = play(bandit_of(arms=arms), [0.5] * 6, 150)
    found = read(bandit, tmp_path)
    assert "<script>alert(1)</script>" in found.text
    assert "\x1b" not in found.text
    assert "\u202e" not in found.text
    assert "x" * 200 in found.text
    labels = [label.get_text() for label in bandit.plot().axes[0].get_yticklabels()]
    assert labels[3:5] == ["\N{REPLACEMENT CHARACTER} \\$a_b\\$", " _"]
    bandit.plot().savefig(tmp_path / "plot.svg")


def test_a_page_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = play(bandit_of(), [0.2, 0.5, 0.8], 100)
    page = page_of(bandit, tmp_path)
    uninstall(monkeypatch, "matplotlib", "pandas")
    assert page_of(bandit, tmp_path) == page


def test_tables_say_what_the_bandit_says() -> None:
    bandit = play(bandit_of(), [0.2, 0.5, 0.8], 100)
    table = bandit.to_pandas(confidence=0.9)
    assert list(table.columns) == ["assigned", "mean", "low", "high", "rewards", "releases"]
    assert table["assigned"].sum() == 100
    for arm, estimate in bandit.estimates(0.9).items():
        row = table.loc[str(arm)]
        assert tuple(row[1:]) == (estimate.mean, estimate.low, estimate.high, estimate.rewards, estimate.releases)
    rows = bandit.ledger.to_pandas()
    assert list(rows.index) == list(range(1, len(bandit.ledger)))
    assert rows.index.name == "row"
    assert rows["value"].tolist() == [row.content["value"] for row in list(bandit.ledger)[1:]]
    with pytest.raises(dpb.InvalidInput, match=r"Expected confidence=1 in \(0, 1\)."):
        bandit.to_pandas(confidence=1)


def overview_of(bandit: dpb.Bandit, path: Path) -> Overview:
    """Return what may be shown of the bandit with this journal."""
    overview = journal_overview(AcknowledgedRecords(path), None)
    assert overview.ledger.head == bandit.ledger.head
    return overview


def test_the_figure_ends_where_the_bandit_is(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    policy = dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=1000)
    bandit = play(bandit_of(policy, journal=path), [0.2, 0.5, 0.8], 400)
    allocation, estimates, budget = bandit.plot().axes
    assert [patch.get_width() for patch in allocation.patches] == bandit.to_pandas()["assigned"].tolist()  # type: ignore[attr-defined]
    assert [line.get_ydata()[-1] for line in estimates.lines] == bandit.to_pandas()["mean"].tolist()  # type: ignore[index]
    assert budget.lines[0].get_ydata()[-1] == bandit.spent().epsilon  # type: ignore[index]
    spent = spent_over_releases(overview_of(bandit, path))
    assert [epsilon for _, epsilon in spent] == sorted(epsilon for _, epsilon in spent)
    assert len(spent) <= 41 < len(bandit.ledger)


def test_short_names() -> None:
    assert short_names(["A", "B"], 10) == ["A", "B"]
    assert short_names(["same" * 10] * 2, 9) == ["sames…ame"] * 2
    assert shortened_name("abcdefghij", 7) == "abcd…ij"
    assert len(set(short_names([f"{'x' * 50}{number}{'y' * 50}" for number in range(99)], 12))) == 99


def test_what_follows_from_the_intervals(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    found = Findings(overview_of(play(bandit_of(journal=path), [0.1, 0.2, 0.95], 2500), path))
    assert found.contenders == (found.leader,) == (2,)
    assert [found.standing(number) for number in range(3)] == ["not the best", "not the best", "the best"]
    assert found.comparison(0).verdict == "better"
    assert found.ranking[0] == 2
