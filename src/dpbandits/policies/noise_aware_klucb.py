"""Noise-aware KL-UCB: DP-KLUCB with means and exponents from every phase separately (docs/noise_aware.md).

    index_a(t) = max { q : c_a(q) - c_a(estimate) <= ln t };  the largest is played

Its tails are the shortest of all, and its regret is a little larger than that of noise-aware IMED. Nothing is proved
about its regret.

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

from dataclasses import dataclass
from typing import Self

from dpbandits.policies.dp_klucb import Params, State  # the same kernels, with another plausibility
from dpbandits.policies.growing_phases import NoiseAwarePhases
from dpbandits.policies.plausibility_by_phase import PhaseSums, plausibility_by_phase
from dpbandits.policies.policy import Setup


@dataclass(frozen=True, kw_only=True)
class NoiseAwareKLUCB(NoiseAwarePhases):
    """DP-KLUCB that knows its own noise: fewer unlucky runs still, for more regret in the others.

    Args:
        epsilon: the budget of the whole action sequence.
        growth: how much longer an arm has been played at the end of a phase than at the end of the one before. By
            default 1.5.
        first_phase: how many plays the first phase of every arm has. By default 16/epsilon, rounded up.

    >>> print(NoiseAwareKLUCB(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(NoiseAwareKLUCB(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [964, 36]
    """

    name = "noise-aware-klucb"
    source = "docs/noise_aware.md, after Azize et al. 2025"
    seed_text = "DPKLUCB(epsilon={epsilon!r}, index='noise-aware', growth={growth!r}, first_phase={first_phase!r})"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with a short first phase, and one with short phases."""
        return cls(epsilon=0.7, first_phase=4), cls(epsilon=7.0, growth=1.1)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        phases = self.phases(horizon)
        return Setup(
            Params(phases, plausibility_by_phase(self.epsilon)),
            State,
            {"phases": len(phases.ends)},
            {"kept": PhaseSums},
        )
