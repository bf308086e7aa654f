"""Hybrid DMAB: DP-UCB-Bound and DP-UCB side by side; the one with the smaller regret bound chooses.

    play by DP-UCB-Bound if R_1(t) < R_2(t), else by DP-UCB; both learn from every reward

R_1 and R_2 are the published bounds of Theorems 3.2 and 3.3 with the gaps between each policy's own released means. The
algorithm is in the paper's source, switched off; there gaps are 1 while an arm has no mean, here arms take turns until
all have one, as in both policies. The bounds are a rule of choice and prove nothing: Theorem 3.3 is not proved at all.

Privacy: both policies see every reward, so their losses add up. Each gets ε/2: the whole action sequence is ε-DP with
the proved variant and costs 2ε with the published one, as its parts do.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.policies import dp_ucb, dp_ucb_bound
from dpbandits.policies.counter_policy import VARIANTS, Variant, hybrid_guarantee
from dpbandits.policies.policy import EPSILONS, Policy, Setup, every_step, hold, select, update
from dpbandits.privacy import Guarantee
from dpbandits.theory.upper_bounds import FOUR_ZETA, noise_pulls_of_theorem_3_3, noise_regret_of_theorem_3_2


class Params(NamedTuple):
    """Constants of the kernels: those of the two policies, and what the regret bounds need."""

    bounded: dp_ucb_bound.Params
    plain: dp_ucb.Params
    share: float  # epsilon of each
    balance: float  # λ_0 of Theorem 3.2


class State(NamedTuple):
    """The states of the two policies."""

    bounded: dp_ucb_bound.State
    plain: dp_ucb.State


@kernel
def bound_of_dp_ucb_bound(share: float, balance: float, means: Any, t: int) -> float:
    """Return R_1: Σ max(B (ln B + 7), 8 ln t / (λ² Δ)) + Δ + 2π²Δ/3, B = √8 ln(4 t^4) / (ε (1 - λ)) (Theorem 3.2)."""
    log_t = math.log(t)
    from_noise = noise_regret_of_theorem_3_2(share, balance, log_t)
    best = -math.inf
    for arm in range(len(means)):
        best = max(best, means[arm])
    regret = 0.0
    for arm in range(len(means)):
        gap = min(best - means[arm], 1.0)
        if gap > 0.0:
            regret += max(from_noise, 8.0 * log_t / (balance * balance * gap)) + gap * (1.0 + 2.0 * math.pi**2 / 3.0)
    return regret


@kernel
def bound_of_dp_ucb(share: float, sums: Any, inverses: Any, t: int) -> float:
    """Return R_2: Σ Δ [max(C² (ln C + 7)², 8 ln t / Δ²) + 1 + 4ζ(1.5)], C = 56 (2 + √3.5) √(ln t) / ε (Theorem 3.3)."""
    log_t = math.log(t)
    from_noise = noise_pulls_of_theorem_3_3(share, log_t)
    best = -math.inf
    for arm in range(len(sums)):
        best = max(best, sums[arm] * inverses[arm])
    regret = 0.0
    for arm in range(len(sums)):
        gap = min(best - sums[arm] * inverses[arm], 1.0)
        if gap > 0.0:
            regret += gap * (max(from_noise, 8.0 * log_t / (gap * gap)) + 1.0 + FOUR_ZETA)
    return regret


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    if t <= len(state.plain.counts):
        return t - 1
    first = bound_of_dp_ucb_bound(params.share, params.balance, state.bounded.means, t)
    second = bound_of_dp_ucb(params.share, state.plain.counter.sums, state.plain.inverses, t)
    if first < second:
        return select(params.bounded, state.bounded, t)
    return select(params.plain, state.plain, t)


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    update(params.bounded, state.bounded, arm, plays, reward, t, noise)
    update(params.plain, state.plain, arm, plays, reward, t, noise)


class _Bounded(dp_ucb_bound.DPUCBBound):
    epsilons = "(0, inf)"  # half of any epsilon


class _Plain(dp_ucb.DPUCB):
    epsilons = "(0, inf)"


@dataclass(frozen=True, kw_only=True)
class HybridDMAB(Policy):
    """Hybrid DMAB: whichever of DP-UCB-Bound and DP-UCB promises less regret.

    Args:
        epsilon: the budget of the whole action sequence. Each part has half of it.
        variant: "proved", or "published" for what the paper prints, which costs 2ε.
        balance: λ_0 in the bound of Theorem 3.2 that is compared, in (0, 1).

    >>> print(HybridDMAB(epsilon=1.0).guarantee())
    (1, 0)-DP in one reward at any horizon, by shift of the node noises (docs/counters.md)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(HybridDMAB(epsilon=1.0), [0.9, 0.6], steps=3000)  # arms that always give 0.9 and 0.6
    [2048, 952]
    """

    name = "hybrid-dmab"
    source = "Tossou & Dimitrakakis 2016, switched off in the source"

    epsilon: float
    variant: Variant = "proved"
    balance: float = 0.5

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS, balance="(0, 1)")
        _validate.one_of(VARIANTS, variant=self.variant)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with a usual budget, and a published one with so large a budget that both parts choose."""
        return cls(epsilon=0.7), cls(epsilon=7000.0, variant="published", balance=0.9)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        bounded, plain = (part.setup(arms, horizon) for part in self.contenders())
        params = Params(bounded.params, plain.params, self.epsilon / 2, self.balance)
        return Setup(params, State, {**bounded.sizes, **plain.sizes}, {**bounded.parts, **plain.parts})

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee of the two parts together."""
        return hybrid_guarantee(self.epsilon, self.variant, horizon)

    def claim(self, horizon: float = math.inf) -> Guarantee | None:
        """Return the sum of the paper's claims for the two parts, as published; None for the proved variant."""
        if self.variant == "proved":
            return None
        theorem = "Theorem 3.1 of the paper, twice"
        return Guarantee(self.epsilon, horizon=horizon, theorem=theorem, proved=False)

    def contenders(self) -> tuple[dp_ucb_bound.DPUCBBound, dp_ucb.DPUCB]:
        """Return the two policies, with half of epsilon each."""
        half = self.epsilon / 2
        return _Bounded(epsilon=half, variant=self.variant), _Plain(epsilon=half, variant=self.variant)
