"""DP-IMED: play the arm that is most easily the best, by the evidence against it.

    index_a = u_a + ln n_a,  u_a = n_a d_ε(μ_a, max_b μ_b);  the smallest is played       (Azize et al. 2025)

In phases; μ_a is the mean of all released phase sums, each with its own noise. As T goes to infinity its regret is at
most `growth` times the best possible Σ Δ_a ln T / d_ε(μ_a, μ*).

With caution κ, which is not in the publication, the index is u_a - κ u_a / (1 + u_a) + ln n_a (noise_aware_imed.py).

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import part, public
from dpbandits.policies.growing_phases import GrowingPhases, PublishedPhases
from dpbandits.policies.phases import Phases, Tally, phase_choice
from dpbandits.policies.plausibility import PooledPlausibility, PooledSums, exponent, learn_sum
from dpbandits.policies.policy import Setup


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    plausibility: Any
    caution: float


class Exponents(NamedTuple):
    """The exponent of the best mean for every arm: computed again only when the arm or the best mean has changed."""

    values: Annotated[Any, public("arms")]
    best: Annotated[Any, public("one")]


class State(NamedTuple):
    """Arrays of the kernels."""

    tally: Tally
    kept: Annotated[Any, part()]  # what the kind of plausibility keeps of every arm
    exponents: Exponents


@phase_choice(Params, learn=learn_sum)
@kernel
def most_easily_best(params: Params, state: State, arm: int, t: int) -> int:
    """Return the arm with the smallest index, after a release of `arm`."""
    kept, exponents, counts = state.kept, state.exponents, state.tally.counts
    best = kept.means[0]
    for other in range(1, len(kept.means)):
        best = max(best, kept.means[other])
    is_new = best != exponents.best[0]
    exponents.best[0] = best
    choice, smallest = 0, math.inf
    for other in range(len(counts)):
        if is_new or other == arm:
            u = exponent(params.plausibility, kept, params.phases, state.tally, other, best)
            exponents.values[other] = u - params.caution * u / (1.0 + u)
        index = exponents.values[other] + math.log(counts[other])
        if index < smallest:
            choice, smallest = other, index
    return choice


@dataclass(frozen=True, kw_only=True)
class CautiousPolicy(GrowingPhases):
    """What both kinds of IMED have: caution κ, by default that of the kind."""

    caution: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.caution is not None:
            _validate.real_fields(self, caution="[-10, 1]")


@dataclass(frozen=True, kw_only=True)
class DPIMED(CautiousPolicy, PublishedPhases):
    """DP-IMED as published: asymptotically optimal under pure epsilon, up to `growth`.

    Args:
        epsilon: the budget of the whole action sequence.
        growth: how much longer an arm has been played at the end of a phase than at the end of the one before. By
            default 2.
        first_phase: how many plays the first phase of every arm has. By default 1.
        caution: κ, at most 1. By default 0, as published.

    >>> print(DPIMED(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(DPIMED(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [984, 16]
    """

    name = "dp-imed"
    source = "Azize, Wu, Honda, Orabona, Ito & Basu 2025"
    regret = "growth · C_ε ln T + o(ln T), without caution"
    seed_text = (
        "DPIMED(epsilon={epsilon!r}, index='published', growth={growth!r}, first_phase={first_phase!r}, "
        "caution={caution!r})"
    )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one as published, and one with short phases and caution."""
        return cls(epsilon=0.7), cls(epsilon=7.0, growth=1.2, first_phase=4, caution=0.5)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        params = Params(
            self.phases(horizon), PooledPlausibility(self.epsilon), 0.0 if self.caution is None else self.caution
        )
        return Setup(params, State, parts={"kept": PooledSums})
