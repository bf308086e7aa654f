"""Growing phases: the first phase and the growth of the policies that ask how plausible a mean is.

    published      DP-IMED, DP-KLUCB: all phases in one sum (plausibility.py); first phase 1, growth 2
    noise-aware    ours: every phase on its own (plausibility_by_phase.py); first phase ⌈16/ε⌉, growth 1.5

docs/noise_aware.md says where 16 and 1.5 come from.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from dpbandits import _validate
from dpbandits.policies.phases import PhasePolicy, geometric_ends
from dpbandits.policies.policy import MAX_HORIZON

_FIRST = 16.0  # plays of the first phase times epsilon, noise-aware


@dataclass(frozen=True, kw_only=True)
class GrowingPhases(PhasePolicy):
    """Phases that grow by a factor, from a first one on; each kind has its own usual ones."""

    growth: float | None = None
    first_phase: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.growth is not None:
            _validate.real_fields(self, growth="[1.01, 100]")
        if self.first_phase is not None:
            _validate.integer_fields(self, first_phase=f"[1, {MAX_HORIZON}]")

    @abstractmethod
    def usual_phases(self) -> tuple[int, float]:
        """Return the first phase and the growth that are taken where none are given."""

    def phase_ends(self) -> Iterator[int]:
        """Yield the first phase, and from then on counts that grow by at least the factor `growth`."""
        return geometric_ends(*self._first_and_growth())

    def live(self, contributions: int, grid_bits: int) -> Self:
        """Return the policy with the budget of one reward, its phases written down: they outlive other defaults."""
        policy = super().live(contributions, grid_bits)
        first_phase, growth = policy._first_and_growth()
        return replace(policy, first_phase=first_phase, growth=growth)

    def _first_and_growth(self) -> tuple[int, float]:
        first_phase, growth = self.usual_phases()
        return (
            first_phase if self.first_phase is None else self.first_phase,
            growth if self.growth is None else self.growth,
        )


@dataclass(frozen=True, kw_only=True)
class PublishedPhases(GrowingPhases):
    """The phases of Azize et al. 2025."""

    def usual_phases(self) -> tuple[int, float]:
        """Return 1 and 2."""
        return 1, 2.0


@dataclass(frozen=True, kw_only=True)
class NoiseAwarePhases(GrowingPhases):
    """The phases of docs/noise_aware.md."""

    def usual_phases(self) -> tuple[int, float]:
        """Return ⌈16/ε⌉ and 1.5."""
        return math.ceil(_FIRST / self.epsilon), 1.5
