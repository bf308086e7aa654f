"""AdaC-UCB: AdaP-UCB with Gaussian noise, for a budget with delta.

    index_a(t) = μ_a + √(β ln t (1/(2n) + 1/(ρ n²)))          (Azize & Basu 2023)

μ_a is the mean of the n plays of arm a's last episode, with noise N(0, 1/(2 ρ n²)). The arm is chosen at the end of an
episode. The regret bound needs β > 3.

Privacy: every reward is in one released sum, with sensitivity 1 and σ = 1/√(2ρ): ρ-zCDP for the whole action sequence
at any horizon. ρ is the largest whose (ε, δ) is within the budget.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.release import GAUSSIAN
from dpbandits.policies.base import Policy, Setup, hold, select, update, validated_size
from dpbandits.policies.forgetful import State, learn_last
from dpbandits.policies.phases import Phases, chosen_arm, geometric_ends, phases_until, rest_of_phase
from dpbandits.privacy import Event, GaussianEvent, Guarantee, calibrate, rho_of, zcdp_epsilon


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    rho: float
    beta: float


select.register(Params)(chosen_arm)
hold.register(Params)(rest_of_phase)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    if not learn_last(params.phases, state, arm, plays, reward, noise, GAUSSIAN):
        return
    level = params.beta * math.log(t)
    chosen, largest = 0, -math.inf
    for other in range(len(state.means)):
        n = state.sizes[other]
        index = state.means[other] + math.sqrt(level * (1.0 / (2.0 * n) + 1.0 / (params.rho * n * n)))
        if index > largest:
            chosen, largest = other, index
    state.tally.chosen[0] = chosen


@dataclass(frozen=True, kw_only=True)
class AdaCUCB(Policy):
    """AdaC-UCB: adaptive episodes with forgetting, under zero-concentrated DP.

    Args:
        epsilon, delta: the budget of the whole action sequence; delta must be positive.
        beta: how optimistic the index is; the regret bound needs more than 3.

    >>> policy = AdaCUCB(epsilon=1.0, delta=1e-6)
    >>> policy.rho
    0.02435
    >>> print(policy.guarantee())
    (0.999982, 1e-06)-DP in one reward at any horizon, by zero-concentrated DP of one release of every reward
    """

    name = "adac-ucb"
    source = "Azize & Basu 2023"
    regret = "order Σ (ln T / Δ + √(ln T / ρ)), β > 3"

    epsilon: float
    delta: float
    beta: float = 3.1

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="[1e-06, inf)", delta="(0, 1)", beta="(0, 1000]")
        try:
            _ = self.rho
        except InvalidInput:
            raise InvalidInput(
                f"Expected epsilon={self.epsilon:g} and delta={self.delta:g} to be larger together: no Gaussian noise "
                "that can be drawn is within them."
            ) from None

    @property
    def rho(self) -> float:
        """The zCDP of one release."""
        return _largest_rho(self.epsilon, self.delta)

    @property
    def _release(self) -> GaussianEvent:
        return GaussianEvent(1 / math.sqrt(2 * self.rho))

    def configure(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        arms, horizon = validated_size(arms, horizon)
        phases = phases_until(geometric_ends(1, 2.0), horizon, self._release.sigma)
        return Setup(Params(phases, self.rho, self.beta), State, {"arms": arms, "one": 1})

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the epsilon of one release at `delta`."""
        epsilon = zcdp_epsilon(rho_of(self._release), self.delta)
        theorem = "zero-concentrated DP of one release of every reward"
        return Guarantee(epsilon, self.delta, horizon=horizon, theorem=theorem, certified=True)

    def schedule(self, arms: int, horizon: int) -> tuple[Iterator[Event], ...]:
        """Return the releases of one arm."""
        ends = phases_until(geometric_ends(1, 2.0), horizon, self._release.sigma).ends
        return ((self._release for _ in ends),)


@lru_cache(maxsize=256)
def _largest_rho(epsilon: float, delta: float) -> float:
    def cost(rho: float) -> float:
        return zcdp_epsilon(rho_of(GaussianEvent(1 / math.sqrt(2 * rho))), delta)

    return calibrate(
        cost, epsilon, start=min(epsilon, 1.0) ** 2 / (4 * math.log(1 / delta)), upper=min(max(1.0, epsilon), 1e6)
    )
