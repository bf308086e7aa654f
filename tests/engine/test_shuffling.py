"""Arms in random order: every order as likely, and otherwise the same runs."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

import dpbandits as dpb
from dpbandits.mechanisms import SeededNoise
from dpbandits.mechanisms.draws import uniform
from dpbandits.mechanisms.state import allocate
from dpbandits.simulation.job import Job


def test_every_order_of_the_arms_is_as_likely() -> None:
    """Chi-squared over the 24 orders of 4 arms in 24,000 shuffles, false-alarm rate 1e-4; a lazy shuffle fails."""
    from dpbandits.engine.loop import shuffle

    def lazily(order: NDArray[np.int64], noise: SeededNoise) -> None:
        for place in range(len(order)):
            other = int(uniform(noise) * len(order))
            order[place], order[other] = order[other], order[place]

    for method, is_fair in ((shuffle, True), (lazily, False)):
        noise, seen = SeededNoise(5), Counter[tuple[int, ...]]()
        for _ in range(24_000):
            order = np.arange(4)
            method(order, noise)
            seen[tuple(order.tolist())] += 1
        assert len(seen) == 24
        assert (chisquare(list(seen.values())).pvalue > 1e-4) == is_fair


def test_shuffled_runs_are_runs_of_the_shuffled_arms() -> None:
    """Compiled, with regret and misses: the same as playing the arms in the order that the generator gives."""
    from dpbandits.engine import loop

    means, horizon, policy = np.array([0.2, 0.9, 0.4]), 300, dpb.DPUCB(epsilon=1.0)
    times = np.array([10, horizon])
    job = Job(policy, dpb.Bernoulli(means), horizon, times, shuffled=True)
    compiled, misses = np.empty((5, 2)), np.empty((5, 2), dtype=np.int64)
    job.play(np.random.SeedSequence(3), compiled, misses=misses)
    noise, order = SeededNoise(np.random.SeedSequence(3)), np.arange(3)
    orders = []
    for run in range(5):
        loop.shuffle(order, noise)
        orders.append(tuple(order.tolist()))
        environment = dpb.Bernoulli(means[order])
        setup = policy.configure(3, horizon)
        state = allocate(setup.state_class, setup.sizes, np.float64)
        plain, missed, switches = np.empty(2), np.empty(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
        arms = loop.arms_of(environment, shuffled=False)
        arguments: tuple[Any, Any, Any, Any, Any] = (setup.params, state, environment.configure(), arms, noise)
        loop.play(*arguments, horizon, 2**62, times, plain, missed, switches, np.zeros(1))
        assert compiled[run].tolist() == plain.tolist()
        assert misses[run].tolist() == missed.tolist()
    assert len(set(orders)) > 1
