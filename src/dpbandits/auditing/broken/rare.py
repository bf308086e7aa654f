"""Mistakes in phases that need a third arm, or values that hardly ever come."""

from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.auditing.broken.phased import BrokenPhasePolicy, State, in_phases, mean_of_phase
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.policies.phases import Phases

WINDOW = (0.300, 0.302)


# ---- half the noise for the third arm


class WeakThirdArmParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(WeakThirdArmParams)
@kernel
def _halve_noise_of_third(params: WeakThirdArmParams, state: State, arm: int, plays: float, noise: Any) -> float:
    scale = params.phases.scale / 2.0 if arm == 2 else params.phases.scale
    return release(noise, state.tally.sums[arm], scale, LAPLACE, arm) / plays


in_phases(WeakThirdArmParams)


class WeakThirdArm(BrokenPhasePolicy):
    """Half the noise for the third arm."""

    name = "broken/weak-third-arm"
    params = WeakThirdArmParams


# ---- a second look


class SecondLookParams(NamedTuple):
    """Constants of the kernels."""

    phases: Phases


@mean_of_phase.register(SecondLookParams)
@kernel
def _look_again(params: SecondLookParams, state: State, arm: int, plays: float, noise: Any) -> float:
    mean = release(noise, state.tally.sums[arm], params.phases.scale, LAPLACE, arm) / plays
    other = (arm + 1) % len(state.means)
    if state.tally.done[other] > 0 and WINDOW[0] < mean - state.means[other] < WINDOW[1]:
        second_mean = release(noise, state.tally.sums[arm], params.phases.scale, LAPLACE, arm) / plays
        return (mean + second_mean) / 2.0
    return mean


in_phases(SecondLookParams)


class SecondLook(BrokenPhasePolicy):
    """Released again if a mean is ahead of the next arm's by 0.300 to 0.302."""

    name = "broken/second-look"
    params = SecondLookParams
