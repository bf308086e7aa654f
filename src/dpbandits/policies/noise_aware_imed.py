"""Noise-aware IMED, the recommended policy: DP-IMED that knows its own noise (docs/noise_aware.md).

    index_a = u_a - κ u_a / (1 + u_a) + ln n_a,   κ = 1 - 0.6 ln(K/2);  the smallest is played

In phases; the exponent u_a and the means come from every released phase sum separately (plausibility_by_phase.py), so
that one large noise moves one term and not the whole. As T goes to infinity its regret is at most `growth` times the
best possible Σ Δ_a ln T / d_ε(μ_a, μ*).

Caution κ takes up to κ off an exponent. It costs nothing as T goes to infinity, and keeps bad luck at the beginning
from lasting: most with two arms, where one unlucky arm is half of all.

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from dataclasses import dataclass
from typing import Self

from dpbandits.policies.dp_imed import CautiousPolicy, Params, State  # the same kernels, with another plausibility
from dpbandits.policies.growing_phases import NoiseAwarePhases
from dpbandits.policies.plausibility_by_phase import PhaseSums, plausibility_by_phase
from dpbandits.policies.policy import Setup


@dataclass(frozen=True, kw_only=True)
class NoiseAwareIMED(CautiousPolicy, NoiseAwarePhases):
    """The recommended policy: asymptotically optimal under pure epsilon up to `growth`, and with short tails.

    Args:
        epsilon: the budget of the whole action sequence.
        growth: how much longer an arm has been played at the end of a phase than at the end of the one before. By
            default 1.5.
        first_phase: how many plays the first phase of every arm has. By default 16/epsilon, rounded up.
        caution: κ, at most 1. By default 1 - 0.6 ln(K/2) for K arms.

    >>> print(NoiseAwareIMED(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(NoiseAwareIMED(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [976, 24]
    """

    name = "noise-aware-imed"
    source = "docs/noise_aware.md, after Azize et al. 2025"
    regret = "growth · C_ε ln T + o(ln T)"
    seed_text = (
        "DPIMED(epsilon={epsilon!r}, index='noise-aware', growth={growth!r}, first_phase={first_phase!r}, "
        "caution={caution!r})"
    )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with a short first phase, one that is bold, and one with long phases and much noise."""
        return (
            cls(epsilon=0.7, first_phase=5),
            cls(epsilon=3.0, growth=1.1, caution=-2.0),
            cls(epsilon=0.1, growth=2.0, first_phase=2),
        )

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        phases = self.phases(horizon)
        # 1 with two arms, 0 with ten or eleven, less with more (docs/noise_aware.md).
        usual = 1.0 - 0.6 * math.log(max(arms, 2) / 2)
        params = Params(phases, plausibility_by_phase(self.epsilon), usual if self.caution is None else self.caution)
        return Setup(params, State, {"phases": len(phases.ends)}, {"kept": PhaseSums})
