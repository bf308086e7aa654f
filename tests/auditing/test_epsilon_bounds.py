"""The bound on epsilon, checked by adding up exact probabilities, and the ranking of events."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpbandits.auditing.epsilon_bounds import epsilon_bound, log_ratio, promises


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.1, 0.0), (2.0, 0.0), (0.7, 0.05)])
def test_the_bound_on_epsilon_is_wrong_as_rarely_as_it_says(epsilon: float, delta: float) -> None:
    """All pairs of counts of 60 trials each, with probabilities that meet Pr = e^ε Pr' + δ exactly."""
    trials, alpha = 60, 0.1
    counts = np.arange(trials + 1)
    bounds = np.array([[epsilon_bound(int(x), int(y), trials, delta, alpha) for y in counts] for x in counts])
    for q in np.linspace(0.01, (1 - delta) * math.exp(-epsilon), 25):
        p = math.exp(epsilon) * q + delta
        chances = np.outer(binom.pmf(counts, trials, min(p, 1.0)), binom.pmf(counts, trials, q))
        assert chances[bounds > epsilon].sum() <= alpha
        assert (bounds >= 0).all()


def test_a_bound_comes_close_with_many_trials() -> None:
    half, rarer = 500_000, round(1e6 * 0.5 / math.e)
    assert 0.99 < epsilon_bound(half, rarer, 1_000_000, 0.0, 0.05) < 1.0
    assert epsilon_bound(half, 0, 1_000_000, 0.0, 0.05) > 10
    assert epsilon_bound(rarer, half, 1_000_000, 0.0, 0.05) == 0.0
    assert epsilon_bound(1000, 0, 1_000_000, 0.01, 0.05) == 0.0  # delta allows it


def test_estimates() -> None:
    assert log_ratio(50, 25, 100) == pytest.approx(math.log(2))
    assert log_ratio(50, 0, 100) == math.inf
    assert log_ratio(50, 25, 100, delta=0.25) == pytest.approx(0.0)
    assert log_ratio(1, 25, 100, delta=0.25) == -math.inf


def test_ranking_prefers_what_a_test_can_show() -> None:
    """A rare event with a larger ratio, and one that is likelier: the test's size decides."""
    hits, neighbour_hits = np.array([30, 5000]), np.array([5, 2000])
    few = promises(hits, neighbour_hits, 10_000, 10_000, 0.0)
    assert np.argmax(few) == 1
    hits, neighbour_hits = hits * 1000, neighbour_hits * 1000
    many = promises(hits, neighbour_hits, 10_000_000, 10_000_000, 0.0)
    assert np.argmax(many) == 0
    assert (promises(hits, neighbour_hits, 10_000_000, 10_000_000, 0.9) == -1).all()


def test_ranking_goes_by_significance_where_nothing_can_be_shown_yet() -> None:
    """A small difference against the event that always happens."""
    hits, neighbour_hits = np.array([520, 1000, 500, 480]), np.array([500, 1000, 500, 500])
    promised = promises(hits, neighbour_hits, 1000, 100_000, 0.0)
    assert np.argmax(promised) == 0
    assert (promised < 0).all()
    assert promised[1:].tolist() == [-1, -1, -1]
