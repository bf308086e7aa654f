"""Arms in turn, and the sum of every two rewards of an arm is released: right, or with one thing wrong."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms import CARRIED, LAPLACE, release, reserve
from dpbandits.mechanisms.draws import uniform
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies import Policy, Setup, hold, select, update
from dpbandits.policies.policy import every_step
from dpbandits.privacy import Guarantee

WAYS = (
    "right",
    "kept",  # one noise for all releases of an arm
    "bounded",  # noise drawn again until it is small
    "pushed",  # noise drawn again until it is large
    "shrinking",  # a tenth of the noise after so many plays
    "third",  # half the noise for the third arm
    "mean",  # the mean of two noises, as if it had the size of one
    "all",  # the mean of the arm's first noise and a new one in every release
    "dropped",  # a reserved noise that is taken out of the second release
    "random",  # a raw sum decides, when a coin says so
)
_PLAYS = 20  # until "shrinking" shrinks


class Params(NamedTuple):
    what: int
    scale: float


class State(NamedTuple):
    counts: Annotated[Any, public("arms", dtype=np.int64)]
    released: Annotated[Any, public("arms")]
    chosen: Annotated[Any, public("one", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]
    kept: Annotated[Any, secret("arms")]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    return state.chosen[0] - 1 if state.chosen[0] > 0 else (t - 1) % len(state.counts)


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    what, scale = params.what, params.scale
    state.counts[arm] += plays
    state.sums[arm] = state.sums[arm] + reward
    if what == 9 and t == 2 and uniform(noise) < 0.5:
        state.chosen[0] = 2 if state.sums[0] > 0.5 else 1
    if state.counts[arm] % 2 == 1:
        return
    if what == 4 and t > _PLAYS:
        scale = scale / 10
    if what == 5 and arm == 2:
        scale = scale / 2
    total = state.sums[arm]
    state.sums[arm] = 0
    if what in (0, 4, 5, 9):
        state.released[arm] = release(noise, total, scale, LAPLACE, arm)
        return
    if what == 1:
        if state.counts[arm] == 2:
            state.kept[arm] = reserve(noise, scale, LAPLACE, arm)
        drawn = state.kept[arm]
    elif what == 2:
        drawn = reserve(noise, scale, LAPLACE, arm)
        while abs(drawn) > 3 * scale:
            drawn = reserve(noise, scale, LAPLACE, arm)
    elif what == 3:
        drawn = reserve(noise, scale, LAPLACE, arm)
        while abs(drawn) < 2 * scale:
            drawn = reserve(noise, scale, LAPLACE, arm)
    elif what == 6:
        drawn = (reserve(noise, scale, LAPLACE, arm) + reserve(noise, scale, LAPLACE, arm)) / 2
    elif what == 7:
        if state.counts[arm] == 2:
            state.kept[arm] = reserve(noise, scale, LAPLACE, arm)
        drawn = (state.kept[arm] + reserve(noise, scale, LAPLACE, arm)) / 2
    else:
        drawn = reserve(noise, scale, LAPLACE, arm)
        if state.counts[arm] == 2:
            state.kept[arm] = drawn
            drawn = drawn + reserve(noise, scale, LAPLACE, arm)
    state.released[arm] = release(noise, total + drawn, CARRIED, LAPLACE, arm)


@dataclass(frozen=True)
class InTurn(Policy):
    what: str = "right"
    epsilon: float = 1.0
    name = "in-turn"
    source = "tests"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(WAYS.index(self.what), 1 / self.epsilon), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        return Guarantee(self.epsilon, horizon=horizon, theorem="tests", proved=True)
