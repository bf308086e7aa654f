"""The one loop of the simulation, for every policy and environment: plain Python here, compiled by `player`.

Three details decide the speed (benchmarks/results.md). The loop over the steps of a run is compiled without reference
counting (numba's private option `_nrt`, which script_loop.py uses too), which would count at every access to
an array of a State. Such code may not allocate, and does not. Many runs go through one call, since a call from Python
costs more than a short run. And a change of the arm is a branch with a side effect: processors guess that the arm
stays, and prepare the next step while the indices of this one are still being compared.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core.types import Array
from numba.core.types.containers import BaseTuple
from numba.extending import overload

from dpbandits import environments, mechanisms, policies  # noqa: F401  (their kernels are recorded on import)
from dpbandits._kernel import kernel
from dpbandits.engine.compiling import compiled_loop
from dpbandits.environments.base import Environment, block_sum, reward
from dpbandits.mechanisms.draws import uniform
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.policies.base import hold, select, update

NO_ARM = -(2**62)
WRONG_ARM = -2
WRONG_HOLD = -3


class Arms(NamedTuple):
    """What a run is counted in, and which arm of the environment the policy gets as its first, second, ..."""

    gaps: Any  # of the environment's arms
    order: Any
    is_shuffled: bool  # anew before every run


def arms_of(environment: Environment, shuffled: bool) -> Arms:
    """Return the arms of an environment, to be played as they stand or in random order."""
    return Arms(environment.gaps, np.arange(environment.arms), shuffled)


@kernel
def shuffle(order: Any, noise: Any) -> None:
    """Put the arms into random order, every one as likely (Fisher & Yates)."""
    for last in range(len(order) - 1, 0, -1):
        other = int(uniform(noise) * (last + 1))
        order[last], order[other] = order[other], order[last]


def play(
    params: Any,
    state: Any,
    environment: Any,
    arms: Any,
    noise: Any,
    horizon: int,
    longest_block: int,
    checkpoints: Any,
    regrets: Any,
    misses: Any,
    switches: Any,
    stop: Any,
) -> None:
    """Play one run from a cleared state; write the pseudo-regret at the checkpoints, and how often the arm changed.

    `misses`, as far as it goes, gets the number of plays of arms that are not the best, at the same checkpoints.
    `longest_block` limits the plays between two decisions; with 1 the run goes step by step. Another thread ends the
    run early by setting `stop`. A policy that names an arm which does not exist, or holds it for less than a play, ends
    it with WRONG_ARM or WRONG_HOLD in place of the switches.
    """
    t = 1
    regret = 0.0
    missed = 0
    gap = 0.0
    reached = 0
    arm = NO_ARM
    place = 0  # of that arm in the environment
    switches[0] = -1  # the first choice is no switch
    while t <= horizon and stop[0] == 0:
        choice = select(params, state, t)
        if choice != arm:
            switches[0] += 1
            arm = choice
            if arm < 0 or arm >= len(arms.order):
                switches[0] = WRONG_ARM
                return
            place = arms.order[arm]
            gap = arms.gaps[place]
        plays = min(hold(params, state, arm, t), longest_block, horizon - t + 1)
        if plays < 1:
            switches[0] = WRONG_HOLD
            return
        if plays == 1:  # noqa: SIM108  (the two are different things)
            total = reward(environment, place, t, noise)
        else:
            total = block_sum(environment, place, plays, t, noise)
        update(params, state, arm, plays, total, t + plays, noise)
        # Regret grows in a straight line inside a block, so checkpoints there are exact.
        while reached < len(checkpoints) and checkpoints[reached] < t + plays:
            regrets[reached] = regret + gap * (checkpoints[reached] - t + 1)
            if reached < len(misses):
                misses[reached] = missed + (gap > 0.0) * (checkpoints[reached] - t + 1)
            reached += 1
        regret += gap * plays
        missed += (gap > 0.0) * plays
        t += plays


def clear(part: Any) -> None:
    """Set every array of a state, nested or not, to zero."""
    if isinstance(part, tuple):
        for inner in part:
            clear(inner)
    else:
        part.fill(0)


@overload(clear, strict=False)
def _clear(part: Any) -> Any:
    if isinstance(part, Array):
        return lambda part: part.fill(0)
    if isinstance(part, BaseTuple):
        if len(part) == 0:
            return lambda part: None

        def clear_tuple(part: Any) -> None:
            clear(part[0])
            clear(part[1:])

        return clear_tuple
    return None


_play_run = njit(_nrt=False)(play)


def play_runs(
    params: Any,
    state: Any,
    environment: Any,
    arms: Any,
    noise: Any,
    horizon: int,
    longest_block: int,
    checkpoints: Any,
    regrets: Any,
    misses: Any,
    switches: Any,
    stop: Any,
) -> None:
    """Play one run per row of `regrets`, all from one source of noise."""
    for run in range(len(regrets)):
        clear(state)
        if arms.is_shuffled:
            shuffle(arms.order, noise)
        _play_run(
            *(params, state, environment, arms, noise, horizon, longest_block, checkpoints),
            *(regrets[run], misses[run], switches[run : run + 1], stop),
        )
        if switches[run] < 0:
            return


def player(params: Any, state: Any, environment: Any) -> Any:
    """Return `play_runs`, compiled for these types and kept on disk for the next process."""
    return compiled_loop(play_runs, (play, shuffle, _clear, SeededNoise, Arms), params, state, environment)
