"""Compiled or not, in blocks or step by step, with its arms in any order: a policy is the same policy."""

import numpy as np
import pytest

import dpbandits as dpb
from distributions import same_distribution
from dpbandits.engine.driver import Chunk
from dpbandits.engine.game import Game
from dpbandits.engine.loop import NO_MISTAKE, Task, play_runs, rules_of
from dpbandits.mechanisms import SeededNoise
from dpbandits.policies import Policy
from dpbandits.policies.phases import PhasePolicy
from dpbandits.simulation.job import Job
from dpbandits.simulation.plays import room_for_plays
from every_policy import ARMS, DELTA, HORIZON, SEEDS, SETTINGS, bits, every_policy, horizon_of, shown

pytestmark = pytest.mark.slow


@every_policy
@pytest.mark.parametrize("blocks", [True, False], ids=["blocks", "steps"])
def test_compiled_and_plain_are_the_same_trajectory(policy: Policy, blocks: bool) -> None:
    environment, horizon = dpb.Bernoulli([0.31, 0.7, 0.52]), horizon_of(policy)
    every_step, kinds = np.arange(1, horizon + 1), np.arange(ARMS)
    compiled = Job(policy, environment, horizon, every_step, blocks=blocks).play(Chunk(3, SEEDS))
    game = Game(policy, ARMS, horizon, SeededNoise(SEEDS))
    plain = room_for_plays(environment.gaps, every_step, kinds, 3)
    rules = rules_of(ARMS, horizon, longest_block=2**62 if blocks else 1)
    task = Task(environment.configure(), plain, rules)
    assert play_runs(task, game.params, game.state, game.noise, 3) == NO_MISTAKE
    assert compiled.regrets.tolist() == plain.regrets.tolist()  # no two arms have the same gap
    assert compiled.switches.tolist() == plain.switches.tolist()
    arms = plain.chosen
    assert plain.regrets == pytest.approx(np.cumsum(environment.gaps[arms], axis=1))
    assert (plain.plays == np.cumsum(arms[:, :, None] == kinds, axis=1)).all()
    assert (plain.switches == np.count_nonzero(np.diff(arms, axis=1), axis=1)).all()


@every_policy
def test_blocks_and_steps_have_the_same_distribution(policy: Policy) -> None:
    """Kolmogorov-Smirnov on 4000 runs each, false-alarm rate 1e-4; bit for bit where every block is a single play."""
    environment, horizon = dpb.Bernoulli([0.3, 0.8, 0.5]), horizon_of(policy)
    has_blocks = isinstance(policy, dpb.DPUCBInt | PhasePolicy | dpb.DPSE | dpb.AdaCUCB)
    has_blocks &= not isinstance(policy, dpb.LazyDPTS)  # which draws a new choice at every step
    game = Game(policy, ARMS, horizon, SeededNoise(2)).play(bits(1), horizon, "blocks")
    assert has_blocks == (max(plays for _, _, plays in game.blocks) > 1)
    played = {}
    for blocks in (True, False):
        job = Job(policy, environment, horizon, np.array([50, horizon]), blocks=blocks)
        seed = np.random.SeedSequence(2 if has_blocks and blocks else 1)
        played[blocks] = job.play(Chunk(4000 if has_blocks else 50, seed)).regrets
    if has_blocks:
        is_constant = not np.ptp(played[True], axis=0).any()  # in turn, DP-SE has the same regret in every run
        assert is_constant or not np.array_equal(played[True], played[False])
        for column in range(2):
            assert same_distribution(played[True][:, column], played[False][:, column])
    else:
        assert np.array_equal(played[True], played[False])


def test_the_test_of_distributions_has_power() -> None:
    """Slightly more noise (v = 1.2 instead of 1.1) is told apart by the same test."""
    samples = []
    for v, seed in ((1.1, 1), (1.2, 2)):
        job = Job(
            dpb.DPUCBInt(epsilon=3.0, delta=DELTA, v=v), dpb.Bernoulli([0.3, 0.8, 0.5]), HORIZON, np.array([HORIZON])
        )
        samples.append(job.play(Chunk(4000, np.random.SeedSequence(seed))).regrets[:, 0])
    assert not same_distribution(*samples)


# All indices of this one are 1 for so long that the order of the arms decides.
@pytest.mark.parametrize("policy", [p for p in SETTINGS if p != dpb.AdaPKLUCB(epsilon=0.7)], ids=shown)
def test_arms_are_treated_alike(policy: Policy) -> None:
    """The same arms in another order give the same distribution of regret (ties apart): KS at 1e-4 on 3000 runs."""
    samples = []
    for means, seed in (([0.25, 0.75, 0.5], 3), ([0.75, 0.5, 0.25], 4)):
        job = Job(policy, dpb.Bernoulli(means), horizon_of(policy), np.array([horizon_of(policy)]))
        samples.append(job.play(Chunk(3000, np.random.SeedSequence(seed))).regrets[:, 0])
    assert same_distribution(*samples)
