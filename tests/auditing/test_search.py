"""Neighbours are neighbours, and the search finds what tells."""

import random

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.auditing import ViewName
from dpbandits.auditing.actions_view import ActionsView, arms_text
from dpbandits.auditing.broken import BROKEN
from dpbandits.auditing.pairs import Pair, all_pairs, early_time, first_pairs, variation
from dpbandits.auditing.releases_view import ReleasesView
from dpbandits.auditing.search import search
from dpbandits.auditing.trials import Trials
from dpbandits.auditing.views import VIEWS
from dpbandits.engine.loop import play_runs

pytestmark = pytest.mark.slow


def is_neighbouring(pair: Pair) -> bool:
    different = np.flatnonzero(pair.rewards.rewards != pair.neighbours.rewards)
    return (
        different.tolist() == [pair.position - 1]
        and pair.rewards.rewards[different[0]] == 0.0
        and set(pair.neighbours.rewards) <= {0.0, 1.0}
    )


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_all_pairs_are_all_of_them(steps: int) -> None:
    pairs = all_pairs(steps, 2)
    assert len(pairs) == len(set(pairs)) == steps * 2 ** (steps - 1)
    assert all(map(is_neighbouring, pairs))


@pytest.mark.parametrize("steps", [1, 9, 1000])
def test_pairs_of_a_guided_search_are_neighbours(steps: int) -> None:
    dice = random.Random(1)  # noqa: S311
    pairs = first_pairs(steps, 2, 50, dice)
    assert len(pairs) == 50
    assert all(map(is_neighbouring, pairs))
    for _ in range(200):
        pairs.append(variation(dice.choice(pairs), dice))
    assert all(map(is_neighbouring, pairs))
    assert all(len(pair.rewards.rewards) == steps for pair in pairs)
    if steps > 1:
        assert len(set(pairs)) > 100 or steps < 10


def test_early_times_come_more_often_and_late_ones_come() -> None:
    dice = random.Random(2)  # noqa: S311
    times = [early_time(1000, dice) for _ in range(20_000)]
    assert min(times) == 1
    assert max(times) >= 990
    assert np.median(times) < 100


def test_the_search_finds_a_pair_that_tells_by_itself() -> None:
    """UCB on all pairs of five steps: the last reward changes nothing, some others change everything."""
    view = ActionsView(Trials(dpb.UCB(), 2, 5, seed=1), 0.0, 1e-3, planned_trials=1000)
    played: list[int] = []
    hits, explored = search(view, 5, 20_000, 0, 1.0, played.append)
    assert len(explored) >= len(hits)
    assert hits[0].ratio > 3
    assert hits[0].pair.position < 5
    assert 0 < sum(played) <= 21_000


@pytest.mark.parametrize("name", VIEWS)
def test_a_candidate_is_about_what_was_counted(name: ViewName) -> None:
    """The mass and the ratio of the search are those of fresh trials, up to 5 standard errors and the choice."""
    view = VIEWS[name](Trials(dpb.DPUCB(epsilon=2.0), 2, 6, seed=3), 0.0, 1e-3, planned_trials=200_000)
    pair = all_pairs(6, 2)[5]
    view.sample([pair], 100_000, 0)
    for candidate in view.candidates(pair):
        ((hits, neighbour_hits),) = view.count(pair, [candidate], 50_000, 0)
        assert hits / 50_000 == pytest.approx(candidate.mass, abs=5 * (candidate.mass / 25_000) ** 0.5)
        assert np.log(hits / neighbour_hits) == pytest.approx(candidate.ratio, abs=5 * candidate.error)
        assert view.describe(candidate)


@pytest.mark.parametrize("steps", [10, 16, 20])
def test_the_search_does_not_flatter_itself(steps: int) -> None:
    """With hundreds of thousands of rare sequences, what it expects is still about what a test gives: 5 errors."""
    view = ActionsView(Trials(dpb.DPUCB(epsilon=1.0), 2, steps, seed=3), 0.0, 1e-3, planned_trials=100_000)
    pair = first_pairs(steps, 2, 1, random.Random(3))[0]  # noqa: S311
    view.sample([pair], 40_000, 0)
    for candidate in view.candidates(pair):
        ((hits, neighbour_hits),) = view.count(pair, [candidate], 100_000, 0)
        assert np.log(hits / neighbour_hits) > candidate.ratio - 5 * candidate.error


def test_beginnings_of_sequences_are_events_too() -> None:
    """With 20 steps every whole sequence is rare; events of the first ten or fifteen are not."""
    view = ActionsView(
        Trials(dpb.DPUCB(epsilon=1.0, variant="published"), 2, 20, seed=3), 0.0, 1e-3, planned_trials=200_000
    )
    pair = first_pairs(20, 2, 1, random.Random(3))[0]  # noqa: S311
    view.sample([pair], 40_000, 0)
    (best, *_) = view.candidates(pair)
    assert best.event.later in (2**5, 2**10)
    assert view.describe(best).count("and any after") >= 1


def test_releases_that_are_impossible_with_the_neighbours_are_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "dpbandits.engine.cpu.CPUPlayer._loop", lambda player, task, state, noise: play_runs
    )  # in Python
    view = ReleasesView(Trials(BROKEN["shared-noise"].make(1.0, 0.0), 2, 6, seed=3), 0.0, 1e-3, planned_trials=1000)
    pair = next(pair for pair in all_pairs(6, 2) if pair.position == 2)
    view.sample([pair], 400, 0)
    best = max(view.candidates(pair), key=lambda candidate: candidate.promise)
    assert "cannot give" in view.describe(best)
    ((hits, neighbour_hits),) = view.count(pair, [best], 200, 0)
    assert (hits, neighbour_hits) == (200, 0)


def test_long_sequences_are_shortened() -> None:
    assert arms_text([1, 2, 2]) == "1,2,2"
    assert arms_text([1] * 30 + [2] * 10) == "1 x 30, 2 x 10"
    assert arms_text([1, 2] * 20).startswith("... 1 x 1, 2 x 1")
