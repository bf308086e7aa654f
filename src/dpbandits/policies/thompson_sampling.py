"""Thompson sampling, a yardstick without privacy: play the arm that is best in a draw from what is known.

    θ_a ~ Beta(s_a + 1, n_a - s_a + 1);  the largest is played          (Thompson 1933; Kaufmann, Korda & Munos 2012)

Asymptotically optimal for Bernoulli rewards. (For others in [0, 1], s_a is the sum of rewards as it is.)

Privacy: none is claimed. The draws are random, but not by an amount that any theorem here bounds.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import beta
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update


class Params(NamedTuple):
    """No constants; the kernels are registered for this class."""

    unused: float


class State(NamedTuple):
    """What is kept for every arm, and the next choice."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    chosen: Annotated[Any, public("one", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    return t - 1 if t <= len(state.counts) else state.chosen[0]


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    state.sums[arm] = state.sums[arm] + reward
    if t <= len(state.counts):
        return
    choice, largest = 0, -1.0
    for other in range(len(state.counts)):
        successes = state.sums[other]
        sample = beta(noise, successes + 1.0, state.counts[other] - successes + 1.0)
        if sample > largest:
            choice, largest = other, sample
    state.chosen[0] = choice


@dataclass(frozen=True, kw_only=True)
class ThompsonSampling(Policy):
    """Thompson sampling: not private, for Bernoulli rewards.

    >>> ThompsonSampling().guarantee() is None
    True
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(ThompsonSampling(), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [990, 10]
    """

    name = "thompson-sampling"
    source = "Thompson 1933; Kaufmann, Korda & Munos 2012"
    regret = "C ln T + o(ln T) for Bernoulli"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(0.0), State)
