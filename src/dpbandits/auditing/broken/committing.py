"""Explore, then commit: arms take turns, their sums are released once, the best is played for ever. Spoiled four times.

Done right, every reward is in one release of scale 1/ε, and the whole is ε-DP. Each class below does one thing wrong.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import CARRIED, LAPLACE, release, reserve
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update
from dpbandits.privacy import Guarantee


class State(NamedTuple):
    """What is kept for every arm, and which one was chosen, from 1; 0 while arms take turns."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    released: Annotated[Any, public("arms")]
    chosen: Annotated[Any, public("one", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]


@kernel
def turns_or_best(params: Any, state: State, t: int) -> int:
    """Return the arm whose turn it is, or the one that was chosen."""
    return state.chosen[0] - 1 if state.chosen[0] > 0 else (t - 1) % len(state.counts)


@kernel
def is_explored(params: Any, state: State, arm: int, plays: int, reward: Any) -> bool:
    """Add the plays and tell whether every arm has had its turns just now."""
    if state.chosen[0] > 0:
        return False
    state.counts[arm] += plays
    state.sums[arm] = state.sums[arm] + reward
    return arm == len(state.counts) - 1 and state.counts[arm] >= params.rounds


@kernel
def choose(state: State) -> None:
    """Commit to the arm with the largest released sum."""
    best = 0
    for arm in range(1, len(state.released)):
        best = arm if state.released[arm] > state.released[best] else best
    state.chosen[0] = best + 1


# ---- one shared noise for all arms


class SharedNoiseParams(NamedTuple):
    """Constants of the kernels."""

    rounds: int
    scale: float


@update.register(SharedNoiseParams)
@kernel
def _share_noise(
    params: SharedNoiseParams, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any
) -> None:
    if is_explored(params, state, arm, plays, reward):
        shared = reserve(noise, params.scale)
        for each in range(len(state.counts)):
            state.released[each] = release(noise, state.sums[each] + shared, CARRIED, LAPLACE, each)
        choose(state)


# ---- noise on one arm only


class OneArmOnlyParams(NamedTuple):
    """Constants of the kernels."""

    rounds: int
    scale: float


@update.register(OneArmOnlyParams)
@kernel
def _protect_one_arm(
    params: OneArmOnlyParams, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any
) -> None:
    if is_explored(params, state, arm, plays, reward):
        state.released[0] = release(noise, state.sums[0], params.scale, LAPLACE, 0)
        for each in range(1, len(state.counts)):
            state.released[each] = state.sums[each]
        choose(state)


# ---- release when the data say so


class DataDependentTimeParams(NamedTuple):
    """Constants of the kernels."""

    rounds: int
    scale: float


@update.register(DataDependentTimeParams)
@kernel
def _release_after_successes(
    params: DataDependentTimeParams, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any
) -> None:
    is_explored(params, state, arm, plays, reward)
    if state.chosen[0] == 0 and state.sums[arm] >= params.rounds:
        for each in range(len(state.counts)):
            state.released[each] = release(noise, state.sums[each], params.scale, LAPLACE, each)
        choose(state)


# ---- rounded means, ties by the raw sums


class RawTieBreakParams(NamedTuple):
    """Constants of the kernels."""

    rounds: int
    scale: float


@update.register(RawTieBreakParams)
@kernel
def _round_and_break_ties(
    params: RawTieBreakParams, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any
) -> None:
    if is_explored(params, state, arm, plays, reward):
        best = 0
        for each in range(len(state.counts)):
            mean = release(noise, state.sums[each], params.scale, LAPLACE, each) / state.counts[each]
            state.released[each] = math.floor(10.0 * min(max(mean, 0.0), 1.0) + 0.5) / 10.0
            is_tie = state.released[each] == state.released[best]
            if state.released[each] > state.released[best] or (is_tie and state.sums[each] > state.sums[best]):
                best = each
        state.chosen[0] = best + 1


for _params in (SharedNoiseParams, OneArmOnlyParams, DataDependentTimeParams, RawTieBreakParams):
    select.register(_params)(turns_or_best)
    hold.register(_params)(every_step)


@dataclass(frozen=True, kw_only=True)
class BrokenCommittingPolicy(Policy):
    """What the four share: they claim epsilon, and nothing is proved for them."""

    source = "made to be refuted"
    params: ClassVar[Any]

    epsilon: float
    rounds: int = 2

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="(0, inf)")
        _validate.integer_fields(self, rounds="[1, 1000000]")

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(self.params(self.rounds, 1 / self.epsilon), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:
        """Return None: nothing is proved."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee that the policy claims, and does not keep."""
        return Guarantee(self.epsilon, horizon=horizon, theorem="a mistake", proved=False)


class SharedNoise(BrokenCommittingPolicy):
    """One noise for all arms."""

    name = "broken/shared-noise"
    params = SharedNoiseParams


class OneArmOnly(BrokenCommittingPolicy):
    """Noise for the first arm."""

    name = "broken/one-arm-only"
    params = OneArmOnlyParams


class DataDependentTime(BrokenCommittingPolicy):
    """Releases as soon as one arm has had a number of successes."""

    name = "broken/data-dependent-time"
    params = DataDependentTimeParams


class RawTieBreak(BrokenCommittingPolicy):
    """Means rounded to 0.1; the raw sum decides between equal ones."""

    name = "broken/raw-tie-break"
    params = RawTieBreakParams
