"""DP-IMED: play the arm that is most easily the best, by the evidence against it.

    index_a = u_a + ln n_a,  u_a = n_a d_ε(μ_a, max_b μ_b);  the smallest is played       (Azize et al. 2025)

In phases; μ_a is the mean of all released phase sums, each with its own noise. As T goes to infinity its regret is at
most `growth` times the best possible Σ Δ_a ln T / d_ε(μ_a, μ*).

With `index="noise-aware"` (ours, docs/noise_aware.md) the exponent u_a and the means come from every phase by itself,
and

    index_a = u_a - κ u_a / (1 + u_a) + ln n_a,   κ = 1 - 0.6 ln(K/2)

Caution κ takes up to κ off an exponent. It costs nothing as T goes to infinity, and keeps bad luck at the beginning
from lasting: most with two arms, where one unlucky arm is half of all.

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public
from dpbandits.policies.base import Setup, hold, select, update, validated_size
from dpbandits.policies.evidence import PooledSums, exponent, learn
from dpbandits.policies.evident import EvidentPolicy
from dpbandits.policies.phase_wise import PhaseSums
from dpbandits.policies.phases import Phases, Tally, begin_next_phase, chosen_arm, ends_phase, rest_of_phase


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    evidence: Any
    caution: float


class Exponents(NamedTuple):
    """The exponent of the best mean for every arm: computed again only when the arm or the best mean has changed."""

    values: Annotated[Any, public("arms")]
    best: Annotated[Any, public("one")]


class State(NamedTuple):
    """The published index."""

    tally: Tally
    kept: PooledSums
    exponents: Exponents


class NoiseAwareState(NamedTuple):
    """The noise-aware index."""

    tally: Tally
    kept: PhaseSums
    exponents: Exponents


select.register(Params)(chosen_arm)
hold.register(Params)(rest_of_phase)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    phases, tally = params.phases, state.tally
    if not ends_phase(phases, tally, arm, plays, reward):
        return
    value = release(noise, tally.sums[arm], phases.scale, LAPLACE, arm)
    all_opened = begin_next_phase(tally, arm)
    learn(params.evidence, state.kept, phases, tally, arm, value)
    if all_opened:
        tally.chosen[0] = most_easily_best(params, state, arm)


@kernel
def most_easily_best(params: Params, state: State, released: int) -> int:
    """Return the arm with the smallest index, after a release of arm `released`."""
    kept, exponents, counts = state.kept, state.exponents, state.tally.counts
    best = kept.means[0]
    for arm in range(1, len(kept.means)):
        best = max(best, kept.means[arm])
    is_new = best != exponents.best[0]
    exponents.best[0] = best
    chosen, smallest = 0, math.inf
    for arm in range(len(counts)):
        if is_new or arm == released:
            u = exponent(params.evidence, kept, params.phases, state.tally, arm, best)
            exponents.values[arm] = u - params.caution * u / (1.0 + u)
        index = exponents.values[arm] + math.log(counts[arm])
        if index < smallest:
            chosen, smallest = arm, index
    return chosen


@dataclass(frozen=True, kw_only=True)
class DPIMED(EvidentPolicy):
    """DP-IMED: asymptotically optimal under pure epsilon up to `growth`, as published or with the noise-aware index.

    Args:
        epsilon: the budget of the whole action sequence.
        index: "published" or "noise-aware".
        growth: how much longer an arm has been played at the end of a phase than at the end of the one before.
        first_phase: how many plays the first phase of every arm has.
        caution: κ, at most 1. By default 0 for the published index, and 1 - 0.6 ln(K/2) for the noise-aware one.

    >>> print(DPIMED(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    """

    name = "dp-imed"
    source = "Azize, Wu, Honda, Orabona, Ito & Basu 2025; noise-aware: docs/noise_aware.md"
    regret = "growth · C_ε ln T + o(ln T), published without caution or noise-aware"

    caution: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.caution is not None:
            _validate.real_fields(self, caution="[-10, 1]")

    def configure(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        arms, horizon = validated_size(arms, horizon)
        phases = self.phases(horizon)
        evidence, kept = self.kind()
        # 1 with two arms, 0 with ten or eleven, less with more (docs/noise_aware.md).
        usual = 0.0 if self.index == "published" else 1.0 - 0.6 * math.log(max(arms, 2) / 2)
        params = Params(phases, evidence, usual if self.caution is None else self.caution)
        state = State if kept is PooledSums else NoiseAwareState
        return Setup(params, state, {"arms": arms, "one": 1, "phases": len(phases.ends)})
