"""What DP-IMED and DP-KLUCB share: their options. Both choose by the evidence of released phase sums.

    index="published"     all phases in one sum; first phase 1, growth 2
    index="noise-aware"   every phase by itself; first phase ⌈16/ε⌉, growth 1.5

(evidence.py, phase_wise.py; docs/noise_aware.md for the second, and for where 16 and 1.5 come from.)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from dpbandits import _validate
from dpbandits.policies.base import MAX_HORIZON
from dpbandits.policies.evidence import Pooled, PooledSums
from dpbandits.policies.phase_wise import PhaseSums, PhaseWise
from dpbandits.policies.phases import PhasePolicy, geometric_ends

INDICES = ("published", "noise-aware")
_FIRST = 16.0  # plays of the first phase times epsilon, noise-aware
_GROWTH = {"published": 2.0, "noise-aware": 1.5}


class Kind(NamedTuple):
    """An evidence: constants, and the state that keeps it."""

    evidence: Any
    kept: Any


@dataclass(frozen=True, kw_only=True)
class EvidentPolicy(PhasePolicy):
    """Options and phases of a policy that chooses by evidence."""

    index: str = "published"
    growth: float | None = None
    first_phase: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.one_of(INDICES, index=self.index)
        if self.growth is not None:
            _validate.real_fields(self, growth="[1.01, 100]")
        if self.first_phase is not None:
            _validate.integer_fields(self, first_phase=f"[1, {MAX_HORIZON}]")

    def phase_ends(self) -> Iterator[int]:
        """Yield the first phase, and from then on counts that grow by at least the factor `growth`."""
        return geometric_ends(*self._schedule())

    def live(self, contributions: int, grid_bits: int) -> Self:
        """Return the policy with the budget of one reward, its phases written down: they outlive other defaults."""
        policy = super().live(contributions, grid_bits)
        first_phase, growth = policy._schedule()
        return replace(policy, first_phase=first_phase, growth=growth)

    def _schedule(self) -> tuple[int, float]:
        usual = 1 if self.index == "published" else math.ceil(_FIRST / self.epsilon)
        growth = _GROWTH[self.index] if self.growth is None else self.growth
        return usual if self.first_phase is None else self.first_phase, growth

    def kind(self) -> Kind:
        """Return the evidence that `index` names."""
        if self.index == "published":
            return Kind(Pooled(self.epsilon), PooledSums)
        return Kind(PhaseWise(self.epsilon, -math.expm1(-self.epsilon)), PhaseSums)
