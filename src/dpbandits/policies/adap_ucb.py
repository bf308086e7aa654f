"""AdaP-UCB: play an arm until its count has doubled, and judge it by that last episode alone.

    index_a(t) = μ_a + √(α ln t / (2n)) + α ln t / (ε n)          (Azize & Basu 2022, Algorithm 1)

μ_a is the mean of the n plays of arm a's last episode, with noise Lap(1/(ε n)). The arm is chosen at the end of an
episode. Regret at most Σ 16 α ln T / min(Δ_a, ε) plus a constant, for α > 3.

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE
from dpbandits.policies.base import Setup, hold, select, update, validated_size
from dpbandits.policies.last_phase import State, learn_last
from dpbandits.policies.phases import PhasePolicy, Phases, chosen_arm, geometric_ends, rest_of_phase


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    epsilon: float
    alpha: float


select.register(Params)(chosen_arm)
hold.register(Params)(rest_of_phase)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    if not learn_last(params.phases, state, arm, plays, reward, noise, LAPLACE):
        return
    level = params.alpha * math.log(t)
    chosen, largest = 0, -math.inf
    for other in range(len(state.means)):
        n = state.sizes[other]
        index = state.means[other] + math.sqrt(level / (2.0 * n)) + level / (params.epsilon * n)
        if index > largest:
            chosen, largest = other, index
    state.tally.chosen[0] = chosen


@dataclass(frozen=True, kw_only=True)
class AdaPUCB(PhasePolicy):
    """AdaP-UCB: adaptive episodes with forgetting.

    Args:
        epsilon: the budget of the whole action sequence.
        alpha: how optimistic the index is; the regret bound needs more than 3.

    >>> print(AdaPUCB(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    """

    name = "adap-ucb"
    source = "Azize & Basu 2022"
    regret = "Σ 16 α ln T / min(Δ, ε) + constant, α > 3"

    alpha: float = 3.1

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.real_fields(self, alpha="(0, 1000]")

    def phase_ends(self) -> Iterator[int]:
        """Yield 1, 2, 4, 8, ..."""
        return geometric_ends(1, 2.0)

    def configure(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        arms, horizon = validated_size(arms, horizon)
        return Setup(Params(self.phases(horizon), self.epsilon, self.alpha), State, {"arms": arms, "one": 1})
