"""KL-UCB, a yardstick without privacy: play the arm whose mean could be largest.

    index_a(t) = max { q : n_a kl(μ_a, q) <= ln t }          (Garivier & Cappé 2011)

With ln t + 3 ln ln t it is asymptotically optimal for Bernoulli rewards; they advise ln t in practice.

Privacy: none. Every mean is exact, one reward can change every later choice for certain.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.policies.exact_sums import ExactSums, add_rewards
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update
from dpbandits.theory.divergences import bernoulli_kl, bernoulli_kl_inverse


class Params(NamedTuple):
    """No constants; the kernels are registered for this class."""

    unused: float


@select.register(Params)
@kernel
def _select(params: Params, state: ExactSums, t: int) -> int:
    arms = len(state.means)
    if t <= arms:
        return t - 1
    level = math.log(t)
    choice = 0
    for arm in range(1, arms):
        choice = arm if state.means[arm] > state.means[choice] else choice
    largest = bernoulli_kl_inverse(state.means[choice], level / state.counts[choice])
    for arm in range(arms):
        # An index is above `largest` if that mean is plausible; one divergence tells, and few indices are computed.
        if state.means[arm] >= largest or state.counts[arm] * bernoulli_kl(state.means[arm], largest) < level:
            index = bernoulli_kl_inverse(state.means[arm], level / state.counts[arm])
            if index > largest:
                choice, largest = arm, index
    return choice


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: ExactSums, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    add_rewards(state, arm, plays, reward)


@dataclass(frozen=True, kw_only=True)
class KLUCB(Policy):
    """KL-UCB: not private, for Bernoulli rewards.

    >>> KLUCB().guarantee() is None
    True
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(KLUCB(), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [984, 16]
    """

    name = "klucb"
    source = "Garivier & Cappé 2011"
    regret = "C ln T + o(ln T) for Bernoulli, with ln t + 3 ln ln t in place of ln t"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(0.0), ExactSums)
