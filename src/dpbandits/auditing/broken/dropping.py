"""Elimination in rounds, with a loop that ends one arm too early. It is not private, and nobody should use it.

In a round every arm that is left is played so often, then all their sums are released, with noise of scale 1/ε. The
worst is dropped if it is far behind. Done right, all sums are reset then, every reward is in one release, and the
whole is ε-DP.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update
from dpbandits.privacy import Guarantee

_BEHIND = 1.0  # of the means


class Params(NamedTuple):
    """Constants of the kernels."""

    plays: int  # of an arm in a round
    scale: float


class State(NamedTuple):
    """What is kept for every arm, how many were dropped, and whose turn it is."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    is_dropped: Annotated[Any, public("arms", dtype=np.int64)]
    means: Annotated[Any, public("arms")]
    dropped: Annotated[Any, public("one", dtype=np.int64)]
    turn: Annotated[Any, public("one", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]


@kernel
def next_left(state: State, arm: int) -> int:
    """Return the first arm from `arm` on that was not dropped; the number of arms if there is none."""
    while arm < len(state.counts) and state.is_dropped[arm] == 1:
        arm += 1
    return arm


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    return state.turn[0]


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    arms = len(state.counts)
    if state.dropped[0] == arms - 1:
        return
    state.counts[arm] += plays
    state.sums[arm] = state.sums[arm] + reward
    state.turn[0] = next_left(state, arm + 1)
    if state.turn[0] < arms:
        return
    if state.counts[arm] % params.plays == 0:
        end_round(params, state, noise)
    state.turn[0] = next_left(state, 0)


@kernel
def end_round(params: Params, state: State, noise: Any) -> None:
    """Release the sums of the arms that are left, drop the worst if it is far behind, and begin anew."""
    arms = len(state.counts)
    best = worst = next_left(state, 0)
    for each in range(best, arms):
        if state.is_dropped[each] == 0:
            state.means[each] = release(noise, state.sums[each], params.scale, LAPLACE, each) / params.plays
            best = each if state.means[each] > state.means[best] else best
            worst = each if state.means[each] < state.means[worst] else worst
    if state.means[best] - state.means[worst] > _BEHIND:
        state.is_dropped[worst] = 1
        state.dropped[0] += 1
    for each in range(arms - state.dropped[0]):  # this many are left, but they are not the first ones
        state.sums[each] = 0


@dataclass(frozen=True, kw_only=True)
class DroppedUnreset(Policy):
    """Elimination that forgets to reset the sum of the last arm once another was dropped."""

    name = "broken/dropped-unreset"
    source = "made to be refuted"

    epsilon: float
    plays: int = 2

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="(0, inf)")
        _validate.integer_fields(self, plays="[1, 1000000]")

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.plays, 1 / self.epsilon), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:
        """Return None: nothing is proved."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee that the policy claims, and keeps with two arms only."""
        return Guarantee(self.epsilon, horizon=horizon, theorem="a mistake", proved=False)
