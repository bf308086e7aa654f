"""d_ε and the two inverses against brute force, from edge to edge."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.typing import NDArray

from dpbandits.theory import bernoulli_kl, private_divergence
from dpbandits.theory.divergences import bernoulli_kl_inverse, private_divergence_inverse
from oracles import largest_mean, private_divergence_by_search

pytestmark = pytest.mark.slow

MEANS = (0.0, 1e-6, 0.01, 0.2, 0.5, 0.6, 0.97, 1 - 1e-6, 1.0)
EPSILONS = (1e-6, 1e-3, 0.1, 0.7, 3.0, 20.0, 36.8, 40.0, 700.0)
LEVELS = (1e-12, 1e-9, 1e-5, 0.01, 0.3, 1.0, 4.0, 36.0, 45.0, 800.0, 1e5, 1e300)
Array = NDArray[np.float64]
chances = st.floats(0, 1)


def by_maximisation(x: float, y: float, epsilon: float) -> float:
    """The dual: sup over |l| <= ε of l x - ln(1 - y + y e^l), on a grid that is made finer where it is largest."""

    def value(slope: Array) -> Array:
        return np.asarray(slope * x - np.logaddexp(math.log1p(-y), math.log(y) + slope))

    low, high = -epsilon, epsilon
    for _ in range(12):
        grid = np.linspace(low, high, 201)
        best = int(np.argmax(value(grid)))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 200)])
    return float(np.max(value(grid)))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_private_divergence_is_the_infimum_and_the_supremum(epsilon: float) -> None:
    for x in MEANS:
        for y in MEANS:
            if y in (0.0, 1.0):  # then z can be nothing but y, unless x is as certain
                assert private_divergence(x, y, epsilon) == pytest.approx(epsilon * abs(x - y), rel=1e-12)
                continue
            divergence = private_divergence(x, y, epsilon)
            # As many digits as in 1e-9 of a divergence; 1 - y has 16, which is all there is of a y close to 0.
            assert divergence == pytest.approx(
                private_divergence_by_search(x, y, epsilon, thirds=200), abs=1e-9, rel=1e-9
            )
            assert divergence == pytest.approx(by_maximisation(x, y, epsilon), abs=1e-9, rel=1e-9)


@given(x=chances, y=st.floats(1e-6, 1 - 1e-6), epsilon=st.floats(-6, 2).map(lambda power: 10.0**power))
def test_private_divergence_is_below_both_and_has_their_shape(x: float, y: float, epsilon: float) -> None:
    """At most kl and at most ε |x - y|, growing with ε, and the same for failures as for successes."""
    divergence = private_divergence(x, y, epsilon)
    assert 0 <= divergence <= min(bernoulli_kl(x, y), epsilon * abs(x - y)) + 1e-12
    assert divergence <= private_divergence(x, y, 2 * epsilon) + 1e-12 <= 2 * divergence + 2e-12
    assert private_divergence(1 - x, 1 - y, epsilon) == pytest.approx(divergence, abs=1e-9)
    assert private_divergence(x, y, math.inf) == pytest.approx(bernoulli_kl(x, y), rel=1e-6)


@pytest.mark.parametrize("y", [1e-9, 1e-12, 1e-200])
def test_a_mean_close_to_zero_is_told_from_zero(y: float) -> None:
    """d_ε(x, y) for y < x is as exact as from the other side, though 1 - y is nearly 1: against fifty digits."""
    for x in (0.01, 0.5, 1.0):
        for epsilon in (1.0, 36.0, 800.0, math.inf):
            assert private_divergence(x, y, epsilon) == pytest.approx(fifty_digits(x, y, epsilon), rel=1e-9)
    assert private_divergence(0.5, y, math.inf) == bernoulli_kl(0.5, y)


def fifty_digits(x: float, y: float, epsilon: float) -> float:
    """d_ε(x, y) for 0 < y < x: the largest l with slope x is that of kl, if it is at most ε."""
    with mp.workdps(50):
        p, q = mp.mpf(x), mp.mpf(y)
        free = mp.log(p * (1 - q) / (q * (1 - p))) if x < 1 else mp.inf
        if epsilon < free:
            return float(epsilon * p - mp.log(1 - q + q * mp.exp(epsilon)))
        return float(p * mp.log(p / q) + ((1 - p) * mp.log((1 - p) / (1 - q)) if x < 1 else 0))


# ---- inverses


def kl_inverse_by_bisection(x: float, level: float) -> float:
    """The largest y with kl(x, y) <= level: with fifty digits, and y is searched by its distance from x."""
    with mp.workdps(50):
        exact, rest = mp.mpf(x), 1 - mp.mpf(x)

        def divergence(y: mp.mpf) -> mp.mpf:
            return (exact * mp.log(exact / y) if x > 0 else 0) + (rest * mp.log(rest / (1 - y)) if x < 1 else 0)

        low, high = exact, mp.mpf(1)
        while high - low > 1e-20:
            middle = (low + high) / 2
            low, high = (middle, high) if divergence(middle) <= level else (low, middle)
        return float(low)


@pytest.mark.parametrize("x", [*MEANS, 1e-300, 1 - 1e-15])
def test_the_inverse_of_kl_is_that_of_bisection(x: float) -> None:
    for level in LEVELS:
        assert bernoulli_kl_inverse(x, level) == pytest.approx(kl_inverse_by_bisection(x, level), abs=1e-9)
    assert bernoulli_kl_inverse(x, 0.0) == bernoulli_kl_inverse(x, -1.0) == x


@pytest.mark.parametrize("level", [1e-15, 1e-16, 4e-17, 1e-20, 1e-300])
def test_the_inverse_of_kl_for_tiny_levels(level: float) -> None:
    """ln t / n is 4e-17 at the longest horizon; kl of two means so close is nothing but rounding."""
    for x in (0.0, 1e-300, 1e-12, 0.01, 0.3, 0.9, 0.999, 1.0):
        inverse = bernoulli_kl_inverse(x, level)
        assert x <= inverse <= 1
        assert inverse == pytest.approx(kl_inverse_by_bisection(x, level), abs=1e-9)


@given(x=chances, level=st.floats(-12, 3).map(lambda power: 10.0**power))
def test_the_inverse_of_kl_is_the_last_mean_within_the_level(x: float, level: float) -> None:
    inverse = bernoulli_kl_inverse(x, level)
    assert x <= inverse <= 1
    assert bernoulli_kl(x, inverse - 1e-9 * (inverse - x)) <= level * (1 + 1e-6) + 1e-15
    further = inverse + 1e-6 * (1 - inverse) + 4e-16  # near 1 floats are no finer
    assert further >= 1 or bernoulli_kl(x, further) > level * (1 - 1e-6) - 1e-15


def inverse_by_lines(x: float, level: float, epsilon: float) -> float:
    """The largest y with d_ε(x, y) <= level, by the dual: every slope 0 < l <= ε alone says

    -l x - ln(1 - y + y e^-l) <= level,  y <= (1 - e^-(level + l x)) / (1 - e^-l),

    and the tightest of them is searched on a grid of logarithms that is made finer where y is least.
    """

    def largest(powers: Array) -> Array:
        slopes = 10.0**powers
        return np.asarray(np.expm1(-level - slopes * x) / np.expm1(-slopes))

    low, high = -14.0, math.log10(epsilon)
    for _ in range(12):
        grid = np.linspace(low, high, 201)
        best = int(np.argmin(largest(grid)))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 200)])
    return min(float(np.min(largest(grid))), 1.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_inverse_of_private_divergence_is_where_the_dual_says(epsilon: float) -> None:
    for x in MEANS:
        for level in LEVELS:
            inverse = private_divergence_inverse(x, level, epsilon)
            assert inverse == pytest.approx(inverse_by_lines(x, level, epsilon), abs=1e-9)
        assert private_divergence_inverse(x, 0.0, epsilon) == private_divergence_inverse(x, -1.0, epsilon) == x


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_the_inverse_of_private_divergence_is_where_the_definition_says(epsilon: float) -> None:
    """Bisection on the minimisation over z: independent of the dual, and slower."""
    for x in (0.0, 0.1, 0.5, 0.9):
        for level in (1e-4, 0.02, 0.4):
            searched = largest_mean(lambda y, x=x: private_divergence_by_search(x, y, epsilon), x, level)  # type: ignore[misc]
            # The slope of d_ε is at least about 1e-2 here, so that rounding moves its inverse by 1e-13.
            assert private_divergence_inverse(x, level, epsilon) == pytest.approx(searched, abs=1e-9)


@pytest.mark.parametrize("x", MEANS)
def test_the_inverse_without_privacy_is_that_of_kl(x: float) -> None:
    for level in LEVELS:
        expected = bernoulli_kl_inverse(x, level)
        assert private_divergence_inverse(x, level, math.inf) == expected
        for epsilon in (800.0, 1e6, 1e300):  # where e^-ε is nothing
            assert private_divergence_inverse(x, level, epsilon) == pytest.approx(expected, abs=1e-9)


@given(
    x=chances,
    level=st.floats(-9, 3).map(lambda power: 10.0**power),
    epsilon=st.floats(-6, 2).map(lambda power: 10.0**power),
)
def test_the_inverse_of_private_divergence_comes_back(x: float, level: float, epsilon: float) -> None:
    inverse = private_divergence_inverse(x, level, epsilon)
    assert x <= inverse <= 1
    assert inverse == 1 or private_divergence(x, inverse, epsilon) == pytest.approx(level, rel=1e-6, abs=1e-12)
    assert private_divergence(x, x + (inverse - x) * (1 - 1e-9), epsilon) <= level * (1 + 1e-9) + 1e-12
