"""AdaP-UCB: play an arm until its count has doubled, and judge it by that last episode alone.

    index_a(t) = μ_a + √(α ln t / (2n)) + α ln t / (ε n)          (Azize & Basu 2022, Algorithm 1)

μ_a is the mean of the n plays of arm a's last episode, with noise Lap(1/(ε n)). The arm is chosen at the end of an
episode. Regret at most Σ 16 α ln T / min(Δ_a, ε) plus a constant, for α > 3.

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.policies.last_phase import LastPhaseState, keep_last_phase
from dpbandits.policies.phases import PhasePolicy, Phases, phase_index
from dpbandits.policies.policy import Setup


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    epsilon: float
    alpha: float


@phase_index(Params, learn=keep_last_phase)
@kernel
def _index(params: Params, state: LastPhaseState, arm: int, t: int) -> float:
    n = state.sizes[arm]
    level = params.alpha * math.log(t)
    return state.means[arm] + math.sqrt(level / (2.0 * n)) + level / (params.epsilon * n)


@dataclass(frozen=True, kw_only=True)
class AdaPPolicy(PhasePolicy):
    """What both kinds of AdaP have: episodes that double, and how optimistic the index is."""

    alpha: float = 3.1

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.real_fields(self, alpha="(0, 1000]")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with the usual index, and one that is less optimistic."""
        return cls(epsilon=0.7), cls(epsilon=7.0, alpha=0.5)


@dataclass(frozen=True, kw_only=True)
class AdaPUCB(AdaPPolicy):
    """AdaP-UCB: adaptive episodes with forgetting.

    Args:
        epsilon: the budget of the whole action sequence.
        alpha: how optimistic the index is; the regret bound needs more than 3.

    >>> print(AdaPUCB(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(AdaPUCB(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [744, 256]
    """

    name = "adap-ucb"
    source = "Azize & Basu 2022"
    regret = "Σ 16 α ln T / min(Δ, ε) + constant, α > 3"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.phases(horizon), self.epsilon, self.alpha), LastPhaseState)
