"""Compiled or not, in blocks or step by step, with its arms in any order: a policy is the same policy."""

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.engine.driver import Chunk
from dpbandits.engine.game import Game
from dpbandits.engine.loop import NO_MISTAKE, Task, play_runs, rules_of
from dpbandits.mechanisms import SeededNoise
from dpbandits.policies import PhasePolicy, Policy
from dpbandits.simulation.job import Job
from dpbandits.simulation.plays import room_for_plays
from dpbandits.testing.definition_checks import FALSE_ALARMS, same_distribution
from every_policy import ARMS, DELTA, HORIZON, SEEDS, bits, every_policy, horizon_of

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
def test_who_plays_in_blocks_has_long_ones(policy: Policy) -> None:
    """And for the others blocks and steps are the same, bit for bit."""
    has_blocks = isinstance(policy, dpb.DPUCBInt | PhasePolicy | dpb.DPSE) and not isinstance(policy, dpb.LazyDPTS)
    horizon = horizon_of(policy)
    game = Game(policy, ARMS, horizon, SeededNoise(2)).play(bits(1), horizon, "blocks")
    assert has_blocks == (max(plays for _, _, plays in game.blocks) > 1)
    if not has_blocks:
        jobs = [
            Job(policy, dpb.Bernoulli([0.3, 0.8, 0.5]), horizon, np.array([50, horizon]), blocks=b)
            for b in (True, False)
        ]
        in_blocks, in_steps = (job.play(Chunk(50, np.random.SeedSequence(1))).regrets for job in jobs)
        assert np.array_equal(in_blocks, in_steps)


def test_the_test_of_distributions_has_power() -> None:
    """Slightly more noise (v = 1.2 instead of 1.1) is told apart by the same test."""
    samples = []
    for v, seed in ((1.1, 1), (1.2, 2)):
        job = Job(
            dpb.DPUCBInt(epsilon=3.0, delta=DELTA, v=v), dpb.Bernoulli([0.3, 0.8, 0.5]), HORIZON, np.array([HORIZON])
        )
        samples.append(job.play(Chunk(4000, np.random.SeedSequence(seed))).regrets[:, 0])
    assert not same_distribution(samples[0], samples[1], FALSE_ALARMS)
