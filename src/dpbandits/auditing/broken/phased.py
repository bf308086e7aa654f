"""A policy in phases that is right except for how it lets out the sum of a phase: the frame for such mistakes.

Phases of an arm have 1, 2, 4, ... plays. Done right, the sum of each is released once, with noise of scale 1/ε, and
forgotten: the whole is ε-DP. The next arm is the one with the largest last mean + √(2 ln t / n).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from dpbandits._kernel import generic, kernel
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.phases import (
    PhasePolicy,
    Tally,
    begin_next_phase,
    chosen_arm,
    doubling_epochs,
    ends_phase,
    rest_of_phase,
)
from dpbandits.policies.policy import Setup, hold, select, update
from dpbandits.privacy import Guarantee


class State(NamedTuple):
    """Where every arm stands and what it was last seen to give; `carried` and `row` are for mistakes that need them."""

    tally: Tally
    means: Annotated[Any, public("arms")]
    carried: Annotated[Any, secret("arms")]
    row: Annotated[Any, public("one", dtype=np.int64)]


@generic
def mean_of_phase(params: Any, state: State, arm: int, plays: float, noise: Any) -> float:
    """Let out the sum of the phase that the arm has just ended, and return its mean. Here the mistakes are."""
    raise TypeError(f"{type(params).__name__} has no mistake.")


@kernel
def learn_phase(params: Any, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    """Take in rewards; at the end of a phase let its sum out and choose again."""
    phases, tally = params.phases, state.tally
    if not ends_phase(phases, tally, arm, plays, reward):
        return
    state.means[arm] = mean_of_phase(params, state, arm, phases.sizes[tally.done[arm]], noise)
    if begin_next_phase(tally, arm):
        best, largest = 0, -math.inf
        for each in range(len(state.means)):
            index = state.means[each] + math.sqrt(2.0 * math.log(t) / tally.counts[each])
            if index > largest:
                best, largest = each, index
        tally.chosen[0] = best


def in_phases(params: type) -> None:
    """Register the kernels of a policy in phases for these Params."""
    select.register(params)(chosen_arm)
    hold.register(params)(rest_of_phase)
    update.register(params)(learn_phase)


@dataclass(frozen=True, kw_only=True)
class BrokenPhasePolicy(PhasePolicy):
    """What these mistakes share: they claim epsilon, and nothing is proved for them."""

    source = "made to be refuted"
    params: ClassVar[Any]

    def phase_ends(self) -> Iterator[int]:
        """Yield 1, 3, 7, 15, ..."""
        return doubling_epochs()

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(self.params(self.phases(horizon)), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:  # type: ignore[override]
        """Return None: nothing is proved."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee that the policy claims, and does not keep."""
        return Guarantee(self.epsilon, horizon=horizon, theorem="a mistake", proved=False)
