"""Arms in random order: every order as likely, and otherwise the same runs."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

import dpbandits as dpb
from dpbandits.engine.driver import Chunk
from dpbandits.engine.game import Game
from dpbandits.engine.loop import NO_MISTAKE, play, rules_of, shuffle
from dpbandits.mechanisms import SeededNoise
from dpbandits.mechanisms.draws import uniform
from dpbandits.simulation.job import Job
from dpbandits.simulation.plays import room_for_plays


def test_every_order_of_the_arms_is_as_likely() -> None:
    """Chi-squared over the 24 orders of 4 arms in 24,000 shuffles, false-alarm rate 1e-4; a lazy shuffle fails."""

    def lazily(orders: NDArray[np.int64], row: int, noise: SeededNoise) -> None:
        order = orders[row]
        for place in range(len(order)):
            other = int(uniform(noise) * len(order))
            order[place], order[other] = order[other], order[place]

    for method, is_fair in ((shuffle, True), (lazily, False)):
        noise, seen = SeededNoise(5), Counter[tuple[int, ...]]()
        for _ in range(24_000):
            orders = np.tile(np.arange(4), (2, 1))
            method(orders, 1, noise)
            assert orders[0].tolist() == [0, 1, 2, 3]
            seen[tuple(orders[1].tolist())] += 1
        assert len(seen) == 24
        assert (chisquare(list(seen.values())).pvalue > 1e-4) == is_fair


def test_shuffled_runs_are_runs_of_the_shuffled_arms() -> None:
    """Compiled, with regret and plays: the same as playing the arms in the order that the generator gives."""
    means, horizon, policy = np.array([0.2, 0.9, 0.4]), 300, dpb.DPUCB(epsilon=1.0)
    times = np.array([10, horizon])
    job = Job(policy, dpb.Bernoulli(means), horizon, times, kinds=np.arange(3), shuffled=True)
    compiled = job.play(Chunk(5, np.random.SeedSequence(3)))
    noise, order = SeededNoise(np.random.SeedSequence(3)), np.arange(3).reshape(1, 3)
    orders = []
    for run in range(5):
        shuffle(order, 0, noise)
        orders.append(tuple(order[0].tolist()))
        environment = dpb.Bernoulli(means[order[0]])
        game = Game(policy, 3, horizon, noise)
        plain = room_for_plays(environment.gaps, times, order[0], 1)
        rules = rules_of(3, horizon)
        assert play(game.params, game.state, environment.configure(), plain, noise, rules, 0) == NO_MISTAKE
        for name in ("regrets", "plays", "chosen", "switches"):
            assert getattr(compiled, name)[run].tolist() == getattr(plain, name)[0].tolist()
    assert len(set(orders)) > 1
