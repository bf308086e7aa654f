"""AdaC-UCB: AdaP-UCB with Gaussian noise, for a budget with delta.

    index_a(t) = μ_a + √(β ln t (1/(2n) + 1/(ρ n²)))          (Azize & Basu 2023)

μ_a is the mean of the n plays of arm a's last episode, with noise N(0, 1/(2 ρ n²)). The arm is chosen at the end of an
episode. The regret bound needs β > 3.

Privacy: every reward is in one released sum, with sensitivity 1 and σ = 1/√(2ρ): ρ-zCDP for the whole action sequence
at any horizon. The noise is the smallest that is (ε, δ)-DP by the exact profile of a Gaussian release (Balle & Wang
2018), smaller than by way of zCDP: at (1, 1e-6) its variance is 0.87 of that. The index has its ρ, as published.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import GAUSSIAN
from dpbandits.policies.base import EPSILONS, Policy, Setup, hold, select, update, validated_size
from dpbandits.policies.last_phase import State, learn_last
from dpbandits.policies.phases import ONE_RELEASE, Phases, chosen_arm, geometric_ends, phases_until, rest_of_phase
from dpbandits.privacy import Event, GaussianEvent, Guarantee, calibrate, gaussian_epsilon
from dpbandits.privacy.accountant import GAUSSIAN_PROFILE

# 1/σ. Less noise changes no mean that can be seen.
_LARGEST_MU = 1000.0


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
    """AdaC-UCB: adaptive episodes with forgetting, and Gaussian noise.

    Args:
        epsilon, delta: the budget of the whole action sequence; delta must be positive.
        beta: how optimistic the index is; the regret bound needs more than 3.

    >>> policy = AdaCUCB(epsilon=1.0, delta=1e-6)
    >>> policy.rho
    0.0280
    >>> policy.guarantee().epsilon
    1.0
    """

    name = "adac-ucb"
    source = "Azize & Basu 2023"
    regret = "order Σ (ln T / Δ + √(ln T / ρ)), β > 3"

    epsilon: float
    delta: float
    beta: float = 3.1

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS, delta="(0, 1)", beta="(0, 1000]")

    @property
    def rho(self) -> float:
        """The zCDP of one release."""
        return 1 / (2 * self._release.sigma**2)

    @property
    def _release(self) -> GaussianEvent:
        return GaussianEvent(_smallest_sigma(self.epsilon, self.delta))

    def configure(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        arms, horizon = validated_size(arms, horizon)
        phases = phases_until(geometric_ends(1, 2.0), horizon, self._release.sigma)
        return Setup(Params(phases, self.rho, self.beta), State, {"arms": arms, "one": 1})

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the epsilon of one release at `delta`."""
        epsilon = gaussian_epsilon([self._release], self.delta)
        theorem = f"{GAUSSIAN_PROFILE}, {ONE_RELEASE}"
        return Guarantee(epsilon, self.delta, horizon=horizon, theorem=theorem, certified=True)

    def schedule(self, arms: int, horizon: int) -> tuple[Iterator[Event], ...]:
        """Return the releases of one arm."""
        ends = phases_until(geometric_ends(1, 2.0), horizon, self._release.sigma).ends
        return ((self._release for _ in ends),)


@lru_cache(maxsize=256)
def _smallest_sigma(epsilon: float, delta: float) -> float:
    def cost(mu: float) -> float:
        return gaussian_epsilon([GaussianEvent(1 / mu)], delta)

    return 1 / calibrate(cost, epsilon, start=min(epsilon, 1.0), upper=_LARGEST_MU, tolerance=1e-9)
