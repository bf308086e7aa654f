"""LDP-UCB-Laplace: every reward gets Laplace noise of its own before anybody sees it, and UCB plays with the sums.

    index_a(t) = mean of arm a's noisy rewards + √(2 ln t / n) + √(32 ln t / (ε² n))
    an arm with n <= 4 ln(t + 1) comes first          (LDP-UCB-L of Ren, Zhou, Liu & Shroff 2020)

For rewards that are not bits. Regret of order ε^-2 Σ ln T / Δ_a.

Privacy: local. A reward is released once, on its own, with Laplace noise: whoever runs the bandit need not be trusted
with it, and the whole action sequence is ε-DP at any horizon.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.policies.exploration import Tables, root, tables
from dpbandits.policies.local_policy import LocalPolicy, LocalState, learn_released
from dpbandits.policies.policy import Setup, every_step, hold, select, update
from dpbandits.privacy import scale_for


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    scale: float
    breadth: float  # 1 + 4/ε: both roots of the index together are √(2 ln t / n) times this


@select.register(Params)
@kernel
def _select(params: Params, state: LocalState, t: int) -> int:
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
def _update(params: Params, state: LocalState, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    released = release(noise, reward, params.scale, LAPLACE, arm)
    learn_released(params.tables, params.breadth, state, arm, plays, released)


@dataclass(frozen=True, kw_only=True)
class LDPUCBLaplace(LocalPolicy):
    """LDP-UCB-Laplace: local privacy by Laplace noise.

    Args:
        epsilon: the budget of one reward, which is that of the whole action sequence.

    >>> print(LDPUCBLaplace(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by Laplace noise of every reward (local model)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(LDPUCBLaplace(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [637, 363]
    """

    name = "ldp-ucb-laplace"
    source = "Ren, Zhou, Liu & Shroff 2020 (LDP-UCB-L)"
    regret = "order ε^-2 Σ ln T / Δ"

    theorem = "Laplace noise of every reward (local model)"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with a budget for which noise does not hide everything."""
        return (cls(epsilon=7.0),)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(tables(horizon), scale_for(self.epsilon), 1 + 4 / self.epsilon), LocalState)
