"""LDP-UCB-Bernoulli: every reward becomes a random bit before anybody sees it, and UCB plays with the bits.

    P(bit = 1) = (r e^ε + 1 - r) / (1 + e^ε)
    index_a(t) = mean of arm a's bits + √(2 ln t / n_a)          (LDP-UCB-B of Ren, Zhou, Liu & Shroff 2020)

The mean of the bits increases with that of the rewards, so it ranks the arms as well. Regret of order
((e^ε + 1)/(e^ε - 1))² Σ ln T / Δ_a.

Privacy: local. A reward is released once, on its own, as a randomised response: whoever runs the bandit need not be
trusted with it, and the whole action sequence is ε-DP at any horizon.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import RESPONSE, release
from dpbandits.policies.exploration import Tables, root, tables
from dpbandits.policies.local_policy import LocalPolicy, LocalState, learn_released
from dpbandits.policies.policy import Setup, every_step, hold, select, update
from dpbandits.privacy import scale_for


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    scale: float


@select.register(Params)
@kernel
def _select(params: Params, state: LocalState, t: int) -> int:
    if t <= len(state.means):
        return t - 1
    spread = root(params.tables, t)
    best, highest = 0, state.means[0] + spread * state.widths[0]
    for arm in range(1, len(state.means)):
        index = state.means[arm] + spread * state.widths[arm]
        best = arm if index > highest else best
        highest = index if index > highest else highest
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: LocalState, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    released = release(noise, reward, params.scale, RESPONSE, arm)
    learn_released(params.tables, 1.0, state, arm, plays, released)


@dataclass(frozen=True, kw_only=True)
class LDPUCBBernoulli(LocalPolicy):
    """LDP-UCB-Bernoulli: local privacy by randomised response.

    Args:
        epsilon: the budget of one reward, which is that of the whole action sequence.

    >>> print(LDPUCBBernoulli(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by randomised response of every reward (local model)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(LDPUCBBernoulli(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [811, 189]
    """

    name = "ldp-ucb-bernoulli"
    source = "Ren, Zhou, Liu & Shroff 2020 (LDP-UCB-B)"
    regret = "order ((e^ε + 1)/(e^ε - 1))² Σ ln T / Δ"

    theorem = "randomised response of every reward (local model)"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(tables(horizon), scale_for(self.epsilon)), LocalState)
