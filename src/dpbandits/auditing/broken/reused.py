"""Mistakes in phases: noise that is not fresh, not whole, or on a sum that should be gone."""

from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.auditing.broken.phased import BrokenPhasePolicy, State, in_phases, mean_of_phase
from dpbandits.mechanisms.release import CARRIED, LAPLACE, release, reserve
from dpbandits.policies.phases import Phases

# ---- one noise per arm


class KeptNoiseParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(KeptNoiseParams)
@kernel
def _keep_noise(params: KeptNoiseParams, state: State, arm: int, plays: float, noise: Any) -> float:
    if state.tally.done[arm] == 0:
        state.carried[arm] = reserve(noise, params.phases.scale, LAPLACE, arm)
    return release(noise, state.tally.sums[arm] + state.carried[arm], CARRIED, LAPLACE, arm) / plays


in_phases(KeptNoiseParams)


class KeptNoise(BrokenPhasePolicy):
    """The noise of an arm is drawn once, for all of its phases."""

    name = "broken/kept-noise"
    params = KeptNoiseParams


# ---- noise that is never large


class SmallNoiseParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(SmallNoiseParams)
@kernel
def _draw_until_small(params: SmallNoiseParams, state: State, arm: int, plays: float, noise: Any) -> float:
    draw = reserve(noise, params.phases.scale, LAPLACE, arm)
    while abs(draw) > 2.0 * params.phases.scale:
        draw = reserve(noise, params.phases.scale, LAPLACE, arm)
    return release(noise, state.tally.sums[arm] + draw, CARRIED, LAPLACE, arm) / plays


in_phases(SmallNoiseParams)


class SmallNoise(BrokenPhasePolicy):
    """Noise is drawn until it is small."""

    name = "broken/small-noise"
    params = SmallNoiseParams


# ---- a sum that goes on


class NeverResetParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(NeverResetParams)
@kernel
def _release_all_so_far(params: NeverResetParams, state: State, arm: int, plays: float, noise: Any) -> float:
    state.carried[arm] = state.carried[arm] + state.tally.sums[arm]
    return release(noise, state.carried[arm], params.phases.scale, LAPLACE, arm) / state.tally.counts[arm]


in_phases(NeverResetParams)


class NeverReset(BrokenPhasePolicy):
    """The sum of an arm is not reset after its release."""

    name = "broken/never-reset"
    params = NeverResetParams
