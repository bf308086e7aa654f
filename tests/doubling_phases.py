"""A policy of single blocks, for tests: phases of 8, 16, 32, ... plays, each released once, all of them averaged."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

import dpbandits as dpb
from dpbandits import kernel
from dpbandits.mechanisms import LAPLACE, public, release, secret
from dpbandits.policies import Block, Policy, Setup, hold, select, update
from dpbandits.privacy import per_reward_budget, scale_for

FIRST = 8


class Params(NamedTuple):
    scale: float


class State(NamedTuple):
    counts: Annotated[Any, public("arms", dtype=np.int64)]
    ends: Annotated[Any, public("arms", dtype=np.int64)]
    released: Annotated[Any, public("arms")]
    sums: Annotated[Any, secret("arms")]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    if t <= FIRST * len(state.counts):
        return (t - 1) % len(state.counts)
    best, highest = 0, -math.inf
    for arm in range(len(state.counts)):
        index = (state.released[arm] + 3.0 * params.scale) / state.ends[arm] + math.sqrt(math.log(t) / state.ends[arm])
        if index > highest:
            best, highest = arm, index
    return best


@hold.register(Params)
@kernel
def _hold(params: Params, state: State, arm: int, t: int) -> int:
    return 1


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    state.sums[arm] += reward
    end = 2 * state.ends[arm] + FIRST
    if state.counts[arm] == end:
        state.released[arm] += release(noise, state.sums[arm], params.scale, LAPLACE, arm)
        state.sums[arm] = 0
        state.ends[arm] = end


@dataclass(frozen=True, kw_only=True)
class Phases(Policy):
    name = "phases"
    source = "this file"

    epsilon: float

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(scale_for(self.epsilon)), State)

    def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
        return dpb.Guarantee(self.epsilon, horizon=horizon, theorem="one release of each reward", proved=True)

    def live(self, contributions: int, grid_bits: int) -> "Phases":
        return replace(self, epsilon=per_reward_budget(dpb.Budget(self.epsilon), contributions).epsilon)

    def blocks(self, horizon: int) -> Iterator[Block]:
        last = 0
        while 2 * last + FIRST <= horizon:
            first, last = last + 1, 2 * last + FIRST
            yield Block(first, last, scale_for(self.epsilon))
