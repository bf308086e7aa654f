"""Algorithm 3 as printed: to the letter, and what that costs."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpbandits as dpb
from distributions import same_distribution
from dpbandits.auditing.broken.printed import PrintedAlgorithm3
from dpbandits.auditing.taint import TaintNoise
from dpbandits.engine.game import Game
from dpbandits.mechanisms.linear import secret_reward

pytestmark = pytest.mark.slow

DELTA = math.exp(-10)


def as_printed(means: list[float], horizon: int, runs: int, seed: int, f: int, redraw: bool) -> NDArray[np.float64]:
    """The pseudo-code, line by line, for many runs at once."""
    dice = np.random.default_rng(seed)
    p, rows = np.array(means), np.arange(runs)
    sums, counts, index = (np.zeros((runs, len(p))) for _ in range(3))
    drawn_at = np.zeros((runs, len(p)))
    for t in range(1, horizon + 1):
        if t <= len(p) * f:
            arm = np.full(runs, (t - 1) % len(p))
        else:
            due = counts % f == 0
            if not redraw:
                due &= drawn_at != counts
            n = np.maximum(counts, 1)
            fresh = sums / n + dice.laplace(0, n ** (1.1 / 2 - 1)) + np.sqrt(2 * math.log(t) / n)
            index = np.where(due, fresh, index)
            drawn_at = np.where(due, counts, drawn_at)
            arm = np.argmax(index, axis=1)
        sums[rows, arm] += dice.random(runs) < p[arm]
        counts[rows, arm] += 1
    return np.asarray(counts @ (p.max() - p))


def test_it_is_the_pseudo_code() -> None:
    policy = PrintedAlgorithm3(epsilon=4.0, delta=DELTA)
    for means in ([0.9, 0.6], [0.2, 0.1, 0.55]):
        result = dpb.simulate({"it": policy}, dpb.Bernoulli(means), horizon=800, runs=4000, seed=1)
        ours = result.final_regret("it")
        assert same_distribution(ours, as_printed(means, 800, 2000, 2, policy.interval, redraw=True))
        assert not same_distribution(ours, as_printed(means, 800, 2000, 2, policy.interval, redraw=False))


def test_its_interval_is_the_papers() -> None:
    assert PrintedAlgorithm3(epsilon=1.0, delta=DELTA).interval == 253
    assert PrintedAlgorithm3(epsilon=0.1, delta=DELTA).interval == 21591


def test_it_claims_and_does_not_keep() -> None:
    """Every redraw counts: the first reward loses more than the whole claimed budget, exactly."""
    policy = PrintedAlgorithm3(epsilon=1.0, delta=DELTA)
    assert policy.guarantee() is None
    claim = policy.claim(1500)
    assert not claim.proved
    noise = TaintNoise(1)
    dice = np.random.default_rng(1)

    def reward(t: int, arm: int) -> Any:
        return secret_reward(t, float(dice.random() < (0.9, 0.6)[arm]))

    Game(policy, 2, 1500, noise, secret_dtype=object).play(reward, 1500)
    assert max(noise.losses().values()) > 10 * claim.epsilon
