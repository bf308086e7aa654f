"""Indices that were tried on the way to the noise-aware one, for benchmarks/noise_aware.py alone.

All are DP-IMED with other exponents. S is the sum of an arm's m released phase sums, n its plays.

    chernoff       the Chernoff bound of n Bernoulli rewards and m Laplace noises,
                   sup over -ε < l <= 0 of { l S - n ln(1 - y + y e^l) + m ln(1 - l²/ε²) }
    saddlepoint    -ln(2 P(S or less)) with the tail by Lugannani & Rice's saddle-point in Barndorff-Nielsen's form
    two means      phase-wise, for the gap of two noisy means: the least c_a(y) + c_b(y) over y, b the leader
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.policies.dp_imed import DPIMED, State
from dpbandits.policies.noise_aware_imed import NoiseAwareIMED
from dpbandits.policies.phases import Phases, Tally, begin_next_phase, chosen_arm, ends_phase, rest_of_phase
from dpbandits.policies.plausibility import PooledSums, exponent, learn
from dpbandits.policies.plausibility_by_phase import PlausibilityByPhase, cost
from dpbandits.policies.policy import Setup, hold, select, update


class Tail(NamedTuple):
    """Evidence from the sum of all phases that counts its noises."""

    epsilon: float
    saddlepoint: bool


@learn.register(Tail)
@kernel
def _learn(plausibility: Tail, kept: PooledSums, phases: Phases, tally: Tally, arm: int, value: float) -> None:
    kept.totals[arm] += value
    kept.means[arm] = min(max(kept.totals[arm] / tally.counts[arm], 1e-9), 1.0 - 1e-9)


@exponent.register(Tail)
@kernel
def _exponent(plausibility: Tail, kept: PooledSums, phases: Phases, tally: Tally, arm: int, mean: float) -> float:
    epsilon, s, n, m = plausibility.epsilon, kept.totals[arm], float(tally.counts[arm]), float(tally.done[arm])
    if s >= n * mean:
        return 0.0
    low, high, tilt = -epsilon, 0.0, -0.5 * epsilon
    bend = 0.0
    for _ in range(60):  # the slope of the cumulant function is the sum
        q = mean * math.exp(tilt) / (1.0 - mean + mean * math.exp(tilt))
        u = (tilt / epsilon) ** 2
        slope = n * q + m * 2.0 * tilt / (epsilon * epsilon * (1.0 - u)) - s
        bend = n * q * (1.0 - q) + m * 2.0 * (1.0 + u) / (epsilon * epsilon * (1.0 - u) ** 2)
        if slope > 0.0:
            high = tilt
        else:
            low = tilt
        nearer = tilt - slope / bend
        nearer = nearer if low < nearer < high else 0.5 * (low + high)
        if abs(nearer - tilt) < 1e-9 * epsilon:
            break
        tilt = nearer
    rate = tilt * s - n * math.log1p(-mean * -math.expm1(tilt)) + m * math.log1p(-((tilt / epsilon) ** 2))
    if not plausibility.saddlepoint:
        return float(max(rate, 0.0))
    if rate < 1e-4:
        return 0.0
    w = -math.sqrt(2.0 * rate)
    corrected = w + math.log(tilt * math.sqrt(bend) / w) / w
    if corrected >= 0.0:
        return 0.0
    if corrected > -30.0:
        return -math.log(math.erfc(-corrected / math.sqrt(2.0)))
    return 0.5 * corrected * corrected + math.log(-corrected * math.sqrt(math.pi / 2.0))


@dataclass(frozen=True, kw_only=True)
class TailIMED(DPIMED):
    """DP-IMED with the exponent of the sum and its noises: Chernoff's, or the saddle-point approximation."""

    name = "tail-imed"
    seed_text = (
        "TailIMED(epsilon={epsilon!r}, index='published', growth={growth!r}, first_phase={first_phase!r}, "
        "caution={caution!r}, saddlepoint={saddlepoint!r})"
    )

    saddlepoint: bool

    def setup(self, arms: int, horizon: int) -> Setup:
        setup = DPIMED.setup(self, arms, horizon)
        params = setup.params._replace(plausibility=Tail(self.epsilon, self.saddlepoint))
        return setup._replace(params=params, parts={"kept": PooledSums})


class TwoMeansParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    plausibility: PlausibilityByPhase
    caution: float


select.register(TwoMeansParams)(chosen_arm)
hold.register(TwoMeansParams)(rest_of_phase)


@kernel
def gap_exponent(params: TwoMeansParams, state: State, arm: int, leader: int) -> float:
    """Return the least c_a(y) + c_b(y) above what both estimates have, by golden section."""
    plausibility, kept, phases, tally = params.plausibility, state.kept, params.phases, state.tally
    low, high = kept.means[arm], kept.means[leader]
    if not low < high:
        return 0.0
    section = 0.5 * (3.0 - math.sqrt(5.0))
    left, right = low + section * (high - low), high - section * (high - low)
    at_left = cost(plausibility, kept, phases, tally, arm, left) + cost(plausibility, kept, phases, tally, leader, left)
    at_right = cost(plausibility, kept, phases, tally, arm, right) + cost(
        plausibility, kept, phases, tally, leader, right
    )
    for _ in range(12):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = low + section * (high - low)
            at_left = cost(plausibility, kept, phases, tally, arm, left) + cost(
                plausibility, kept, phases, tally, leader, left
            )
        else:
            low, left, at_left = left, right, at_right
            right = high - section * (high - low)
            at_right = cost(plausibility, kept, phases, tally, arm, right)
            at_right += cost(plausibility, kept, phases, tally, leader, right)
    return float(max(min(at_left, at_right) - kept.least[arm] - kept.least[leader], 0.0))


@update.register(TwoMeansParams)
@kernel
def _update(params: TwoMeansParams, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    phases, tally, kept = params.phases, state.tally, state.kept
    if not ends_phase(phases, tally, arm, plays, reward):
        return
    value = release(noise, tally.sums[arm], phases.scale, LAPLACE, arm)
    all_opened = begin_next_phase(tally, arm)
    learn(params.plausibility, kept, phases, tally, arm, value)
    if not all_opened:
        return
    leader = 0
    for other in range(1, len(kept.means)):
        leader = other if kept.means[other] > kept.means[leader] else leader
    chosen, smallest = leader, math.log(tally.counts[leader])
    for other in range(len(kept.means)):
        if other != leader:
            u = gap_exponent(params, state, other, leader)
            index = u - params.caution * u / (1.0 + u) + math.log(tally.counts[other])
            if index < smallest:
                chosen, smallest = other, index
    tally.chosen[0] = chosen


@dataclass(frozen=True, kw_only=True)
class TwoMeansIMED(NoiseAwareIMED):
    """DP-IMED with phase-wise exponents for the gap of two noisy means."""

    name = "two-means-imed"
    seed_text = (
        "TwoMeansIMED(epsilon={epsilon!r}, index='noise-aware', growth={growth!r}, first_phase={first_phase!r}, "
        "caution={caution!r})"
    )

    def setup(self, arms: int, horizon: int) -> Setup:
        setup = NoiseAwareIMED.setup(self, arms, horizon)
        return setup._replace(params=TwoMeansParams(*setup.params))


@dataclass(frozen=True, kw_only=True)
class SlopedIMED(NoiseAwareIMED):
    """The noise-aware index with a caution that falls faster or slower with the number of arms."""

    name = "sloped-imed"
    seed_text = (
        "SlopedIMED(epsilon={epsilon!r}, index='noise-aware', growth={growth!r}, first_phase={first_phase!r}, "
        "caution={caution!r}, slope={slope!r})"
    )

    slope: float

    def setup(self, arms: int, horizon: int) -> Setup:
        setup = NoiseAwareIMED.setup(self, arms, horizon)
        caution = 1.0 - self.slope * math.log(max(arms, 2) / 2)
        return setup._replace(params=setup.params._replace(caution=caution))
