"""Mistakes in phases that only long runs make."""

from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.auditing.broken.phased import BrokenPhasePolicy, State, in_phases, learn_phase, mean_of_phase
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.policies.phases import Phases, chosen_arm, plays_left, rest_of_phase
from dpbandits.policies.policy import hold, select, update

MANY = 1024
LONG_PHASE = 4096
IN_A_ROW = 10


# ---- a tenth of the noise


class TenthAfterManyParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(TenthAfterManyParams)
@kernel
def _divide_late_noise(params: TenthAfterManyParams, state: State, arm: int, plays: float, noise: Any) -> float:
    scale = params.phases.scale if state.tally.counts[arm] <= MANY else params.phases.scale / 10.0
    return release(noise, state.tally.sums[arm], scale, LAPLACE, arm) / plays


in_phases(TenthAfterManyParams)


class TenthAfterMany(BrokenPhasePolicy):
    """A tenth of the noise after 1024 plays of an arm."""

    name = "broken/tenth-after-1024"
    params = TenthAfterManyParams


# ---- the reward between two long phases


class OverlappingPhasesParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(OverlappingPhasesParams)
@kernel
def _release_phase(params: OverlappingPhasesParams, state: State, arm: int, plays: float, noise: Any) -> float:
    return release(noise, state.tally.sums[arm], params.phases.scale, LAPLACE, arm) / plays


@hold.register(OverlappingPhasesParams)
@kernel
def _stop_before_the_end(params: OverlappingPhasesParams, state: State, arm: int, t: int) -> int:
    left = plays_left(params.phases, state.tally, arm)
    return left - 1 if left > LONG_PHASE else rest_of_phase(params, state, arm, t)


@update.register(OverlappingPhasesParams)
@kernel
def _take_the_last_twice(
    params: OverlappingPhasesParams, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any
) -> None:
    k = state.tally.done[arm]
    learn_phase(params, state, arm, plays, reward, t, noise)
    if plays == 1 and state.tally.done[arm] > k and params.phases.sizes[k] > LONG_PHASE:
        state.tally.sums[arm] = state.tally.sums[arm] + reward  # it is in the phase that it ended


select.register(OverlappingPhasesParams)(chosen_arm)


class OverlappingPhases(BrokenPhasePolicy):
    """The last reward of a phase of more than 4096 plays is the first of the next."""

    name = "broken/overlapping-phases"
    params = OverlappingPhasesParams


# ---- once more, all together


class PooledAgainParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(PooledAgainParams)
@kernel
def _pool_a_winning_arm(params: PooledAgainParams, state: State, arm: int, plays: float, noise: Any) -> float:
    if state.row[0] // IN_A_ROW != arm:
        state.row[0] = arm * IN_A_ROW
        state.carried[arm] = 0
    state.row[0] += 1
    state.carried[arm] = state.carried[arm] + state.tally.sums[arm]
    if state.row[0] % IN_A_ROW == 0:  # every one of these sums has been released
        return release(noise, state.carried[arm], params.phases.scale, LAPLACE, arm) / state.tally.counts[arm]
    return release(noise, state.tally.sums[arm], params.phases.scale, LAPLACE, arm) / plays


in_phases(PooledAgainParams)


class PooledAgain(BrokenPhasePolicy):
    """Of an arm that wins ten phases in a row the sum of all ten is released."""

    name = "broken/pooled-again"
    params = PooledAgainParams
