"""The interval series, the paper's corollaries, and calibration."""

import math
from typing import Any

import numpy as np
import pytest

import oracles
from dpbandits.errors import InvalidInput
from dpbandits.policies import (
    DPUCBInt,
    Series,
    calibrate_interval,
    interval_epsilon,
    interval_events,
    interval_guarantee,
    published_interval_guarantee,
    release_progression,
    release_times,
    squared_loss_bound,
)
from dpbandits.policies.release_intervals import release_sequence, squared_loss_after
from dpbandits.privacy import Budget
from dpbandits.privacy.events import Event, size
from dpbandits.privacy.pld import pld_epsilon

pytestmark = pytest.mark.slow

DELTA = math.exp(-10)
ONE, TENTH = Budget(1.0, DELTA), Budget(0.1, DELTA)


def test_corollary_3_2() -> None:
    assert interval_epsilon(ONE, 1.1) == pytest.approx(0.0039643, rel=1e-5)
    assert interval_epsilon(TENTH, 1.1) == pytest.approx(4.6317e-5, rel=1e-5)


@pytest.mark.parametrize(
    ("budget", "v"), [(ONE, 1.1), (TENTH, 1.1), (Budget(0.5, 1e-9), 1.5), (Budget(3.0, 0.01), 1.3)]
)
def test_corollary_3_2_inverts_corollary_3_1(budget: Budget, v: float) -> None:
    published = published_interval_guarantee(interval_epsilon(budget, v), v, delta=budget.delta)
    assert published.epsilon == pytest.approx(budget.epsilon, rel=1e-9)


FIRST_TERMS = [
    (ONE, "y", [46, 177, 354, 554]),
    (TENTH, "y", [1751, 10814, 24866]),
    (ONE, "x", [124, 324, 545]),
    (ONE, "constant", [253, 506]),
    (TENTH, "constant", [21591, 43182]),
]


@pytest.mark.parametrize(("budget", "series", "terms"), FIRST_TERMS)
def test_first_release_times(budget: Budget, series: Series, terms: list[int]) -> None:
    times = release_times(interval_epsilon(budget, 1.1), 1.1, series, horizon=100_000)
    assert times[: len(terms)].tolist() == terms


@pytest.mark.parametrize("series", ["y", "x"])
@pytest.mark.parametrize("v", [1.01, 1.1, 1.5])
@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1, 0.02])
def test_release_times_against_the_definition(epsilon: float, v: float, series: Series) -> None:
    expected = oracles.release_times_naive(epsilon, v, series, 1500)
    assert release_times(epsilon, v, series, horizon=1500).tolist() == expected


@pytest.mark.parametrize("series", ["y", "x", "constant"])
def test_intervals_are_never_longer_than_one_over_epsilon(series: Series) -> None:
    times = release_times(0.013, 1.1, series, horizon=20_000)
    assert np.all(np.diff(times, prepend=0) <= math.ceil(1 / 0.013))
    assert np.all(np.diff(times) > 0)


def test_what_corollary_3_2_really_spends() -> None:
    for budget, reference in ((ONE, 0.4467), (TENTH, 0.0309)):
        epsilon = interval_epsilon(budget, 1.1)
        found = interval_guarantee(epsilon, 1.1, "y", delta=DELTA, horizon=100_000).epsilon
        assert found == pytest.approx(reference, abs=0.001)
        if budget is ONE:  # the other has only seven releases, too few for the oracle
            losses = [size(event) for event in interval_events(epsilon, 1.1, "y", horizon=100_000)]
            log_mgfs, squares = [oracles.laplace_log_mgf(e) for e in losses], sum(e * e for e in losses)
            assert oracles.true_delta(log_mgfs, squares, found) <= DELTA
            assert oracles.true_delta(log_mgfs, squares, found - 0.001) > DELTA


@pytest.mark.parametrize(("budget", "reference", "first"), [(ONE, 0.01568, 16), (TENTH, 3.18e-4, 350)])
def test_calibration_for_a_horizon(budget: Budget, reference: float, first: int) -> None:
    epsilon = calibrate_interval(budget, 1.1, "y", horizon=100_000)
    assert epsilon == pytest.approx(reference, rel=0.02)
    assert release_times(epsilon, 1.1, "y", horizon=100_000)[0] == first
    assert interval_guarantee(epsilon, 1.1, "y", delta=DELTA, horizon=100_000).within(budget)
    assert not interval_guarantee(epsilon * 1.001, 1.1, "y", delta=DELTA, horizon=100_000).within(budget)


@pytest.mark.parametrize("series", ["y", "x", "constant"])
def test_without_a_horizon(series: Series) -> None:
    """The endless bound covers every finite horizon, and improves on the paper's."""
    epsilon = interval_epsilon(ONE, 1.1)
    endless = interval_guarantee(epsilon, 1.1, series, delta=DELTA)
    assert endless.horizon == math.inf
    assert endless.epsilon < published_interval_guarantee(epsilon, 1.1, series, delta=DELTA).epsilon
    for horizon in (10_000, 300_000):
        assert interval_guarantee(epsilon, 1.1, series, delta=DELTA, horizon=horizon).epsilon < endless.epsilon
    best = calibrate_interval(ONE, 1.1, series)
    assert best > epsilon
    assert interval_guarantee(best, 1.1, series, delta=DELTA).within(ONE)


def test_endless_bound_of_corollary_3_2() -> None:
    """S/2-zCDP with S = Σ W_k^-v: 0.7347, by hand from S = 0.04177 and the conversion of Canonne et al."""
    epsilon = interval_epsilon(ONE, 1.1)
    assert squared_loss_bound(epsilon, 1.1, "y") == pytest.approx(0.04177, abs=1e-4)
    assert interval_guarantee(epsilon, 1.1, "y", delta=DELTA).epsilon == pytest.approx(0.7347, abs=2e-4)


@pytest.mark.parametrize("epsilon", [0.3, 0.004])
def test_endless_bound_leaves_room_for_the_tail(epsilon: float) -> None:
    """From a million on, the y-series spends almost all of ε ζ(v, n): a bound with half the tail would be false."""
    from scipy.special import zeta

    times = release_times(epsilon, 1.1, "y", horizon=1_000_000).astype(float)
    rest = epsilon * float(zeta(1.1, 1_000_001))
    assert squared_loss_bound(epsilon, 1.1, "y") > float(np.sum(times**-1.1)) + 0.7 * rest


def test_guarantees_say_how_far_they_reach() -> None:
    assert interval_guarantee(0.01, delta=1e-6, horizon=1000).horizon == 1000
    assert interval_guarantee(0.01, delta=0, horizon=1000).horizon == 1000
    assert interval_guarantee(0.5, delta=1e-6, horizon=300_000).horizon == 300_000
    assert published_interval_guarantee(0.01, delta=1e-6, horizon=1000).horizon == 1000
    assert interval_guarantee(0.01, delta=1e-6).horizon == math.inf


def test_too_many_releases_to_compose_are_bounded_by_zcdp() -> None:
    long = interval_guarantee(0.5, delta=1e-6, horizon=300_000)
    assert long.theorem.startswith("zero-concentrated")
    assert interval_guarantee(0.5, delta=1e-6, horizon=5_000).epsilon < long.epsilon
    assert long.epsilon < interval_guarantee(0.5, delta=1e-6).epsilon


def test_live_noise_is_calibrated_on_its_grid() -> None:
    """On a coarse grid the discrete noise costs more than the continuous one, and calibration knows."""
    costs = [
        interval_guarantee(0.015688, delta=DELTA, horizon=100_000, grid_bits=bits).epsilon for bits in (0, 12, None)
    ]
    assert costs == pytest.approx([1.009, 0.99914, 0.99914], abs=1e-4)
    continuous = calibrate_interval(TENTH, 1.1, "y", 100_000)
    coarse = interval_guarantee(continuous, 1.1, "y", delta=DELTA, horizon=100_000, grid_bits=0)
    assert coarse.epsilon > 0.1
    fine = interval_guarantee(continuous, 1.1, "y", delta=DELTA, horizon=100_000, grid_bits=12)
    assert fine.epsilon == pytest.approx(0.1, rel=1e-3)
    for grid_bits in (0, 12):
        live = calibrate_interval(TENTH, 1.1, "y", 100_000, grid_bits=grid_bits)
        found = interval_guarantee(live, 1.1, "y", delta=DELTA, horizon=100_000, grid_bits=grid_bits)
        assert found.within(TENTH)


@pytest.mark.parametrize("series", ["y", "x", "constant"])
@pytest.mark.parametrize("horizon", [1, 10, 100, 10_000])
@pytest.mark.parametrize(
    "budget", [Budget(0.001, 1e-6), Budget(0.05, 1e-6), Budget(1.0, 1e-6), Budget(0.1), Budget(1.0)]
)
def test_calibration_of_short_and_tight_schedules(budget: Budget, horizon: int, series: Series) -> None:
    """Often nothing can be released at all, which costs nothing."""
    epsilon = calibrate_interval(budget, 1.1, series, horizon)
    assert 0 < epsilon <= 1
    found = interval_guarantee(epsilon, 1.1, series, delta=budget.delta, horizon=horizon)
    assert found.epsilon <= budget.epsilon
    if epsilon < 0.99:
        more = interval_guarantee(min(1.0, epsilon * 1.001), 1.1, series, delta=budget.delta, horizon=horizon)
        assert more.epsilon > budget.epsilon


def test_memory_is_bounded_by_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert release_times(1e-14, horizon=10).tolist() == []
    assert release_times(1e-309, horizon=10).tolist() == []
    assert release_times(1e-6, 1.1, "constant", horizon=10).tolist() == []
    # An interval longer than the blocks that are searched at a time.
    monkeypatch.setattr("dpbandits.policies.release_intervals._LARGEST_BLOCK", 2**10)
    (first,) = release_times(2e-4, 1.02, "x", horizon=4000)
    assert first == oracles.first_release_naive(2e-4, 0.51, 4000)
    assert first > 2 * 2**10


@pytest.mark.parametrize("epsilon", [1.0, 1e-3, 1e-5, 1e-7, 1e-12])
def test_corollary_3_2_rounds_down(epsilon: float) -> None:
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    budget = Budget(epsilon, 1e-6)
    log_term, zeta8 = -Decimal(budget.delta).ln(), 8 * Decimal("10.584448464950809826")
    exact = (((log_term + 4 * Decimal(epsilon)) / zeta8).sqrt() - (log_term / zeta8).sqrt()) ** 2
    assert Decimal(interval_epsilon(budget, 1.1)) <= exact
    assert interval_epsilon(budget, 1.1) == pytest.approx(float(exact), rel=1e-9)
    assert published_interval_guarantee(interval_epsilon(budget, 1.1), 1.1, delta=1e-6).within(budget)


@pytest.mark.parametrize("series", ["y", "x", "constant"])
@pytest.mark.parametrize("epsilon", [0.3, 0.004, 1e-5])
def test_squared_loss_bound_covers_long_schedules(epsilon: float, series: Series) -> None:
    times = release_times(epsilon, 1.1, series, horizon=1_000_000).astype(float)
    partial = float(np.sum(times**-1.1))
    assert partial < squared_loss_bound(epsilon, 1.1, series) <= max(epsilon * 10.5845, partial)


def test_pure_budgets() -> None:
    pure = Budget(1.0)
    epsilon = calibrate_interval(pure, 1.1, "y", horizon=10_000)
    found = interval_guarantee(epsilon, 1.1, "y", delta=0, horizon=10_000)
    assert (found.delta, found.theorem) == (0.0, "basic composition")
    assert 0.98 < found.epsilon <= 1.0
    with pytest.raises(InvalidInput, match="without a horizon the schedule has no pure bound"):
        calibrate_interval(pure, 1.1, "y")


def test_published_pure_branch_is_only_for_x_and_constant() -> None:
    x = published_interval_guarantee(4.6e-5, 1.1, "x", delta=DELTA, horizon=100_000)
    assert (x.theorem, x.delta) == ("Corollary 3.1 (C)", 0.0)
    assert published_interval_guarantee(4.6e-5, 1.1, "y", delta=DELTA, horizon=100_000).theorem.endswith("(D)")
    with pytest.raises(InvalidInput, match="no pure bound"):
        published_interval_guarantee(0.01, 1.1, "y", delta=0, horizon=1000)
    covered = math.fsum(release_times(4.6e-5, 1.1, "x", horizon=100_000) ** -0.55)
    assert covered <= x.epsilon


def test_generous_budgets_release_every_time() -> None:
    assert calibrate_interval(Budget(1e4, 1e-6), 1.1, "y", horizon=100) == 1.0
    assert interval_epsilon(Budget(1e3, 1e-6)) == 1.0


def test_many_releases_are_composed_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composing is what takes long. What is found is within the budget, and 0.02% more is not."""
    composed = []

    def counted(events: list[Event], delta: float) -> float:
        composed.append(len(events))
        return pld_epsilon(events, delta)

    monkeypatch.setattr("dpbandits.policies.interval_calibration.pld_epsilon", counted)
    budget = Budget(3.0, 1e-6)
    epsilon = calibrate_interval(budget, 1.1, "y", horizon=15_000, grid_bits=12)
    assert min(composed) > 1000
    assert len(composed) <= 12
    assert interval_guarantee(epsilon, 1.1, "y", delta=1e-6, horizon=15_000, grid_bits=12).within(budget)
    more = interval_guarantee(1.0002 * epsilon, 1.1, "y", delta=1e-6, horizon=15_000, grid_bits=12)
    assert not more.within(budget)


@pytest.mark.parametrize("v", [1.0, 1.6, 0, math.nan, "1.1"])
def test_bad_v(v: float) -> None:
    for call in (lambda: interval_epsilon(ONE, v), lambda: release_times(0.1, v, horizon=10)):
        with pytest.raises(InvalidInput, match=r"Expected v=.* in \(1, 1\.5\]\.$"):
            call()


@pytest.mark.parametrize("horizon", [math.nan, -math.inf, -1, 0, 1.5, "x", None, 10**400])
def test_bad_horizon(horizon: float) -> None:
    for call in (
        lambda: interval_guarantee(0.01, delta=1e-6, horizon=horizon),
        lambda: calibrate_interval(ONE, horizon=horizon),
        lambda: published_interval_guarantee(0.01, delta=1e-6, horizon=horizon),
        lambda: release_times(0.01, horizon=horizon),
    ):
        with pytest.raises(InvalidInput, match="Expected horizon="):
            call()


def test_other_bad_input() -> None:
    with pytest.raises(InvalidInput, match=r"Expected epsilon=2 in \(0, 1\]"):
        release_times(2, horizon=10)
    with pytest.raises(InvalidInput, match="Expected series='z' to be one of y, x, constant"):
        release_times(0.1, series="z", horizon=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Expected horizon=0"):
        release_times(0.1, horizon=0)
    with pytest.raises(InvalidInput, match="at most 10000000 releases"):
        release_times(1.0, horizon=1e8)
    with pytest.raises(InvalidInput, match=r"Expected horizon=.* in \[1, 1000000000\]"):
        release_times(1.0, horizon=1e12)
    with pytest.raises(InvalidInput, match=r"Expected delta=0\.0 in \(0, 1\)"):
        interval_epsilon(Budget(1.0))


@pytest.mark.parametrize("series", ["y", "x"])
def test_intervals_grow_to_the_longest_and_stay(series: Series) -> None:
    """The table and its constant step against the definition, evaluated for every interval with exact sums."""
    for epsilon in (0.9, 0.35, 0.0613, 0.02):
        times, step = release_progression(epsilon, 1.2, series, horizon=10**6)
        p = 1.2 if series == "y" else 0.6
        longest = math.ceil(1 / epsilon)
        assert step == longest
        last, n = 0, 0
        expected: list[int] = []
        while len(expected) < len(times) + 20:
            n += 1
            if math.fsum(i**-p for i in range(last + 1, n + 1)) >= 1 / (epsilon * n**p):
                expected.append(n)
                last = n
        assert times.tolist() == expected[: len(times)]
        assert np.diff(expected[len(times) - 1 :]).tolist() == [step] * 20
        assert (np.diff(expected, n=2) >= 0).all()
        assert release_times(epsilon, 1.2, series, horizon=10**4).tolist() == [n for n in expected if n <= 10**4] + [
            *range(expected[-1] + step, 10**4 + 1, step)
        ]


@pytest.mark.parametrize("series", ["y", "x", "constant"])
@pytest.mark.parametrize(("epsilon", "horizon"), [(1.0, 50), (0.3, 10**4), (0.007, 10**5), (0.007, 10), (1e-5, 10**6)])
def test_release_times_one_by_one(series: Series, epsilon: float, horizon: int) -> None:
    times = list(release_sequence(epsilon, 1.1, series, horizon=horizon))
    assert times == release_times(epsilon, 1.1, series, horizon=horizon).tolist()
    assert all(type(n) is int for n in times)


@pytest.mark.parametrize("series", ["y", "x"])
def test_release_times_are_found_as_they_are_asked_for(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a policy are made of them, and the whole table of a thin endless schedule takes seconds."""
    searched, cumsum = [], np.cumsum

    def counted(powers: Any) -> Any:
        searched.append(len(powers))
        return cumsum(powers)

    monkeypatch.setattr(np, "cumsum", counted)
    times = release_sequence(1e-4, 1.1, series, horizon=10**9)
    assert sum(searched) == 0
    first = [next(times) for _ in range(5)]
    assert sum(searched) < 3 * first[-1] + 5 * 10**4
    assert sum(searched) > 0
    blocks = DPUCBInt(epsilon=1.0, delta=1e-6, series=series, density=1e-4).blocks(10**9)
    searched.clear()
    assert next(blocks).last == first[0]
    assert sum(searched) < 3 * first[0] + 10**4


@pytest.mark.parametrize("v", [1.0000001, 1.1, 1.5])
@pytest.mark.parametrize("series", ["y", "x"])
def test_where_the_first_release_is_searched_for(series: Series, v: float) -> None:
    """Up to the count before it there is none, and no search goes on without end."""
    assert list(release_sequence(5e-324, v, series, horizon=10**15)) == []
    for epsilon in (1.0, 0.5, 0.01, 1e-4, 1e-7):
        first = next(release_sequence(epsilon, v, series, horizon=10**9))
        for horizon in range(max(1, first - 2), first + 3):
            times = list(release_sequence(epsilon, v, series, horizon=horizon))
            assert times[:1] == ([first] if first <= horizon else [])


def test_what_is_left_after_a_release_is_exact_where_every_count_is_released() -> None:
    """With ε = 1 the releases are at n = 1, 2, 3, ..., and their squared losses n^-v."""
    from scipy.special import zeta

    assert list(release_sequence(1.0, 1.1, "y", horizon=20)) == list(range(1, 21))
    for last in (0, 1, 2, 7, 1000):
        left = squared_loss_after(last, 1.0, v=1.1)
        assert zeta(1.1, last + 1) <= left <= zeta(1.1, last + 1) * (1 + 1e-8)
