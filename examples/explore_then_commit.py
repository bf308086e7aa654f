"""A policy of one's own: explore, release every sum once, then play the best. docs/adding_a_policy.md explains it.

    index_a = (S_a(m) + Lap(1/ε)) / m          after m plays of every arm

Privacy: a reward is in one sum, and every sum is released once. The whole action sequence is ε-DP.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

import dpbandits as dpb
from dpbandits import kernel
from dpbandits.mechanisms import LAPLACE, public, release, secret
from dpbandits.policies import FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.privacy import per_reward_budget, scale_for


class Params(NamedTuple):
    plays: int  # of every arm, before the sums are released
    scale: float


class State(NamedTuple):
    counts: Annotated[Any, public("arms", dtype=np.int64)]
    means: Annotated[Any, public("arms")]
    sums: Annotated[Any, secret("arms")]


@kernel
def is_exploring(params: Params, state: State, t: int) -> bool:
    return t <= params.plays * len(state.counts)


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    if is_exploring(params, state, t):
        return (t - 1) // params.plays
    return int(np.argmax(state.means))


@hold.register(Params)
@kernel
def _hold(params: Params, state: State, arm: int, t: int) -> int:
    if is_exploring(params, state, t):
        return int(params.plays - state.counts[arm])
    return FOREVER


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    state.sums[arm] += reward
    if state.counts[arm] == params.plays:
        state.means[arm] = release(noise, state.sums[arm], params.scale, LAPLACE, arm) / params.plays


@dataclass(frozen=True, kw_only=True)
class ExploreThenCommit(Policy):
    """Explore every arm `plays` times, release the sums, play the best."""

    name = "explore-then-commit"
    source = "this file"

    epsilon: float
    plays: int

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.plays, scale_for(self.epsilon)), State)

    def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
        theorem = "one release of each reward"
        return dpb.Guarantee(self.epsilon, horizon=horizon, theorem=theorem, proved=True)

    # For live use: the budget of one reward among several of one person, and the release of every arm.

    def live(self, contributions: int, grid_bits: int) -> "ExploreThenCommit":
        return replace(self, epsilon=per_reward_budget(dpb.Budget(self.epsilon), contributions).epsilon)

    def blocks(self, horizon: int) -> Iterator[Block]:
        return (block for block in [Block(1, self.plays, scale_for(self.epsilon))] if block.last <= horizon)


if __name__ == "__main__":
    policies = [dpb.UCB(), ExploreThenCommit(epsilon=1.0, plays=100), dpb.DPUCBInt(epsilon=1.0, delta=1e-6)]
    print(dpb.simulate(policies, dpb.Bernoulli([0.9, 0.6]), horizon=100_000, runs=1000, seed=1).summary().round(1))
