"""IMED, a yardstick without privacy: play the arm that is most easily the best.

    index_a = n_a kl(μ_a, max_b μ_b) + ln n_a;  the smallest is played          (Honda & Takemura 2015)

Asymptotically optimal: regret Σ Δ_a ln T / kl(μ_a, μ*) + o(ln T).

Privacy: none. Every mean is exact, one reward can change every later choice for certain.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import public
from dpbandits.policies.exact_sums import ExactSums, add_rewards
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update
from dpbandits.theory.divergences import bernoulli_kl


class Params(NamedTuple):
    """No constants; the kernels are registered for this class."""

    unused: float


class State(NamedTuple):
    """What is kept for every arm."""

    exact: ExactSums
    logs: Annotated[Any, public("arms")]  # ln n


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.exact.means)
    if t <= arms:
        return t - 1
    best = state.exact.means[0]
    for arm in range(1, arms):
        best = max(best, state.exact.means[arm])
    choice, smallest = 0, math.inf
    for arm in range(arms):
        index = state.logs[arm]
        if index < smallest and state.exact.means[arm] < best:
            index += state.exact.counts[arm] * bernoulli_kl(state.exact.means[arm], best)
        if index < smallest:
            choice, smallest = arm, index
    return choice


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    add_rewards(state.exact, arm, plays, reward)
    state.logs[arm] = math.log(state.exact.counts[arm])


@dataclass(frozen=True, kw_only=True)
class IMED(Policy):
    """IMED: not private, asymptotically optimal for Bernoulli rewards.

    >>> IMED().guarantee() is None
    True
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(IMED(), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [986, 14]
    """

    name = "imed"
    source = "Honda & Takemura 2015"
    regret = "C ln T + o(ln T) for Bernoulli"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(0.0), State)
