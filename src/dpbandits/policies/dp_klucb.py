"""DP-KLUCB: play the arm whose mean could be largest, by what its released sums say.

    index_a(t) = max { q : d_ε(μ_a, q) <= ln t / n_a };  the largest is played            (Azize et al. 2025)

In phases, chosen at the end of each; μ_a is the mean of all released phase sums. As T goes to infinity its regret is at
most `growth` times the best possible Σ Δ_a ln T / d_ε(μ_a, μ*).

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import part
from dpbandits.policies.growing_phases import PublishedPhases
from dpbandits.policies.phases import Phases, Tally, phase_choice
from dpbandits.policies.plausibility import PooledPlausibility, PooledSums, exponent, largest_plausible_mean, learn_sum
from dpbandits.policies.policy import Setup


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    plausibility: Any


class State(NamedTuple):
    """Arrays of the kernels."""

    tally: Tally
    kept: Annotated[Any, part()]


@phase_choice(Params, learn=learn_sum)
@kernel
def _choose(params: Params, state: State, arm: int, t: int) -> int:
    phases, tally, kept = params.phases, state.tally, state.kept
    level = math.log(t)
    choice, largest = 0, largest_plausible_mean(params.plausibility, kept, phases, tally, 0, level)
    for other in range(1, len(tally.counts)):
        # An index is above `largest` only if that mean is plausible; one exponent tells, and few indices are computed.
        if exponent(params.plausibility, kept, phases, tally, other, largest) < level:
            index = largest_plausible_mean(params.plausibility, kept, phases, tally, other, level)
            if index > largest:
                choice, largest = other, index
    return choice


@dataclass(frozen=True, kw_only=True)
class DPKLUCB(PublishedPhases):
    """DP-KLUCB as published: asymptotically optimal under pure epsilon, up to `growth`.

    Args:
        epsilon: the budget of the whole action sequence.
        growth: how much longer an arm has been played at the end of a phase than at the end of the one before. By
            default 2.
        first_phase: how many plays the first phase of every arm has. By default 1.

    >>> print(DPKLUCB(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(DPKLUCB(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [968, 32]
    """

    name = "dp-klucb"
    source = "Azize, Wu, Honda, Orabona, Ito & Basu 2025"
    regret = "growth · C_ε ln T + o(ln T)"
    seed_text = "DPKLUCB(epsilon={epsilon!r}, index='published', growth={growth!r}, first_phase={first_phase!r})"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one as published, and one with short phases."""
        return cls(epsilon=0.7), cls(epsilon=7.0, growth=1.2, first_phase=4)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.phases(horizon), PooledPlausibility(self.epsilon)), State, parts={"kept": PooledSums})
