"""Every claim is there, is tested, and the tests can tell right from wrong."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest, laplace

import dpbandits as dpb
from dpbandits.auditing.broken.printed import PrintedAlgorithm3
from dpbandits.engine.game import Game
from dpbandits.mechanisms import LAPLACE, Hybrid, SeededNoise, release
from dpbandits.policies import interval_epsilon, interval_guarantee
from dpbandits.privacy import Budget, LaplaceEvent, compose
from dpbandits.reproduce import CLAIMS, Settings, Study
from dpbandits.reproduce.claims import bound_counterexample as event
from dpbandits.reproduce.claims import counters, interval_privacy
from dpbandits.reproduce.claims.counters import tail
from dpbandits.reproduce.confidence import Interval, difference, log_ratio, mean_at, number, range_within, share
from dpbandits.reproduce.paper_experiments import DELTA
from told_study import summary_of

pytestmark = pytest.mark.slow

BY_NAME = {claim.name: claim for claim in CLAIMS}


def test_no_claim_of_the_paper_is_missing() -> None:
    """Its numbered statements, and at least one row for each section that claims something."""
    where = " ".join(claim.where for claim in CLAIMS)
    for statement in (
        *("Definition 2.1", "Theorem 3.1", "Theorem 3.2", "Theorem 3.3", "Theorem 3.4", "Theorem 3.5", "Lemma 3.1"),
        *("Corollary 3.1", "Corollary 3.2", "Lemma B.1", "Lemma B.2", "equation (2)"),
        *("Abstract", "Introduction", "Related work", "Contributions, 1", "contributions, 2", "Contributions, 3"),
        *(
            "Section 2.2",
            "Section 2.3",
            "Section 3,",
            "Section 3.1",
            "Section 3.2",
            "Section 3.3",
            "Experiments",
            "Conclusion",
        ),
    ):
        assert statement in where, statement
    assert len(BY_NAME) == len(CLAIMS) == 43


# ---- exact statements, once more and differently


def test_tail_of_a_sum_of_laplace_noises() -> None:
    for x in (0.0, 0.5, 3.0, 12.0):
        assert tail({1.0: 1}, x) == pytest.approx(2 * laplace.sf(x), abs=2e-5)
        assert tail({7.0: 1}, x) == pytest.approx(2 * laplace.sf(x / 7), abs=2e-5)
        # The sum of two: density (1 + |y|) e^-|y| / 4.
        assert tail({1.0: 2}, x) == pytest.approx((1 + x / 2) * math.exp(-x), abs=2e-5)
    noises = {1.0: 10, 9.0: 5}
    dice = np.random.default_rng(1)
    sums = sum(dice.laplace(0, scale, (200_000, count)).sum(axis=1) for scale, count in noises.items())
    for x in (10.0, 40.0, 90.0):
        found = int(np.count_nonzero(np.abs(sums) > x))
        low, high = (float(binom.ppf(level, 200_000, tail(noises, x))) for level in (5e-6, 1 - 5e-6))
        assert low <= found <= high


def test_the_noises_of_the_counterexamples_are_those_of_the_counter() -> None:
    for power in range(3, 20):
        assert counters.noises_before(power) == dict(Hybrid(epsilon=1.0, split=False).noise_scales(2**power - 1))


def test_the_y_series_breaks_the_first_branch_by_exact_composition_too() -> None:
    """The lower bound on δ from one event is below the exact δ, which dp-accounting brackets."""
    claimed = 0.01825
    delta, full, releases = interval_privacy.far_side(claimed, 100_000)
    assert releases == 7
    assert delta > DELTA
    epsilon = interval_epsilon(Budget(0.1, DELTA), 1.1)
    assert interval_guarantee(epsilon, 1.1, "y", delta=DELTA, horizon=100_000).epsilon > claimed
    # At the δ of the event, composition needs at least what was claimed; just above it, too.
    assert interval_guarantee(epsilon, 1.1, "y", delta=delta, horizon=100_000).epsilon >= claimed
    assert interval_privacy.far_side(full, 100_000)[0] == 0


def test_intervals_cover_what_they_say() -> None:
    """99% intervals of a share: over 3000 samples at most 1.5% miss, whose probability is below 1e-2 per case."""
    dice = np.random.default_rng(4)
    for p in (0.003, 0.4):
        missed = sum(not low <= p <= high for _, low, high in (share(int(x), 500) for x in dice.binomial(500, p, 3000)))
        assert missed <= 45
    ratios = [log_ratio(int(a), int(b), 100_000) for a, b in dice.binomial(100_000, [0.02, 0.01], (2000, 2))]
    assert np.mean([low <= math.log(2) <= high for _, low, high in ratios]) >= 0.99
    # Both intervals must hold, so each has half of the 1%: their ends, from another formula.
    for found, other in ((2000, 1000), (37, 20)):
        ends = [binomtest(count, 100_000).proportion_ci(0.995, "exact") for count in (found, other)]
        ratio = log_ratio(found, other, 100_000)
        assert ratio.low == pytest.approx(math.log(ends[0].low / ends[1].high), abs=1e-9)
        assert ratio.high == pytest.approx(math.log(ends[0].high / ends[1].low), abs=1e-9)
    assert log_ratio(0, 5, 10).low == -math.inf
    assert share(0, 10).low == 0
    assert share(10, 10).high == 1


def test_the_range_of_a_sample_has_its_probability() -> None:
    """Against sampling from the same runs: 20,000 samples of 30, within five standard errors."""
    dice = np.random.default_rng(2)
    regrets = np.round(dice.gamma(2.0, 100.0, 400))
    summary = summary_of(regrets)
    samples = dice.choice(regrets, (20_000, 30))
    for width in (400.0, 600.0, 900.0):
        found = float(np.mean(samples.max(axis=1) - samples.min(axis=1) <= width))
        assert range_within(summary, width, 30) == pytest.approx(found, abs=5 * 0.5 / math.sqrt(20_000))
    assert range_within(summary, 1e9, 30) == pytest.approx(1)
    assert range_within(summary_of(np.full(5, 7.0)), 0.0, 30) == pytest.approx(1)


def test_means_differ_with_both_errors() -> None:
    one, other = mean_at(summary_of([1.0, 2.0, 3.0])), mean_at(summary_of([4.0, 5.0, 6.0]))
    gap = difference(one, other)
    assert gap.value == pytest.approx(-3)
    assert gap.high - gap.value == pytest.approx(math.hypot(one.high - one.value, other.high - other.value))
    assert one.high - one.value == pytest.approx(9.9248 / math.sqrt(3), rel=1e-4)  # Student, 2 degrees of freedom


def test_numbers_are_written_as_people_do() -> None:
    assert str(Interval(320.61, 287.2, 354.0)) == "321 ± 33"
    assert str(Interval(1.0629, 1.0284, 1.0974)) == "1.063 ± 0.034"
    assert str(Interval(307.2, 307.2, 307.2 + 1e-13)) == "307.2"
    assert "no interval" in str(Interval(1.0, -math.inf, math.inf))
    assert [number(x) for x in (0, 1e-9, -5.25, 123456.7, math.inf)] == ["0", "1×10⁻⁹", "-5.25", "123,457", "inf"]


# ---- the event that refutes Theorem 3.1, played by the policy itself


class Scripted:
    """A noise source that says what it is told, by arm."""

    def __init__(self, *noises: list[float]) -> None:
        self.noises = noises


@release.register(Scripted)
def _release(noise: Scripted, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return float(secret) + noise.noises[arm].pop(0)


def fifth(reward: float) -> Callable[[int, int], float]:
    return lambda t, arm: reward if t == event.CHANGED_STEP else 0.0


@pytest.mark.parametrize(("epsilon", "seed"), [(0.3, 1), (1.0, 2), (3.0, 3)])
def test_the_thresholds_of_the_event_are_those_of_the_policy(epsilon: float, seed: int) -> None:
    """Inside them DP-UCB-Bound plays the arms of the event, a little outside it does not."""
    policy = dpb.DPUCBBound(epsilon=epsilon, variant="published")
    dice = np.random.default_rng(seed)
    played = 0
    while played < 16:
        noises = [float(dice.laplace(0, scale / epsilon)) for scale in event.SCALES_OF_ARM_2]
        first, step = (float(dice.laplace(0, 1 / epsilon)) for _ in range(2))
        others = event.sums_of_arm_2(noises)
        begins = bool(event.begins_so(first, first + step, others, epsilon))
        for reward in (0.0, 1.0):
            low, high, last = map(float, event.thresholds(first + step, others, reward, epsilon))
            if high - low < 0.01:
                continue
            inside = (low + high) / 2, last - 0.01
            cases = [(*inside, begins), (high + 0.005, inside[1], False), (low - 0.005, inside[1], False)]
            for third, fourth, expected in [*cases, (inside[0], last + 0.005, False)]:
                noise = Scripted([first, step, third, fourth, 0.0], [*noises, 0.0])
                game = Game(policy, 2, 13, noise).play(fifth(reward), 13)
                assert (tuple(arm + 1 for arm in game.actions) == event.ARMS) == expected
                played += expected


def test_the_noises_of_the_event_are_those_of_the_counter() -> None:
    counter = Hybrid(epsilon=1.0, split=False)
    unit = np.eye(8)
    sums = event.sums_of_arm_2(list(unit))
    for n in range(1, 9):
        scales = np.array(event.SCALES_OF_ARM_2, dtype=float)[np.flatnonzero(sums[n])]
        assert sorted(scales) == sorted(counter.noise_scales(n).elements())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_theorem_3_1_is_wrong_by_a_factor_of_two(epsilon: float) -> None:
    for seed in (1, 2):
        ratio, chance = event.log_ratio(epsilon, 100_000, seed)
        assert ratio.value == pytest.approx(2 * epsilon, abs=1e-3 * epsilon)
        assert ratio.low > 1.99 * epsilon
        assert 0 < chance < 1e-10


# ---- what Algorithm 3 as printed costs, from the releases themselves


class Recorder:
    """A seeded noise source that remembers the scale of every release, by arm."""

    def __init__(self, seed: int) -> None:
        self.seeded = SeededNoise(seed)
        self.scales: dict[int, list[float]] = {0: [], 1: []}


@release.register(Recorder)
def _recorded(noise: Recorder, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    noise.scales[arm].append(scale)
    return release(noise.seeded, secret, scale, mechanism, arm)


def test_every_draw_of_algorithm_3_as_printed_is_counted(tmp_path: Path) -> None:
    study = Study(Settings(seed=3), tmp_path)
    cost, draws = interval_privacy.cost_as_printed(study)
    noise, dice = Recorder(3), np.random.default_rng(3)
    policy = PrintedAlgorithm3(epsilon=1.0, delta=DELTA)
    Game(policy, 2, interval_privacy.PRINTED_STEPS, noise).play(
        lambda t, arm: float(dice.random() < (0.9, 0.6)[arm]), interval_privacy.PRINTED_STEPS
    )
    costs = [(compose(map(LaplaceEvent, scales), DELTA).epsilon, len(scales)) for scales in noise.scales.values()]
    assert (cost, draws) == max(costs)
    assert cost > 1
