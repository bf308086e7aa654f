"""AdaC-UCB: AdaP-UCB with Gaussian noise, for a budget with delta.

    index_a(t) = μ_a + √(β ln t (1/(2n) + 1/(ρ n²)))          (Azize & Basu 2023)

μ_a is the mean of the n plays of arm a's last episode, with noise N(0, 1/(2 ρ n²)). The arm is chosen at the end of an
episode. The regret bound needs β > 3.

Privacy: every reward is in one released sum, with sensitivity 1 and σ = 1/√(2ρ): ρ-zCDP for the whole action sequence
at any horizon. The noise is the smallest that is (ε, δ)-DP by the exact profile of a Gaussian release (Balle & Wang
2018), smaller than by way of zCDP: at (1, 1e-6) its variance is 0.87 of that. The index has its ρ, as published.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import GAUSSIAN
from dpbandits.policies.last_phase import LastPhaseState, keep_last_phase
from dpbandits.policies.phases import ONE_RELEASE, PhasePolicy, Phases, phase_index
from dpbandits.policies.policy import Setup, not_live
from dpbandits.privacy import GaussianEvent, Guarantee, calibrate, gaussian_epsilon
from dpbandits.privacy.accountant import GAUSSIAN_PROFILE

# 1/σ. Less noise changes no mean that can be seen.
_LARGEST_MU = 1000.0


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    rho: float
    beta: float


@phase_index(Params, learn=keep_last_phase)
@kernel
def _index(params: Params, state: LastPhaseState, arm: int, t: int) -> float:
    n = state.sizes[arm]
    level = params.beta * math.log(t)
    return state.means[arm] + math.sqrt(level * (1.0 / (2.0 * n) + 1.0 / (params.rho * n * n)))


@dataclass(frozen=True, kw_only=True)
class AdaCUCB(PhasePolicy):
    """AdaC-UCB: adaptive episodes with forgetting, and Gaussian noise.

    Args:
        epsilon, delta: the budget of the whole action sequence; delta must be positive.
        beta: how optimistic the index is; the regret bound needs more than 3.

    >>> policy = AdaCUCB(epsilon=1.0, delta=1e-6)
    >>> policy.rho
    0.0280
    >>> policy.guarantee().epsilon
    1.0
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(AdaCUCB(epsilon=1.0, delta=1e-6), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [744, 256]
    """

    name = "adac-ucb"
    source = "Azize & Basu 2023"
    regret = "order Σ (ln T / Δ + √(ln T / ρ)), β > 3"

    mechanism = GAUSSIAN

    delta: float
    beta: float = 3.1

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.real_fields(self, delta="(0, 1)", beta="(0, 1000]")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with the usual index, and one with a large budget that is less optimistic."""
        return cls(epsilon=0.7, delta=1e-6), cls(epsilon=20.0, delta=1e-6, beta=0.5)

    @property
    def rho(self) -> float:
        """The zCDP of one release."""
        return 1 / (2 * self.noise_scale() ** 2)

    def noise_scale(self) -> float:
        """Return σ."""
        return _smallest_sigma(self.epsilon, self.delta)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.phases(horizon), self.rho, self.beta), LastPhaseState)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the epsilon of one release at `delta`."""
        epsilon = gaussian_epsilon([GaussianEvent(self.noise_scale())], self.delta)
        theorem = f"{GAUSSIAN_PROFILE}, {ONE_RELEASE}"
        return Guarantee(epsilon, self.delta, horizon=horizon, theorem=theorem, proved=True)

    def live(self, contributions: int, grid_bits: int) -> Self:
        """Refuse: live releases have Laplace noise."""
        raise not_live(self, "its noise is Gaussian")


@lru_cache(maxsize=256)
def _smallest_sigma(epsilon: float, delta: float) -> float:
    def cost(mu: float) -> float:
        return gaussian_epsilon([GaussianEvent(1 / mu)], delta)

    return 1 / calibrate(cost, epsilon, start=min(epsilon, 1.0), upper=_LARGEST_MU, tolerance=1e-9)
