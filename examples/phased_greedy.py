"""ε-greedy in phases: a fixed share of the phases goes to the arm played least, all others to the best mean."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from dpbandits import kernel
from dpbandits.policies import PhasePolicy, PooledState, Setup, phase_index


class Params(NamedTuple):
    phases: Any
    share: float


@phase_index(Params)
@kernel
def _index(params: Params, state: PooledState, arm: int, t: int) -> float:
    explored = params.share * state.tally.done.sum()  # no dice: what is played can be repeated, so it runs live
    is_exploring = int(explored + params.share) > int(explored)
    return float(state.means[arm] - 1e6 * state.tally.counts[arm] * is_exploring)  # means decide between equal counts


@dataclass(frozen=True, kw_only=True)
class PhasedGreedy(PhasePolicy):
    name, source, share = "phased-greedy", "examples/phased_greedy.py", 0.2

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.phases(horizon), self.share), PooledState)
