"""Job: one policy in one environment, ready for any number of runs."""

import numpy as np
from numpy.typing import NDArray

from dpbandits.engine.cpu import CPUPlayer
from dpbandits.engine.driver import Chunk
from dpbandits.engine.loop import Task
from dpbandits.environments.environment import Environment, block_sum, one_by_one
from dpbandits.policies.policy import FOREVER, Policy
from dpbandits.simulation.plays import Plays, room_for_plays
from dpbandits.simulation.regrets import Regrets, room_for_regrets
from dpbandits.simulation.trying_out import try_out

# A block that is drawn reward by reward cannot be stopped in the middle.
_LONGEST_LOOP = 2**20


class Job:
    """A policy and an environment, set up for a horizon. Threads may share one.

    Args:
        policy, environment: what is played where.
        horizon: the last time.
        checkpoints: the times at which regret is kept.
        kinds: what arms are to be told apart by, a number for each; plays of every kind are kept then.
        blocks: whether choices are held for as long as the policy allows, or made at every step.
        shuffled: whether the policy gets the arms in another random order in every run.
    """

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        horizon: int,
        checkpoints: NDArray[np.int64],
        *,
        kinds: NDArray[np.int64] | None = None,
        blocks: bool = True,
        shuffled: bool = False,
    ) -> None:
        self._player = CPUPlayer(policy, environment.arms, horizon)
        self._gaps, self._params = environment.gaps, environment.configure()
        self._checkpoints, self._kinds = checkpoints, kinds
        self._shuffled = shuffled
        is_slow = block_sum.dispatch(type(self._params)) is one_by_one
        self._longest_block = 1 if not blocks else _LONGEST_LOOP if is_slow else FOREVER
        try_out(environment, horizon)

    def play(self, chunk: Chunk, stop: NDArray[np.int64] | None = None) -> Regrets | Plays:
        """Play some runs, which any number but 0 in `stop` ends, and return the trace."""
        trace: Regrets | Plays
        if self._kinds is None:
            trace = room_for_regrets(self._gaps, self._checkpoints, chunk.runs)
        else:
            trace = room_for_plays(self._gaps, self._checkpoints, self._kinds, chunk.runs)
        rules = self._player.rules(stop, longest_block=self._longest_block, shuffled=self._shuffled)
        self._player.play(Task(self._params, trace, rules), chunk.runs, chunk.seed)
        return trace
