"""The noise-aware plausibility against its definition: brute force over every z and every w."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dpbandits.mechanisms import LAPLACE
from dpbandits.mechanisms.state import allocate
from dpbandits.policies.phases import Phases, Tally
from dpbandits.policies.plausibility import exponent, largest_plausible_mean, learn
from dpbandits.policies.plausibility_by_phase import PhaseSums, PlausibilityByPhase, cost, root_of_slope
from dpbandits.theory import bernoulli_kl, private_divergence
from oracles import phase_cost

pytestmark = pytest.mark.slow

EDGE = 1e-9  # how close to 0 and 1 estimates come


class Arm:
    """One arm whose phases had these sizes and released these values."""

    def __init__(self, epsilon: float, sizes: list[int], values: list[float]) -> None:
        self.epsilon, self.sizes, self.values = epsilon, np.array(sizes, dtype=float), np.array(values)
        axes = {"arms": 1, "phases": len(sizes)}
        self.plausibility = PlausibilityByPhase(epsilon, -math.expm1(-epsilon))
        self.phases = Phases(np.cumsum(sizes), self.sizes, 1 / epsilon, LAPLACE)
        self.tally: Any = allocate(Tally, axes, float)
        self.kept: Any = allocate(PhaseSums, axes, float)
        for size, value in zip(sizes, values, strict=True):
            self.tally.done[0] += 1
            self.tally.counts[0] += size
            learn(self.plausibility, self.kept, self.phases, self.tally, 0, value)

    @property
    def mean(self) -> float:
        return float(self.kept.means[0])

    def cost(self, z: float) -> float:
        return float(cost(self.plausibility, self.kept, self.phases, self.tally, 0, z))

    def exponent(self, mean: float) -> float:
        return float(exponent(self.plausibility, self.kept, self.phases, self.tally, 0, mean))

    def largest_plausible_mean(self, level: float) -> float:
        return float(largest_plausible_mean(self.plausibility, self.kept, self.phases, self.tally, 0, level))

    def brute_cost(self, z: float) -> float:
        return phase_cost(self.epsilon, self.sizes, self.values, z)


def random_arm(dice: np.random.Generator) -> Arm:
    """Return an arm with up to seven phases, some of them with noise far larger than the sum."""
    epsilon = 10.0 ** dice.uniform(-2, 1.5)
    sizes = np.ceil(10.0 ** dice.uniform(0, 3, size=dice.integers(1, 8))).astype(int)
    mean = dice.choice([0.0, 0.01, 0.3, 0.5, 0.9, 1.0])
    values = dice.binomial(sizes, mean) + dice.laplace(0, 1 / epsilon, size=len(sizes))
    return Arm(epsilon, sizes.tolist(), values.tolist())


ARMS = [random_arm(np.random.default_rng(seed)) for seed in range(50)]


def test_the_random_arms_have_phases_of_every_kind() -> None:
    """Below 0, above 1 and between: the tests below look at all of them."""
    shares = np.concatenate([arm.values / arm.sizes for arm in ARMS])
    assert np.sum(shares < 0) > 20
    assert np.sum(shares > 1) > 20
    assert np.sum((shares > 0) & (shares < 1)) > 100


def test_the_cost_is_its_definition() -> None:
    for arm in ARMS:
        for z in (1e-4, 0.1, 0.37, 0.5, 0.8, 0.999):
            assert arm.cost(z) == pytest.approx(arm.brute_cost(z), rel=1e-9, abs=1e-9 * arm.sizes.sum())
        for z in (EDGE, 1 - EDGE):  # 1 - z has seven digits
            assert arm.cost(z) == pytest.approx(arm.brute_cost(z), abs=1e-7 * arm.sizes.sum())


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 5.0, 40.0, 800.0])
@pytest.mark.parametrize("x", [-1000.0, -1e-9, 0.0, 1e-12, 0.2, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1000.0])
def test_the_cost_of_one_phase_at_the_edges(x: float, epsilon: float) -> None:
    """Sums at and around 0 and 1, and far outside, with the smallest and the largest epsilon."""
    arm = Arm(epsilon, [16], [16 * x])
    for z in (1e-6, 0.2, 0.5, 0.9, 1 - 1e-6):
        assert arm.cost(z) == pytest.approx(arm.brute_cost(z), rel=1e-9, abs=1e-8)
        inside = min(max(x, 0.0), 1.0)
        expected = 16 * (private_divergence(inside, z, epsilon) + epsilon * abs(x - inside))
        assert arm.cost(z) == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_the_estimate_makes_the_cost_least() -> None:
    """Against scipy on the definition: nowhere is the cost lower, and the two agree on where that is."""
    for arm in ARMS:
        found = minimize_scalar(arm.brute_cost, bounds=(EDGE, 1 - EDGE), method="bounded", options={"xatol": 1e-10})
        assert EDGE <= arm.mean <= 1 - EDGE
        least = float(found["fun"])
        assert arm.kept.least[0] == arm.cost(arm.mean)
        assert arm.cost(arm.mean) <= least + 1e-6
        # Within 1e-6 where a step of 1e-6 changes the cost by more than it is computed with, and exactly by its slope.
        steps = arm.mean + np.array([-1e-6, 1e-6]) * min(arm.mean, 1 - arm.mean)
        for z in np.clip(steps, EDGE, 1 - EDGE):
            assert arm.brute_cost(float(z)) >= arm.brute_cost(arm.mean) - 1e-12 * arm.sizes.sum()
        if arm.epsilon > 0.5:
            assert arm.mean == pytest.approx(float(found["x"]), abs=1e-6)


def test_the_estimate_does_not_depend_on_where_the_search_begins() -> None:
    for arm in ARMS:
        for start in (-5.0, 0.0, 1e-9, 0.3, 0.99, 1.0, 7.0):
            root = root_of_slope(arm.plausibility, arm.kept, arm.phases, arm.tally, 0, start)
            assert root == pytest.approx(arm.mean, abs=2e-9)


def test_the_exponent_is_the_rise_of_the_cost() -> None:
    for arm in ARMS:
        assert arm.exponent(arm.mean) == arm.exponent(0.5 * arm.mean) == 0
        means = arm.mean + (1 - arm.mean) * np.array([1e-6, 0.01, 0.1, 0.4, 0.8, 0.99])
        exponents = [arm.exponent(float(y)) for y in means]
        for y, value in zip(means, exponents, strict=True):
            rise = arm.brute_cost(float(y)) - arm.brute_cost(arm.mean)
            assert value == pytest.approx(rise, rel=1e-6, abs=1e-9 * arm.sizes.sum())
        assert np.all(np.diff(exponents) >= -1e-12)


@pytest.mark.parametrize("level", [1e-4, 0.1, 1.0, 5.0, 11.5, 50.0])
def test_plausible_inverts_the_exponent(level: float) -> None:
    inverted = 0
    for arm in ARMS:
        mean = arm.largest_plausible_mean(level)
        assert arm.mean <= mean <= 1 - EDGE
        if mean == 1 - EDGE:  # every mean is plausible
            assert arm.exponent(mean) <= level
            continue
        assert arm.exponent(mean) == pytest.approx(level, abs=2e-6)
        inverted += 1
    assert inverted > 15


def test_one_phase_says_what_the_published_index_says() -> None:
    """A single sum between 0 and 1: the estimate is the mean, the exponent n d_ε."""
    for epsilon in (0.05, 0.7, 6.0):
        for x in (0.02, 0.5, 0.9):
            arm = Arm(epsilon, [200], [200 * x])
            assert arm.mean == pytest.approx(x, abs=1e-9)
            for y in (0.91, 0.95, 0.999):
                assert arm.exponent(y) == pytest.approx(200 * private_divergence(x, y, epsilon), abs=1e-6)


def test_without_noise_it_does_not_matter_how_the_plays_are_cut() -> None:
    """With a huge epsilon d_ε is kl, and kl of the phases adds up to that of all plays."""
    sizes, values = [10, 20, 50, 5], [3.0, 11.0, 28.0, 2.0]
    arm = Arm(60.0, sizes, values)
    assert arm.mean == pytest.approx(sum(values) / sum(sizes), abs=1e-9)
    for y in (0.6, 0.8, 0.97):
        assert arm.exponent(y) == pytest.approx(sum(sizes) * bernoulli_kl(arm.mean, y), rel=1e-6)


# ---- one noise that is far out

phases = st.lists(st.tuples(st.integers(1, 400), st.floats(-0.5, 1.5)), min_size=1, max_size=6)
budgets = st.floats(-2, 1).map(lambda power: 10.0**power)


@given(phases=phases, epsilon=budgets, outlier=st.floats(-1e6, 1e6), z=st.floats(1e-6, 1 - 1e-6), data=st.data())
def test_an_outlier_moves_no_more_than_its_own_term(
    phases: list[tuple[int, float]], epsilon: float, outlier: float, z: float, data: st.DataObject
) -> None:
    """The cost moves by at most ε b_k for every 1 by which the mean of phase k moves.

    The exponent, a difference of two costs, moves by at most twice that, and, however far the noise was out, by at most
    2 ε b_k: the term of phase k rises by at most ε b_k between any two means.
    """
    sizes = [size for size, _ in phases]
    values = [size * share for size, share in phases]
    k = data.draw(st.integers(0, len(sizes) - 1))
    moved = list(values)
    moved[k] += outlier * sizes[k]
    before, after = Arm(epsilon, sizes, values), Arm(epsilon, sizes, moved)
    rounding = 1e-6 + 1e-9 * epsilon * abs(outlier) * sizes[k]
    most = epsilon * sizes[k]
    assert abs(after.cost(z) - before.cost(z)) <= most * abs(outlier) + rounding
    change = abs(after.exponent(z) - before.exponent(z))
    assume(z > max(before.mean, after.mean))
    assert change <= 2 * most * min(abs(outlier), 1) + rounding


def test_an_outlier_of_one_phase_is_forgotten() -> None:
    """Twenty phases of 100 plays say 0.5, and one noise of 10^6: the estimate hardly moves, that of one sum is lost."""
    sizes, values = [100] * 21, [50.0] * 20
    arm = Arm(0.1, sizes, [*values, 1e6])
    assert 0.5 < arm.mean < 0.53
    assert sum([*values, 1e6]) / sum(sizes) > 1
