"""Policies whose choice is no index of releases: random, eliminating, not private. And holds, and ties."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import dpbandits as dpb
from dpbandits.engine.game import Game
from dpbandits.mechanisms import GAUSSIAN, LAPLACE, RESPONSE, RecordingNoise, SeededNoise, release
from dpbandits.policies import FOREVER, EpochOrder, Policy, block_ucb, dp_se, hold, select
from dpbandits.privacy import Ledger
from oracles import bernoulli_divergence, largest_mean

pytestmark = pytest.mark.slow

MEANS = (0.45, 0.7, 0.2, 0.6)
ARMS = len(MEANS)
TABLE = np.random.default_rng(9).random((3001, ARMS)) < MEANS
NEARLY_EQUAL = np.random.default_rng(9).random((3001, ARMS)) < (0.60, 0.61, 0.62, 0.61)


def rewards(t: int, arm: int) -> float:
    return float(TABLE[t, arm])


def generator(seed: int) -> np.random.Generator:
    """Return the generator that SeededNoise draws from."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))


def first_largest(values: list[float]) -> int:
    return max(range(len(values)), key=lambda arm: (values[arm], -arm))


# ---- random choices: the same draws, made again


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_lazy_dp_ts_draws_what_is_printed(epsilon: float) -> None:
    horizon = 3000
    game = Game(dpb.LazyDPTS(epsilon=epsilon), ARMS, horizon, SeededNoise(6))
    dice = generator(6)
    sums, left, epoch = [0.0] * ARMS, [1] * ARMS, [1] * ARMS  # of the epoch that is being played
    mean, size = [0.0] * ARMS, [0] * ARMS  # of the last one
    expected = 0
    for t in range(1, horizon + 1):
        assert select(game.params, game.state, t) == expected
        assert hold(game.params, game.state, expected, t) == 1
        game.play(rewards, t)
        arm = expected
        sums[arm] += rewards(t, arm)
        left[arm] -= 1
        if left[arm] == 0:
            noise = dice.standard_exponential() / epsilon
            mean[arm] = (sums[arm] + (noise if dice.random() < 0.5 else -noise)) / epoch[arm]
            size[arm] = epoch[arm]
            epoch[arm] *= 2
            left[arm], sums[arm] = epoch[arm], 0.0
        if 0 in size:
            expected = size.index(0)
            continue
        thetas = []
        for n, mu in zip(size, mean, strict=True):
            x = min(max(mu + 3 * math.log(t + 1) / (epsilon * n), 0.0), 1.0)
            thetas.append(dice.beta(x * n + 1, (1 - x) * n + 1))
        expected = first_largest(thetas)
    assert min(size) >= 8


def test_thompson_sampling_draws_what_is_printed() -> None:
    horizon = 2000
    game = Game(dpb.ThompsonSampling(), ARMS, horizon, SeededNoise(6))
    dice = generator(6)
    successes, failures = [0.0] * ARMS, [0.0] * ARMS
    expected = 0
    for t in range(1, horizon + 1):
        assert select(game.params, game.state, t) == expected
        game.play(rewards, t)
        successes[expected] += rewards(t, expected)
        failures[expected] += 1 - rewards(t, expected)
        if t < ARMS:
            expected = t
        else:
            expected = first_largest([dice.beta(s + 1, f + 1) for s, f in zip(successes, failures, strict=True)])
    assert set(game.actions[ARMS:]) == set(range(ARMS))


# ---- yardsticks: exact sums


def imed(n: list[int], means: list[float], t: int) -> list[float]:
    best = max(means)
    return [-(c * bernoulli_divergence(m, best) + math.log(c)) for c, m in zip(n, means, strict=True)]


def klucb(n: list[int], means: list[float], t: int) -> list[float]:
    found = []
    for c, m in zip(n, means, strict=True):
        found.append(largest_mean(lambda y, m=m: bernoulli_divergence(m, y), m, math.log(t) / c))  # type: ignore[misc]
    return found


@pytest.mark.parametrize(("policy", "indices"), [(dpb.IMED(), imed), (dpb.KLUCB(), klucb)], ids=["imed", "klucb"])
@pytest.mark.parametrize("table", [TABLE, NEARLY_EQUAL], ids=["different", "nearly equal"])
def test_yardsticks_play_the_best_index(
    policy: Policy, indices: Callable[[list[int], list[float], int], list[float]], table: Any
) -> None:
    horizon = 1500
    game = Game(policy, ARMS, horizon, SeededNoise(1))
    n, sums, close = [0] * ARMS, [0.0] * ARMS, 0
    for t in range(1, horizon + 1):
        arm = int(select(game.params, game.state, t))
        if t <= ARMS:
            assert arm == t - 1
        else:
            values = indices(n, [total / count for total, count in zip(sums, n, strict=True)], t)
            least = max(values) - 1e-9
            assert values[arm] >= least
            close += sum(value >= least for value in values) > 1
        n[arm] += 1
        sums[arm] += float(table[t, arm])
        game.play(lambda t, arm: float(table[t, arm]), t)
    assert close < 0.05 * horizon
    assert min(n) > 3


# ---- DP-SE


def test_dp_se_plays_epochs_and_drops_what_is_clearly_worse() -> None:
    """A slow reading of the algorithm, with the released sums of the run."""
    means, epsilon, horizon = (0.5, 0.61, 0.7, 0.68, 0.1), 0.4, 400_000
    dice = np.random.default_rng(4)
    table = dice.random((horizon + 1, len(means))) < means
    noise = RecordingNoise(SeededNoise(2), Ledger())
    game = Game(dpb.DPSE(epsilon=epsilon), len(means), horizon, noise)
    game.play(lambda t, arm: float(table[t, arm]), horizon, "blocks")
    released = [(row.content["arm"], row.content["value"]) for row in noise.ledger]
    assert {row.content["scale"] for row in noise.ledger} == {1 / epsilon}
    blocks, sizes = list(game.blocks), []
    remaining, epoch, beta = list(range(len(means))), 1, 1 / horizon
    while len(remaining) > 1:
        gap = 2.0**-epoch
        first = math.log(8 * len(remaining) * epoch**2 / beta)
        second = math.log(4 * len(remaining) * epoch**2 / beta)
        plays = int(max(32 * first / gap**2, 8 * second / (epsilon * gap)) + 1)
        estimates = {}
        for arm in remaining:
            _, played, count = blocks.pop(0)
            if not blocks:  # the horizon came first
                assert count < plays
                break
            assert (played, count) == (arm, plays)
            released_arm, value = released.pop(0)
            assert released_arm == arm
            estimates[arm] = value / plays
        if not blocks:
            break
        h, c = math.sqrt(first / (2 * plays)), second / (epsilon * plays)
        remaining = [arm for arm in remaining if max(estimates.values()) - estimates[arm] <= 2 * h + 2 * c]
        sizes.append(len(remaining))
        epoch += 1
    assert released == []
    assert sizes == [3, 2, 2]  # the fourth epoch does not end


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("epoch", [1, 3])
def test_dp_se_drops_an_arm_exactly_beyond_the_threshold(epsilon: float, epoch: int) -> None:
    """A millionth more than 2h + 2c below the best of those that are left; the means of dropped arms count no more."""
    setup = dpb.DPSE(epsilon=epsilon).configure(5, 1000)
    params = setup.params
    state: Any = setup.allocate(np.float64)
    plays = dp_se.plays_of_epoch(params, 4, epoch)
    first, second = math.log(8 * 4 * epoch**2 * 1000), math.log(4 * 4 * epoch**2 * 1000)
    assert plays == int(max(32 * first * 4**epoch, 8 * second * 2**epoch / epsilon) + 1)
    threshold = 2 * math.sqrt(first / (2 * plays)) + 2 * second / (epsilon * plays)
    state.epoch[0] = epoch - 1
    state.dropped[2] = 1
    state.means[:] = [0.9, 0.9 - threshold * (1 - 1e-6), 7.0, 0.9 - threshold * (1 + 1e-6), -1.0]
    dp_se.drop(params, state, plays)
    assert state.dropped.tolist() == [0, 0, 1, 1, 1]


def test_dp_se_keeps_the_last_arm_for_ever_and_releases_no_more() -> None:
    noise = RecordingNoise(SeededNoise(2), Ledger())
    game = Game(dpb.DPSE(epsilon=1.0), 2, 10_000, noise)
    game.play(lambda t, arm: float(arm), 9000, "blocks")
    assert len(noise.ledger) == 2
    assert [arm for _, arm, _ in game.blocks] == [0, 1, 1]
    assert (select(game.params, game.state, 9001), hold(game.params, game.state, 1, 9001)) == (1, FOREVER)
    alone = Game(dpb.DPSE(epsilon=1.0), 1, 10_000, noise)
    assert hold(alone.params, alone.state, 0, 1) == FOREVER
    alone.play(lambda t, arm: 1.0, 9000, "blocks")
    assert len(noise.ledger) == 2


def test_dp_se_in_turn_is_the_same_but_for_the_order_of_plays() -> None:
    """The n-th play of an arm has the same reward: the same sums are released, with the same noise, in whole epochs."""
    means, horizon = (0.5, 0.61, 0.7, 0.68, 0.1), 200_000
    table = np.random.default_rng(4).random((len(means), horizon)) < np.array(means)[:, None]
    ledgers = []
    for order in ("blocks", "turns"):
        noise = RecordingNoise(SeededNoise(2), Ledger())
        game = Game(dpb.DPSE(epsilon=0.4, order=order), len(means), horizon, noise)
        plays = [0] * len(means)

        def reward(t: int, arm: int, plays: list[int] = plays) -> float:
            plays[arm] += 1
            return float(table[arm, plays[arm] - 1])

        game.play(reward, horizon, "blocks")
        ledgers.append([(row.content["arm"], row.content["value"]) for row in noise.ledger])
    blocks, turns = ledgers
    assert [arm for arm, _ in turns] == [0, 1, 2, 3, 4, 1, 2, 3, 2, 3]
    assert blocks[:10] == turns


@pytest.mark.parametrize(
    ("order", "means", "regret"),
    [
        ("blocks", (0.75, 0.625, 0.5, 0.375, 0.25), 702.75),
        ("blocks", (0.25, 0.375, 0.5, 0.625, 0.75), 1797.25),
        ("turns", (0.75, 0.625, 0.5, 0.375, 0.25), 1250.0),
        ("turns", (0.25, 0.375, 0.5, 0.625, 0.75), 1250.0),
    ],
)
def test_dp_se_in_blocks_depends_on_the_order_of_the_arms(
    order: EpochOrder, means: tuple[float, ...], regret: float
) -> None:
    """5000 steps end within the first epoch, which has 1563 plays of every arm."""
    game = Game(dpb.DPSE(epsilon=1.0, order=order), len(means), 5000, SeededNoise(0))
    game.play(lambda t, arm: means[arm], 5000, "blocks")
    assert math.fsum(max(means) - means[arm] for arm in game.actions) == pytest.approx(regret)


# ---- the width of Block-UCB


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 30.0])
def test_the_line_of_an_arm_touches_its_index_from_above(epsilon: float) -> None:
    """At its level it is the mean plus the least Chernoff width, by search over h; at every other it is above."""
    game = Game(dpb.BlockUCB(epsilon=epsilon), 1, 10**9, SeededNoise(1))
    state: Any = game.state

    def least_width(n: int, noises: int, level: float) -> float:
        def width(u: float) -> float:  # u = ln(s/(1-s)) for h = s nε reaches both ends of the interval
            share = 1 / (1 + math.exp(-u))
            h = share * n * epsilon
            rest = 1 / (1 + math.exp(u))  # 1 - s, with all its digits
            return (h * h / (8 * n) - noises * (math.log(rest) + math.log1p(share)) + level) / h

        return float(minimize_scalar(width, bounds=(-30, 30), method="bounded", options={"xatol": 1e-8})["fun"])

    for n, noises in ((1, 1), (8, 4), (1000, 10), (10**6, 60)):
        state.tally.counts[0], state.tally.done[0] = n, noises
        state.totals[0] = 0.3 * n
        for level in (0.01, 2.8, 46.0, 800.0):
            block_ucb.touch(game.params, state, 0, level)
            assert state.levels[0] == level
            for other in (0.1 * level, 0.9 * level, level, 1.1 * level, 10 * level):
                line = float(state.intercepts[0] + state.slopes[0] * other) - 0.3
                width = least_width(n, noises, other)
                assert line >= width * (1 - 1e-9)
                assert other != level or line == pytest.approx(width, rel=1e-8)


# ---- hold of Anytime-Lazy-UCB, where indices are about to cross


@pytest.mark.parametrize("t", [50, 10_000, 10**9, 10**15])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 50.0])
def test_anytime_lazy_ucb_holds_up_to_the_crossing(t: int, epsilon: float) -> None:
    """Random states with nearly equal indices: the choice stands to the end of `hold`, and mostly not much longer."""
    game = Game(dpb.AnytimeLazyUCB(epsilon=epsilon), 4, 10**18, SeededNoise(1))
    state: Any = game.state
    dice = np.random.default_rng(t)
    log_t = math.log(t)
    crossed = enough = longer = 0
    for _ in range(500):
        done = dice.integers(3, 12, size=4)
        state.tally.opened[0] = 4
        state.tally.done[:] = done + 30  # so that the end of the epoch is far away
        state.tally.counts[:] = 2 ** (done + 30) - 1
        state.sizes[:] = 2.0 ** (done - 1)
        bonus = np.sqrt(3 * log_t / state.sizes) + 3 * log_t / (epsilon * state.sizes)
        state.means[:] = 0.5 - bonus + 10.0 ** dice.uniform(-7, -3, size=4) * dice.choice([-1, 1], size=4)
        arm = int(select(game.params, state, t))
        held = int(hold(game.params, state, arm, t))
        assert 1 <= held <= 2 ** (done[arm] + 30)
        for time in {t, t + held // 2, t + held - 1}:
            assert select(game.params, state, time) == arm
        longer += held > 1
        if held == 2 ** (done[arm] + 30):  # the epoch ends first
            continue
        crossed += 1
        # Not half as much again, and some steps for rounding, would still be right.
        enough += int(select(game.params, state, t + 3 * held // 2 + 3 + int(1e-6 * t))) != arm
    assert crossed > 50
    assert enough > 0.9 * crossed
    assert longer > 0.5 * crossed or t < 100


def test_anytime_lazy_ucb_decides_ties_at_every_step() -> None:
    game = Game(dpb.AnytimeLazyUCB(epsilon=1.0), 2, 10**6, SeededNoise(1))
    state: Any = game.state
    state.tally.opened[0] = 2
    state.tally.done[:] = 5
    state.tally.counts[:] = 2**5 - 1
    state.sizes[:] = [16, 8]
    log_t = math.log(1000)
    bonus = np.sqrt(3 * log_t / state.sizes) + 3 * log_t / state.sizes
    state.means[:] = 5 - bonus
    for lead in (1e-15, 1e-12):
        state.means[0] = 5 - bonus[0] + lead
        assert (select(game.params, state, 1000), hold(game.params, state, 0, 1000)) == (0, 1)


def test_anytime_lazy_ucb_holds_no_tie_of_equal_epochs() -> None:
    """Two means that differ in the last bit: which index is larger is decided by rounding, anew at every step."""
    game = Game(dpb.AnytimeLazyUCB(epsilon=1.0), 2, 10**6, SeededNoise(1))
    state: Any = game.state
    state.tally.opened[0] = 2
    state.tally.done[:] = 12
    state.tally.counts[:] = 2**12 - 1
    state.sizes[:] = 2**11
    state.means[:] = [0.3, math.nextafter(0.3, 1)]
    for t in range(5000, 5050):
        arm = int(select(game.params, state, t))
        held = min(int(hold(game.params, state, arm, t)), 100)
        assert {int(select(game.params, state, time)) for time in range(t, t + held)} == {arm}


def test_anytime_lazy_ucb_asks_rarely() -> None:
    """A hundred thousand steps take a few hundred decisions: `hold` promises nearly all that it could."""
    game = Game(dpb.AnytimeLazyUCB(epsilon=1.0), ARMS, 100_000, SeededNoise(3))
    game.play(lambda t, arm: rewards(t % 3000 + 1, arm), 100_000, "blocks")
    changes = sum(a != b for a, b in zip(game.actions, game.actions[1:], strict=False))
    assert len(game.blocks) < 3 * changes + 60
    assert len(game.blocks) < 3000


# ---- ties


class NoNoise:
    """A noise source that adds nothing, so that equal arms stay equal."""


@release.register(NoNoise)
def _release(noise: NoNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    assert mechanism in (LAPLACE, GAUSSIAN, RESPONSE)
    return float(secret)


@pytest.mark.parametrize(
    "policy",
    [
        dpb.IMED(),
        dpb.KLUCB(),
        dpb.DPIMED(epsilon=1.0),
        dpb.NoiseAwareIMED(epsilon=1.0, first_phase=4),
        dpb.DPKLUCB(epsilon=1.0),
        dpb.DPKLUCB(epsilon=90.0),
        dpb.NoiseAwareKLUCB(epsilon=1.0, first_phase=4),
        dpb.AdaPUCB(epsilon=1.0),
        dpb.AdaPKLUCB(epsilon=1.0),
        dpb.AdaPKLUCB(epsilon=90.0),
        dpb.AnytimeLazyUCB(epsilon=1.0),
        dpb.BlockUCB(epsilon=1.0),
        dpb.AdaCUCB(epsilon=1.0, delta=1e-6),
        dpb.LDPUCBBernoulli(epsilon=1.0),
    ],
    ids=lambda policy: repr(policy).replace(" ", ""),
)
def test_ties_go_to_the_first_arm(policy: Policy) -> None:
    game = Game(policy, ARMS, 400, NoNoise())
    first = 4 if getattr(policy, "first_phase", 1) == 4 else 1
    game.play(lambda t, arm: 0.5, ARMS * first)
    assert game.actions == [arm for arm in range(ARMS) for _ in range(first)]
    assert select(game.params, game.state, game.t) == 0


def test_adac_ucb_takes_the_smallest_and_the_largest_budgets() -> None:
    assert dpb.AdaCUCB(epsilon=1e-6, delta=1e-100).guarantee().epsilon <= 1e-6
    assert dpb.AdaCUCB(epsilon=1e-6, delta=5e-324).guarantee().epsilon <= 1e-6
    assert dpb.AdaCUCB(epsilon=1e200, delta=1e-6).guarantee().epsilon <= 1e200
