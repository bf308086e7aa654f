"""Margins and exact bounds, against numbers with 40 digits, against samples, and by adding up exact probabilities."""

import math

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from dpbandits._statistics import binomial_high, binomial_low, mean_margin
from oracles import beta_distribution

pytestmark = pytest.mark.slow


def test_the_oracle_is_the_beta_distribution() -> None:
    for a, b, x in ((3, 5, 0.2), (3, 5, 0.9), (0.5, 7.5, 0.01), (41, 60, 0.4)):
        assert abs(beta_distribution(a, b, x) / mp.betainc(a, b, 0, x, regularized=True) - 1) < 1e-14


# ---- means


def tail_of_student(size: float, freedom: float) -> float:
    """Return the probability to be above a positive number."""
    return float(beta_distribution(freedom / 2, 0.5, freedom / (freedom + size**2)) / 2)


@pytest.mark.parametrize("runs", [2, 3, 5, 30, 1000, 10**6])
@pytest.mark.parametrize("tail", [0.4, 0.025, 0.005, 0.01 / 16, 1e-6])
def test_the_margin_of_a_mean_is_students(runs: int, tail: float) -> None:
    margin = mean_margin([3.0], [runs], 1 - tail)
    assert tail_of_student(margin / 3.0, runs - 1) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize("level", [0.6, 0.95, 0.975, 0.999])
@pytest.mark.parametrize(("runs", "spread"), [((5, 7), 3.0), ((40, 3), 0.1), ((200, 200), 1.0), ((2, 1000), 10.0)])
def test_the_margin_of_a_difference_is_welchs(runs: tuple[int, int], spread: float, level: float) -> None:
    """Half the interval that SciPy has for the samples themselves."""
    dice = np.random.default_rng(3)
    samples = [dice.normal(0.0, width, size) for width, size in zip((1.0, spread), runs, strict=True)]
    interval = stats.ttest_ind(*samples, equal_var=False).confidence_interval(2 * level - 1)
    errors = [float(np.std(sample, ddof=1)) / math.sqrt(len(sample)) for sample in samples]
    assert mean_margin(errors, runs, level) == pytest.approx((interval.high - interval.low) / 2, rel=1e-12)


def test_a_mean_without_an_error_has_no_margin() -> None:
    assert mean_margin([0.0], [5], 0.975) == 0.0
    assert mean_margin([0.0, 0.0], [5, 9], 0.975) == 0.0
    assert mean_margin([0.0, 2.0], [3, 9], 0.975) == pytest.approx(mean_margin([2.0], [9], 0.975), rel=1e-14)
    assert math.isnan(mean_margin([math.nan], [1], 0.975))  # a single run says nothing of its error


# ---- probabilities


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-3])
def test_bounds_of_one_probability_are_wrong_as_rarely_as_they_say(alpha: float) -> None:
    trials = 40
    counts = np.arange(trials + 1)
    lows = np.array([binomial_low(int(x), trials, alpha) for x in counts])
    highs = np.array([binomial_high(int(x), trials, alpha) for x in counts])
    largest = 0.0
    for p in np.linspace(0.0, 1.0, 201):
        chances = stats.binom.pmf(counts, trials, p)
        assert chances[lows > p].sum() <= alpha + 1e-12
        assert chances[highs < p].sum() <= alpha + 1e-12
        largest = max(largest, float(chances[lows > p].sum()))
    assert largest > alpha / 2  # and not much more rarely


def check_bounds(found: int, trials: int, alpha: float) -> None:
    """At a bound, as many successes or more, or as few or fewer, have just the chance alpha."""
    low, high = binomial_low(found, trials, alpha), binomial_high(found, trials, alpha)
    if found == 0:
        assert low == 0.0
    else:
        assert float(beta_distribution(found, trials - found + 1, low)) == pytest.approx(alpha, rel=1e-5)
    if found == trials:
        assert high == 1.0
    elif 1 - high > 1e-9:  # closer to 1 the floats are too far apart
        assert float(1 - beta_distribution(found + 1, trials - found, high)) == pytest.approx(alpha, rel=1e-5)


@pytest.mark.parametrize("alpha", [0.2, 0.005, 1e-6, 1e-9])
@pytest.mark.parametrize("trials", [7, 1000, 10**6, 10**9])
@pytest.mark.parametrize("part", [0.0, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9, 1.0])
def test_they_are_clopper_and_pearsons(trials: int, part: float, alpha: float) -> None:
    check_bounds(min(max(round(part * trials), part > 0), trials - (part < 1)), trials, alpha)


@pytest.mark.parametrize("found", [1, 10**6, 10**11, 123719163453, 5 * 10**11, 9 * 10**11])
def test_bounds_from_a_trillion_trials(found: int) -> None:
    check_bounds(found, 10**12, 1e-6)


@pytest.mark.parametrize("trials", [10**8, 10**9, 10**12])
@pytest.mark.parametrize("found", [999, 1000, -1001, -1000, -999])
def test_bounds_where_the_inverse_of_scipy_is_wrong(found: int, trials: int) -> None:
    """With a parameter of 1000 it was off by a factor: a lower bound above the share that was seen."""
    found %= trials
    assert binomial_low(found, trials, 0.01) < found / trials < binomial_high(found, trials, 0.01)
    check_bounds(found, trials, 0.01)
