"""MOSS in phases: index = mean + √(max(0, ln(T / (K n))) / n) (after Audibert & Bubeck 2009), on released means."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpbandits import kernel
from dpbandits.policies import PhasePolicy, PooledState, Setup, phase_index


class Params(NamedTuple):
    phases: Any
    share: float  # T/K


@phase_index(Params)
@kernel
def _index(params: Params, state: PooledState, arm: int, t: int) -> float:
    n = state.tally.counts[arm]
    return float(state.means[arm] + math.sqrt(max(0.0, math.log(params.share / n)) / n))


@dataclass(frozen=True, kw_only=True)
class PhasedMOSS(PhasePolicy):
    name, source = "phased-moss", "examples/phased_moss.py"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.phases(horizon), horizon / arms), PooledState)
