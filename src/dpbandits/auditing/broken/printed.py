"""Algorithm 3 exactly as it is printed, to see what it does. It is not private, and not for use.

    while n_a is a multiple of f = ⌈1/ε⌉:   x_a <- S_a / n_a + Lap(n_a^(v/2 - 1)) + √(2 ln t / n_a)   at every step t

The pseudo-code tests the count of every arm at every step, so an arm that waits at a multiple of f gets a new noise at
every step until it is played. The same mean is released again and again, and one large draw is enough to play the arm
f times more.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies import interval_epsilon, published_interval_guarantee
from dpbandits.policies.exploration import Tables, inverse_root, root, tables
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update
from dpbandits.privacy import Budget, Guarantee


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    interval: int
    half_v: float


class State(NamedTuple):
    """What is kept for every arm."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    indices: Annotated[Any, public("arms")]
    sums: Annotated[Any, secret("arms")]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.counts)
    if t <= arms * params.interval:
        return (t - 1) % arms
    best = 0
    for arm in range(1, arms):
        best = arm if state.indices[arm] > state.indices[best] else best
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    state.sums[arm] = state.sums[arm] + reward
    if t <= len(state.counts) * params.interval:
        return
    spread = root(params.tables, t)
    for each in range(len(state.counts)):
        n = state.counts[each]
        if n % params.interval == 0:  # drawn again at every step
            mean = release(noise, state.sums[each], float(n) ** params.half_v, LAPLACE, each) / n
            state.indices[each] = mean + spread * inverse_root(params.tables, n)


@dataclass(frozen=True, kw_only=True)
class PrintedAlgorithm3(Policy):
    """Algorithm 3 to the letter, with epsilon from Corollary 3.2."""

    name = "broken/redrawn-release"
    source = "Tossou & Dimitrakakis 2016, Algorithm 3"

    epsilon: float
    delta: float
    v: float = 1.1

    @property
    def interval(self) -> int:
        """f = ⌈1/ε⌉."""
        return math.ceil(1 / interval_epsilon(Budget(self.epsilon, self.delta), self.v))

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(tables(horizon), self.interval, self.v / 2), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:
        """Return None: nothing is proved."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee of Corollary 3.1, which counts every release once."""
        internal = interval_epsilon(Budget(self.epsilon, self.delta), self.v)
        claimed = published_interval_guarantee(internal, self.v, "constant", delta=self.delta, horizon=horizon)
        return Guarantee(
            claimed.epsilon, claimed.delta, horizon=horizon, theorem="Corollary 3.1 of the paper", proved=False
        )
