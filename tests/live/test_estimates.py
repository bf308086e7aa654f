"""Intervals from releases alone: right as often as they say, at all releases at once, and not wider than needed."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live import Comparison, Estimate
from dpbandits.live.blocks import schedule_of
from dpbandits.live.estimates import Estimator, Statistic, Weights, best_weights, interval, lower_limit
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Block, Policy
from explore_then_commit import ExploreThenCommit
from interval_coverage import acceptance_region, coverage_matrix, simulated_estimates, simultaneous
from shared_noise import SharedNoise
from ways_of_answering import WAYS

pytestmark = pytest.mark.slow

CUMULATIVE = list(dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=600).blocks(600))
SINGLE = list(Phases(epsilon=0.5).blocks(600))


def blocks_of(policy: Policy, horizon: int) -> list[Block]:
    return list(policy.live(1, 12).blocks(horizon))


@pytest.mark.parametrize("blocks", [CUMULATIVE[:1], CUMULATIVE[:9], SINGLE[:5]], ids=["one", "cumulative", "single"])
def test_weights_are_the_best_unbiased_ones(blocks: list[Block]) -> None:
    """Against a general optimiser, which knows nothing of the structure."""
    weights = best_weights(blocks)
    matrix = coverage_matrix(blocks)
    scales = np.array([block.scale for block in blocks])
    assert np.allclose(weights.of_releases @ matrix, weights.of_rewards, rtol=1e-9)
    assert np.allclose(weights.noises, abs(weights.of_releases) * scales)
    assert weights.sizes @ weights.of_rewards == pytest.approx(1)

    def variance(u: np.ndarray) -> float:
        s = u @ matrix
        return float(weights.sizes @ s**2 / 4 + np.sum(2 * scales**2 * u**2))

    unbiased: Any = {"type": "eq", "fun": lambda u: weights.sizes @ (u @ matrix) - 1}
    start = np.zeros(len(blocks))
    start[-1] = 1 / (weights.sizes @ matrix[-1])
    found = minimize(lambda u: 1e4 * variance(u), start, constraints=unbiased, tol=1e-14, options={"maxiter": 1000})  # type: ignore[call-overload]
    assert variance(weights.of_releases) <= variance(found.x) * (1 + 1e-9)
    assert variance(weights.of_releases) == pytest.approx(variance(found.x), rel=1e-3)


def log_tail_bound(weights: Weights, x: float, mean: float) -> float:
    """Return the smallest ln Pr[M >= x] that the moments give for this mean, by brute force over h."""
    h = np.linspace(0, 1 / weights.noises.max(), 20_002)[1:-1, None]
    exponent = (
        -h[:, 0] * x
        + np.log1p(mean * np.expm1(h * weights.of_rewards)) @ weights.sizes
        - np.log1p(-((h * weights.noises) ** 2)).sum(axis=1)
    )
    return float(exponent.min())


@pytest.mark.parametrize("blocks", [CUMULATIVE[:2], CUMULATIVE[:12], SINGLE[:5]], ids=["few", "cumulative", "single"])
@pytest.mark.parametrize("estimate", [0.1, 0.5, 0.93])
@pytest.mark.parametrize("log_term", [0.5, 5.0, 12.0])
def test_the_limit_is_where_the_tail_bound_is_reached(blocks: list[Block], estimate: float, log_term: float) -> None:
    weights = best_weights(blocks)
    limit = lower_limit(weights, estimate, log_term)
    assert limit <= estimate
    if limit <= 0:
        assert log_tail_bound(weights, estimate, 0.0) >= -log_term * (1 + 1e-6)
    else:
        assert log_tail_bound(weights, estimate, limit) == pytest.approx(-log_term, rel=1e-4)


def test_the_moment_bound_is_above_the_truth() -> None:
    """The probability itself, for a sum of coins and one Laplace noise, never exceeds its bound."""
    block = Block(1, 40, 3.0)
    weights = best_weights([block])
    mean = 0.3
    counts = np.arange(41)
    chances = np.array([math.comb(40, n) * mean**n * (1 - mean) ** (40 - n) for n in counts])
    for x in np.linspace(0.31, 1.2, 30):
        gap = 40 * x - counts
        tails = np.where(gap > 0, np.exp(-np.abs(gap) / 3) / 2, 1 - np.exp(-np.abs(gap) / 3) / 2)
        assert math.log(chances @ tails) <= log_tail_bound(weights, x, mean) + 1e-12


# ---- experiments

EXPERIMENTS = 2000
CASES = {
    "dp-ucb-int": (dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=1000), [0.5, 0.7], 1000),
    "dp-ucb-int, for ever": (dpb.DPUCBInt(epsilon=1.0, delta=1e-6), [0.1, 0.55, 0.95], 3000),
    "one block": (ExploreThenCommit(epsilon=0.5, plays=50), [0.02, 0.5], 100),
    "single blocks": (Phases(epsilon=0.3), [0.05, 0.6], 2000),
}


@pytest.mark.parametrize("blocks", [CUMULATIVE[:12], SINGLE[:5]], ids=["cumulative", "single"])
@pytest.mark.parametrize("mean", [0.03, 0.6])
def test_an_interval_holds_the_mean_if_the_estimate_is_accepted(blocks: list[Block], mean: float) -> None:
    """The acceptance region is computed without the intervals, and says the same."""
    low, high = acceptance_region(blocks, mean, arms=3, gamma=0.05)
    for k in range(1, len(blocks) + 1):
        weights = best_weights(blocks[:k])
        for edge, outwards in ((low[k - 1], -1), (high[k - 1], 1)):
            for step, expected in ((-1e-4, True), (1e-4, False)):
                least, largest = interval(k, float(edge) + outwards * step, weights, 0.05, 3, 0.0)
                assert (least <= mean <= largest) == expected


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_all_means_at_all_releases_at_once(name: str) -> None:
    """At 95%, in at least 95% of 2000 experiments (in truth 99%, so false alarms are rarer than 1e-9); not too wide."""
    policy, means, horizon = CASES[name]
    share, factor = simultaneous(blocks_of(policy, horizon), means, EXPERIMENTS, seed=1)
    assert share >= 0.95
    assert 1 < factor <= 2.5


def test_intervals_of_bandits_at_work_cover_too() -> None:
    """100 bandits with secure noise and adaptive choices, seen after every release; rewards are not on the grid.

    In truth 99% are right, so that seven are wrong with a chance below 1e-4. If 88% were, it would be noticed with 96%.
    """
    means = {"A": 0.3, "B": 0.6}
    covered = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=5.0, delta=0.0, horizon=200), list(means))
        seen = 1
        is_covered = True
        for _ in range(150):
            arm = bandit.select()
            bandit.update(arm, float(rng.beta(2 * means[str(arm)], 2 * (1 - means[str(arm)]))))
            if len(bandit.ledger) > seen:
                seen = len(bandit.ledger)
                found = bandit.estimates()[arm]  # the others were seen before
                is_covered &= found.low <= means[str(arm)] <= found.high
        covered.append(is_covered)
    assert covered.count(False) <= 6


def test_the_coverage_test_has_power() -> None:
    """With noise of twice the scale the same intervals fail."""
    policy, means, horizon = CASES["single blocks"]
    blocks = blocks_of(policy, horizon)
    noisier = [block._replace(scale=2 * block.scale) for block in blocks]
    sums = simulated_estimates(noisier, means[1], EXPERIMENTS, np.random.default_rng(3))
    low, high = acceptance_region(blocks, means[1], 2, gamma=0.05)
    assert np.mean(np.all((low <= sums) & (sums <= high), axis=1)) < 0.95


def test_an_arm_without_a_release_may_have_any_mean() -> None:
    bandit = dpb.Bandit(CASES["one block"][0], ["A", "B"], reward_bounds=(-3, 3))
    estimate = bandit.estimates()["A"]
    assert (estimate.mean, estimate.low, estimate.high, estimate.rewards, estimate.releases) == (None, -3, 3, 0, 0)
    assert str(estimate) == "A: nothing released yet"
    comparison = bandit.compare("A", "B")
    assert (comparison.low, comparison.high, comparison.verdict) == (-6, 6, "undecided")


def test_a_bandit_shows_the_interval_for_its_arms_and_its_grid() -> None:
    """All arms share the error, and rewards may have been rounded by half a step of the grid."""
    policy = dpb.DPUCBInt(epsilon=20.0, delta=0.0, horizon=3000)
    bandit = dpb.Bandit(policy, 4, noise=SharedNoise(3, grid_bits=2))
    WAYS["step"](bandit, lambda n, arm: (n % 5) / 4, 2000)
    live = dpb.DPUCBInt(**bandit.ledger[0].content["live_policy"])
    estimator = Estimator(schedule_of(live, 3000, SecureNoise(grid_bits=2), 24).beginning)
    rows = [row.content for row in bandit.ledger if row.number]
    for estimate in bandit.estimates(0.9).values():
        values = [row["value"] for row in rows if row["arm"] == estimate.arm]
        k, mean, weights = Statistic(estimator, values).summary()
        assert weights is not None
        assert k == estimate.releases == len(values)
        log_term = math.log(2 * 4 * k * (k + 1) / 0.1)
        assert estimate.mean == mean == pytest.approx(float(weights.of_releases @ np.array(values)))
        assert estimate.low == pytest.approx(max(0.0, lower_limit(weights, mean, log_term) - 0.125), rel=1e-12)
        assert estimate.high == pytest.approx(min(1.0, 1 - lower_limit(weights, 1 - mean, log_term) + 0.125), rel=1e-12)
    assert any(e.low > 0 for e in bandit.estimates(0.9).values())
    assert any(e.high < 1 for e in bandit.estimates(0.9).values())


def test_a_clear_difference_is_decided_and_said_in_words() -> None:
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=40.0, delta=0.0, horizon=3000), ["old", "new"], noise=SharedNoise(2))
    WAYS["late"](bandit, lambda n, arm: float(arm == "new"), 3000)
    better, worse = bandit.compare("old", "new"), bandit.compare("new", "old")
    assert (better.verdict, worse.verdict) == ("better", "worse")
    assert (better.low, better.high) == (-worse.high, -worse.low)
    assert str(better).startswith("new is better than old: the difference is between 0.")
    assert bandit.compare("old", "new", confidence=1 - 1e-12).low < better.low
    assert "from" in str(bandit.estimates()["new"])


def alternating(bounds: tuple[float, float], person: int, arm: int) -> float:
    return bounds[person % 2]


def test_numbers_are_shown_with_the_digits_that_tell_them_apart() -> None:
    assert str(Estimate("A", 1e6 + 0.53, 1e6 + 0.5, 1e6 + 0.6, 9, 1)) == (
        "A: 1000000.5300, between 1000000.5000 and 1000000.6000 (from 9 rewards)"
    )
    assert str(Estimate("A", 0.5, 0.0, 1.0, 9, 1)) == "A: 0.500, between 0.000 and 1.000 (from 9 rewards)"
    assert str(Estimate("A", 5123.4, -2000.0, 70000.0, 9, 1)) == "A: 5123, between -2000 and 70000 (from 9 rewards)"
    assert "0.9999999999999999" in str(Comparison("A", "B", -1.0, 1.0, 0.9999999999999999))


def test_estimates_are_in_the_users_units() -> None:
    values = []
    for low, high in ((0.0, 1.0), (100.0, 300.0)):
        policy = dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=3000)
        bandit = dpb.Bandit(policy, 2, reward_bounds=(low, high), noise=SharedNoise(2))
        WAYS["step"](bandit, partial(alternating, (low, high)), 500)
        estimates = bandit.estimates().values()
        values.append([((x or low) - low) / (high - low) for e in estimates for x in (e.mean, e.low, e.high)])
    assert values[0] == pytest.approx(values[1])
