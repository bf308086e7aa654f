"""AdaP-KLUCB: AdaP-UCB with the divergence of Bernoulli rewards.

    index_a(t) = max { q : kl(x, q) <= α ln t / n },  x = clip(μ_a + α ln t / (ε n), 0, 1)          (Azize & Basu 2022)

μ_a is the mean of the n plays of arm a's last episode, with noise Lap(1/(ε n)). Regret of order
Σ Δ_a α ln T / min(kl(μ_a, μ*), ε Δ_a) for α > 3.

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from dpbandits._kernel import kernel
from dpbandits.policies.adap_ucb import AdaPPolicy
from dpbandits.policies.last_phase import LastPhaseState, keep_last_phase
from dpbandits.policies.phases import Phases, phase_choice
from dpbandits.policies.policy import Setup
from dpbandits.theory.divergences import bernoulli_kl, bernoulli_kl_inverse


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    epsilon: float
    alpha: float


@phase_choice(Params, learn=keep_last_phase)
@kernel
def _choose(params: Params, state: LastPhaseState, arm: int, t: int) -> int:
    level = params.alpha * math.log(t)
    choice, largest = 0, -1.0
    for other in range(len(state.means)):
        n = state.sizes[other]
        x = min(max(state.means[other] + level / (params.epsilon * n), 0.0), 1.0)
        # An index is above `largest` if that is plausible; one divergence tells, and few indices are computed.
        if x > largest or n * bernoulli_kl(x, largest) < level:
            index = bernoulli_kl_inverse(x, level / n)
            if index > largest:
                choice, largest = other, index
        if largest >= 1.0:
            break
    return choice


@dataclass(frozen=True, kw_only=True)
class AdaPKLUCB(AdaPPolicy):
    """AdaP-KLUCB: adaptive episodes with forgetting, and the index of KL-UCB.

    Args:
        epsilon: the budget of the whole action sequence.
        alpha: how optimistic the index is; the regret bound needs more than 3.

    >>> print(AdaPKLUCB(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(AdaPKLUCB(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [872, 128]
    """

    name = "adap-klucb"
    source = "Azize & Basu 2022"
    regret = "order Σ Δ ln T / min(kl, ε Δ), α > 3"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.phases(horizon), self.epsilon, self.alpha), LastPhaseState)
