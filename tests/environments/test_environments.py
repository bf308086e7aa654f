"""Rewards have the distribution that they should have, one by one and in blocks."""

import math
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import stats

import dpbandits as dpb
from distributions import same_distribution
from dpbandits.engine.kernels import register_kernels
from dpbandits.environments import Beta, Categorical, Environment, Replay, TruncatedNormal, Uniform, block_sum, reward
from dpbandits.environments.alias import alias_tables, from_tables
from dpbandits.environments.binomial import binomial, hat
from dpbandits.mechanisms import SeededNoise

pytestmark = pytest.mark.slow

TABLE = np.random.default_rng(3).random((40, 2)).round(2)
ENVIRONMENTS = {
    "bernoulli": dpb.Bernoulli([0.9, 0.3]),
    "beta": Beta(a=[2, 0.5], b=[1, 3]),
    "uniform": Uniform(low=[0.2, 0.0], high=[0.3, 1.0]),
    "narrow normal": TruncatedNormal(centres=[0.1, 0.9], scales=[0.2, 0.05]),
    "wide normal": TruncatedNormal(centres=[0.1, 1.0], scales=[0.7, 20.0]),
    "categorical": Categorical(values=[0.1, 1.0, 0.4], probabilities=[[0.5, 0.0, 0.5], [0.2, 0.3, 0.5]]),
    "replay": Replay(TABLE),
    "replay as given": Replay(TABLE, order="given"),
}
every_environment = pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=list(ENVIRONMENTS))

register_kernels()


@njit
def _draw(params: Any, arm: int, plays: int, noise: Any, single: Any, blocks: Any) -> None:
    t = 1
    for i in range(len(single)):
        single[i] = reward(params, arm, t, noise)
        t += 1
    for i in range(len(blocks)):
        blocks[i] = block_sum(params, arm, plays, t, noise)
        t += plays


@every_environment
@pytest.mark.parametrize("plays", [2, 37])
def test_blocks_are_sums_of_rewards_with_the_declared_mean(environment: Environment, plays: int) -> None:
    """Means within 4.5 standard errors (false-alarm rate 7e-6), and the same distribution as summing single rewards."""
    runs = 20_000
    for arm in range(2):
        single, blocks = np.empty(runs * plays), np.empty(runs)
        _draw(environment.configure(), arm, plays, SeededNoise(arm), single, blocks)
        assert single.min() >= 0
        assert single.max() <= 1
        for sample, mean in ((single, environment.means[arm]), (blocks / plays, environment.means[arm])):
            error = max(float(sample.std()), 1e-9) / np.sqrt(len(sample))
            assert abs(sample.mean() - mean) < 4.5 * error
            assert abs(sample.mean() - mean - 0.02) > 4.5 * error  # a mean that is off by 0.02 would be found
        if environment is not ENVIRONMENTS["replay as given"]:  # where neighbouring rows are not independent
            assert same_distribution(blocks, single.reshape(runs, plays).sum(axis=1))


@every_environment
def test_compiled_and_plain_draw_the_same(environment: Environment) -> None:
    samples = []
    for draw in (_draw, _draw.py_func):
        single, blocks = np.empty(100), np.empty(20)
        draw(environment.configure(), 1, 17, SeededNoise(5), single, blocks)
        samples.append((single.tolist(), blocks.tolist()))
    assert samples[0] == samples[1]


def test_rewards_have_the_named_distributions() -> None:
    """Kolmogorov-Smirnov at 1e-4 against SciPy's; a slightly different parameter is rejected."""
    cases: list[tuple[Environment, Any, Any]] = [
        (Beta(a=[2.0], b=[3.0]), stats.beta(2, 3), stats.beta(2, 3.2)),
        (Uniform(low=[0.25], high=[0.75]), stats.uniform(0.25, 0.5), stats.uniform(0.24, 0.5)),
        *(
            (
                TruncatedNormal([0.2], [scale]),
                stats.truncnorm(-0.2 / scale, 0.8 / scale, loc=0.2, scale=scale),
                stats.truncnorm(-0.2 / (1.2 * scale), 0.8 / (1.2 * scale), loc=0.2, scale=1.2 * scale),
            )
            for scale in (0.1, 0.49, 0.5)
        ),
    ]
    for environment, right, wrong in cases:
        single, blocks = np.empty(40_000), np.empty(0)
        _draw(environment.configure(), 0, 1, SeededNoise(2), single, blocks)
        assert stats.kstest(single, right.cdf).pvalue > 1e-4
        assert stats.kstest(single, wrong.cdf).pvalue < 1e-4
        assert environment.means[0] == pytest.approx(right.mean(), rel=1e-9)


def test_replay_as_given_takes_rows_in_turn() -> None:
    params = Replay(TABLE, order="given").configure()
    assert [reward(params, 1, t, None) for t in (1, 2, 40, 41)] == [TABLE[0, 1], TABLE[1, 1], TABLE[39, 1], TABLE[0, 1]]


@njit
def _binomials(n: int, p: float, noise: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = binomial(noise, n, p)


@njit
def _tabulated(tables: Any, n: int, noise: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = from_tables(tables, 1, n, noise)


@pytest.mark.parametrize(
    ("n", "p"),
    [(9, 0.5), (30, 0.1), (99, 0.1), (101, 0.1), (144, 0.9), (253, 0.6), (40, 0.5), (1000, 0.02), (20_000, 0.7)],
)
def test_binomial_numbers_are_exact(n: int, p: float) -> None:
    """Chi-square on 400,000 draws at 1e-5; a probability that is off by a fiftieth of a deviation is rejected."""
    draws = np.empty(400_000, dtype=np.int64)
    _binomials(n, p, SeededNoise(11), draws)
    assert draws.min() >= 0
    assert draws.max() <= n
    assert chi_square(draws, n, p) > 1e-5
    assert chi_square(draws, n, p + 0.02 * np.sqrt(p * (1 - p) / n)) < 1e-5


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (2, 0.9), (7, 0.5), (144, 0.9), (253, 0.6), (1023, 0.01)])
def test_binomial_numbers_from_tables_are_exact(n: int, p: float) -> None:
    draws = np.empty(400_000, dtype=np.int64)
    _tabulated(alias_tables(np.array([0.5, p])), n, SeededNoise(12), draws)
    assert draws.min() >= 0
    assert draws.max() <= n
    assert chi_square(draws, n, p) > 1e-5
    assert chi_square(draws, n, p + 0.02 * np.sqrt(p * (1 - p) / n)) < 1e-5


def test_alias_tables_hold_exactly_the_distribution() -> None:
    """Added up over entries and aliases, the tables give back the binomial distribution."""
    for p in (0.0, 0.03, 0.5, 0.999, 1.0):
        (keep,), (other,) = alias_tables(np.array([p]))
        start = 0
        for trials in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
            masses = np.zeros(trials + 1)
            for outcome in range(trials + 1):
                masses[outcome] += keep[start + outcome] / (trials + 1)
                masses[other[start + outcome]] += (1 - keep[start + outcome]) / (trials + 1)
            assert masses == pytest.approx(stats.binom.pmf(np.arange(trials + 1), trials, p), abs=1e-12)
            start += trials + 1


def test_many_arms_do_without_tables() -> None:
    assert dpb.Bernoulli(np.full(65, 0.5)).configure().tables.keep.shape[0] == 0
    blocks = np.empty(2000)
    _draw(dpb.Bernoulli(np.full(65, 0.5)).configure(), 64, 100, SeededNoise(1), np.empty(0), blocks)
    assert abs(blocks.mean() - 50) < 4.5 * 5 / np.sqrt(2000)


def chi_square(draws: Any, n: int, p: float) -> float:
    expected = stats.binom.pmf(np.arange(n + 1), n, p) * len(draws)
    observed = np.bincount(draws, minlength=n + 1)
    usual = expected > 20
    rest = np.array([expected[~usual].sum(), observed[~usual].sum()])
    if rest[0] > 5:
        expected, observed = np.append(expected[usual], rest[0]), np.append(observed[usual], rest[1])
    else:
        expected, observed = expected[usual], observed[usual]
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("p", [0.5, 0.3, 0.1, 0.01, 0.001])
def test_the_hat_is_above_the_density_and_the_quick_region_below(p: float) -> None:
    """Rejection is exact if and only if this holds, for every proposal; checked on a grid of them."""
    for n in {math.ceil(10 / p), math.ceil(14.4 / p), math.ceil(30 / p), math.ceil(300 / p), math.ceil(1e5 / p)}:
        a, b, height, surely = hat(n, p)
        u = np.linspace(-0.5, 0.5, 200_001)[1:-1]
        rest = 0.5 - np.abs(u)
        k = np.floor((2 * a / rest + b) * u + n * p + 0.5)
        mode = math.floor((n + 1) * p)
        density = np.exp(stats.binom.logpmf(k, n, p) - stats.binom.logpmf(mode, n, p))
        accepted = density * (a / rest**2 + b) / height  # the chance to accept this proposal
        assert accepted.max() <= 1 + 1e-9
        assert accepted[rest >= 0.07].min() >= surely


def test_binomial_numbers_at_the_ends() -> None:
    noise = SeededNoise(1)
    assert [binomial(noise, 50, p) for p in (0.0, 1.0)] == [0, 50]
    assert binomial(noise, 0, 0.3) == 0
    # Very many trials are as normal as they should be: KS at 1e-4 on 4000 numbers.
    for n, p in ((10**12, 0.3), (10**15, 0.3), (10**17, 0.5)):
        draws = np.empty(4000 if n < 10**17 else 40, dtype=np.int64)
        _binomials(n, p, SeededNoise(3), draws)
        assert stats.kstest((draws - n * p) / np.sqrt(n * p * (1 - p)), stats.norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dpb.Bernoulli([0.5, 1.1]), r"Expected means=1.1 in \[0, 1\]."),
        (lambda: dpb.Bernoulli([0.5, float("nan")]), r"Expected means=nan in \[0, 1\]."),
        (lambda: dpb.Bernoulli([]), "Expected means to be a list of numbers, not something of shape"),
        (lambda: dpb.Bernoulli([[0.5]]), "Expected means to be a list of numbers, not something of shape"),
        (lambda: dpb.Bernoulli("high"), "Expected means='high' to be numbers"),
        (lambda: Beta([1, 2], [1]), "Expected one number per arm in each list, but a has 2, b has 1."),
        (lambda: Beta([0.0], [1]), "Expected a=0.0 in"),
        (lambda: Uniform([0.5], [0.4]), r"Expected low=0.5 of arm 0 in \[0, 0.4\]"),
        (lambda: TruncatedNormal([1.5], [1]), r"Expected centres=1.5 in \[0, 1\]."),
        (lambda: TruncatedNormal([0.5], [0.0]), "Expected scales=0.0 in"),
        (lambda: Categorical([0, 1], [[0.5, 0.4]]), "Expected the probabilities of arm 0 to add up to 1, not 0.9"),
        (lambda: Categorical([0, 1], [[1.0]]), "Expected 2 probabilities per arm, one per value, not 1."),
        (lambda: Categorical([0, 2], [[0.5, 0.5]]), r"Expected values=2.0 in \[0, 1\]."),
        (lambda: Replay([[0.5, -0.1]]), r"Expected table=-0.1 in \[0, 1\]."),
        (lambda: Replay([0.5, 0.1]), "Expected table to be a table of numbers"),
        (
            lambda: Replay(TABLE, order="shuffled"),  # type: ignore[arg-type]
            "Expected order='shuffled' to be one of random, given.",
        ),
    ],
)
def test_bad_environments_are_refused(make: Any, message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        make()


def test_environments_describe_themselves_and_do_not_change() -> None:
    environment = dpb.Bernoulli([0.9, 0.6])
    assert repr(environment) == "Bernoulli(means=[0.9, 0.6])"
    for each in ENVIRONMENTS.values():
        with pytest.raises(ValueError, match="read-only"):
            each.means[0] = 0.5
    assert TruncatedNormal([0.2, 0.9], [1e6, 1e4]).means == pytest.approx([0.5, 0.5], abs=1e-8)
    assert repr(Replay(np.zeros((100, 2)))) == "Replay(table=<100 x 2 numbers>, order='random')"
    with pytest.raises(TypeError, match="belongs to no environment"):
        reward(3, 0, 1, None)
    with pytest.raises(TypeError, match="belongs to no environment"):
        block_sum(3, 0, 1, 1, None)
