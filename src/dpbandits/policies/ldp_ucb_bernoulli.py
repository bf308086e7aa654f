"""LDP-UCB-Bernoulli: every reward becomes a random bit before anybody sees it, and UCB plays with the bits.

    P(bit = 1) = (r e^ε + 1 - r) / (1 + e^ε)
    index_a(t) = mean of arm a's bits + √(2 ln t / n_a)          (LDP-UCB-B of Ren, Zhou, Liu & Shroff 2020)

The mean of the bits increases with that of the rewards, so it ranks the arms as well. Regret of order
((e^ε + 1)/(e^ε - 1))² Σ ln T / Δ_a.

Privacy: local. A reward is released once, by itself, as a randomised response: whoever runs the bandit need not be
trusted with it, and the whole action sequence is ε-DP at any horizon.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import RESPONSE, release
from dpbandits.mechanisms.state import public
from dpbandits.policies.base import EPSILONS, Policy, Setup, every_step, hold, select, update, validated_size
from dpbandits.policies.exploration import Tables, inverse, inverse_root, root, tables
from dpbandits.privacy import Event, Guarantee, RandomizedResponseEvent, scale_for
from dpbandits.privacy.rounding import ratio_up

LOCAL = "randomised response of every reward (local model)"


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    scale: float


class State(NamedTuple):
    """What is kept of every arm: bits, which are public."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    ones: Annotated[Any, public("arms")]
    means: Annotated[Any, public("arms")]
    widths: Annotated[Any, public("arms")]  # 1/√n


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
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
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    n = state.counts[arm] + plays
    state.ones[arm] += release(noise, reward, params.scale, RESPONSE, arm)
    state.counts[arm] = n
    state.means[arm] = state.ones[arm] * inverse(params.tables, n)
    state.widths[arm] = inverse_root(params.tables, n)


@dataclass(frozen=True, kw_only=True)
class LDPUCBBernoulli(Policy):
    """LDP-UCB-Bernoulli: local privacy by randomised response.

    Args:
        epsilon: the budget of one reward, which is that of the whole action sequence.

    >>> print(LDPUCBBernoulli(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by randomised response of every reward (local model)
    """

    name = "ldp-ucb-bernoulli"
    source = "Ren, Zhou, Liu & Shroff 2020 (LDP-UCB-B)"
    regret = "order ((e^ε + 1)/(e^ε - 1))² Σ ln T / Δ"

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS)

    def configure(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        arms, horizon = validated_size(arms, horizon)
        return Setup(Params(tables(horizon), scale_for(self.epsilon)), State, {"arms": arms})

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return epsilon, at any horizon."""
        return Guarantee(self.epsilon, horizon=horizon, theorem=LOCAL, certified=True)

    def schedule(self, arms: int, horizon: int) -> tuple[Iterator[Event], ...]:
        """Return the response of every play."""
        return (repeat(RandomizedResponseEvent(ratio_up(1, scale_for(self.epsilon))), horizon),)
