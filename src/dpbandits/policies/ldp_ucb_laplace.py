"""LDP-UCB-Laplace: every reward gets Laplace noise of its own before anybody sees it, and UCB plays with the sums.

    index_a(t) = mean of arm a's noisy rewards + √(2 ln t / n) + √(32 ln t / (ε² n))
    an arm with n <= 4 ln(t + 1) comes first          (LDP-UCB-L of Ren, Zhou, Liu & Shroff 2020)

For rewards that are not bits. Regret of order ε^-2 Σ ln T / Δ_a.

Privacy: local. A reward is released once, by itself, with Laplace noise: whoever runs the bandit need not be trusted
with it, and the whole action sequence is ε-DP at any horizon.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public
from dpbandits.policies.base import EPSILONS, Policy, Setup, every_step, hold, select, update, validated_size
from dpbandits.policies.exploration import Tables, inverse, inverse_root, root, tables
from dpbandits.privacy import Event, Guarantee, LaplaceEvent, scale_for

LOCAL = "Laplace noise of every reward (local model)"


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    scale: float
    breadth: float  # 1 + 4/ε: both roots of the index together are √(2 ln t / n) times this


class State(NamedTuple):
    """What is kept of every arm: noisy rewards, which are public."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    means: Annotated[Any, public("arms")]
    widths: Annotated[Any, public("arms")]  # (1 + 4/ε)/√n


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    fewest = 4.0 * math.log(t + 1.0)
    spread = root(params.tables, t)
    best, highest = 0, -math.inf
    for arm in range(len(state.means)):
        if state.counts[arm] <= fewest:
            return arm
        index = state.means[arm] + spread * state.widths[arm]
        if index > highest:
            best, highest = arm, index
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    n = state.counts[arm] + plays
    state.sums[arm] += release(noise, reward, params.scale, LAPLACE, arm)
    state.counts[arm] = n
    state.means[arm] = state.sums[arm] * inverse(params.tables, n)
    state.widths[arm] = params.breadth * inverse_root(params.tables, n)


@dataclass(frozen=True, kw_only=True)
class LDPUCBLaplace(Policy):
    """LDP-UCB-Laplace: local privacy by Laplace noise.

    Args:
        epsilon: the budget of one reward, which is that of the whole action sequence.

    >>> print(LDPUCBLaplace(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by Laplace noise of every reward (local model)
    """

    name = "ldp-ucb-laplace"
    source = "Ren, Zhou, Liu & Shroff 2020 (LDP-UCB-L)"
    regret = "order ε^-2 Σ ln T / Δ"

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS)

    def configure(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        arms, horizon = validated_size(arms, horizon)
        params = Params(tables(horizon), scale_for(self.epsilon), 1 + 4 / self.epsilon)
        return Setup(params, State, {"arms": arms})

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return epsilon, at any horizon."""
        return Guarantee(self.epsilon, horizon=horizon, theorem=LOCAL, certified=True)

    def schedule(self, arms: int, horizon: int) -> tuple[Iterator[Event], ...]:
        """Return the noise of every play."""
        return (repeat(LaplaceEvent(scale_for(self.epsilon)), horizon),)
