"""Phases: the plays of an arm are cut into phases, and the sum of each is released once, at its end.

    counts at the phase ends:  n_1 < n_2 < ...,  the same for every arm, fixed in advance

The next arm is chosen at a phase's end, from what was released until then, and plays its whole next phase. First every
arm has its first phase, in order.

Privacy: a reward is in one phase of one arm, so it is in a single released sum, which has Laplace noise of scale 1/ε.
The whole action sequence is ε-DP, at any horizon (parallel composition; which phase a reward falls into depends on
earlier releases alone).
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.base import EPSILONS, FOREVER, SMALLEST_EPSILON, Block, Policy
from dpbandits.privacy import Budget, Event, Guarantee, LaplaceEvent, per_reward_budget, scale_for

ONE_RELEASE = "one release of every reward (parallel composition)"


class Phases(NamedTuple):
    """The phases of an arm, for the kernels."""

    ends: Any  # how often an arm has been played at the end of its phases
    sizes: Any  # how many plays each of them has
    scale: float  # of the noise of a sum


class Tally(NamedTuple):
    """Where every arm stands in its phases, and the arm that was chosen."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    done: Annotated[Any, public("arms", dtype=np.int64)]  # phases whose sum was released
    opened: Annotated[Any, public("one", dtype=np.int64)]  # arms with a release
    chosen: Annotated[Any, public("one", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]  # of the phase that is being played


@kernel
def chosen_arm(params: Any, state: Any, t: int) -> int:
    """Return the arm that was chosen at the end of the last phase."""
    return state.tally.chosen[0]


@kernel
def rest_of_phase(params: Any, state: Any, arm: int, t: int) -> int:
    """Hold the arm until its phase ends."""
    return plays_left(params.phases, state.tally, arm)


@kernel
def plays_left(phases: Phases, tally: Tally, arm: int) -> int:
    """Return how many plays the arm's phase still has; after the last phase it goes on for ever."""
    k = tally.done[arm]
    return phases.ends[k] - tally.counts[arm] if k < len(phases.ends) else FOREVER


@kernel
def ends_phase(phases: Phases, tally: Tally, arm: int, plays: int, reward: Any) -> bool:
    """Add the plays to the arm's phase and tell whether they end it. Then its sum is to be released."""
    is_end = plays == plays_left(phases, tally, arm)
    tally.counts[arm] += plays
    tally.sums[arm] = tally.sums[arm] + reward
    return is_end


@kernel
def begin_next_phase(tally: Tally, arm: int) -> bool:
    """Forget the sum that was released and tell whether every arm has had a release; if not, choose one without."""
    tally.sums[arm] = 0
    tally.done[arm] += 1
    if tally.done[arm] == 1:
        tally.opened[0] += 1
    if tally.opened[0] == len(tally.done):
        return True
    while tally.done[tally.chosen[0]] > 0:
        tally.chosen[0] += 1
    return False


@dataclass(frozen=True, kw_only=True)
class PhasePolicy(Policy):
    """What policies in phases share: the budget, and what follows from the phases for privacy."""

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS)

    @abstractmethod
    def phase_ends(self) -> Iterator[int]:
        """Yield n_1 < n_2 < ... without an end."""

    def phases(self, horizon: int) -> Phases:
        """Return the phases that an arm can finish in so many plays."""
        return phases_until(self.phase_ends(), horizon, scale_for(self.epsilon))

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return epsilon, at any horizon."""
        return Guarantee(self.epsilon, horizon=horizon, theorem=ONE_RELEASE, certified=True)

    def schedule(self, arms: int, horizon: int) -> tuple[Iterator[Event], ...]:
        """Return the releases of one arm."""
        return ((LaplaceEvent(block.scale) for block in self.blocks(horizon)),)

    def live(self, contributions: int, grid_bits: int) -> Self:
        """Return the policy with the budget of one reward among so many of one person."""
        one_reward = per_reward_budget(Budget(self.epsilon), contributions).epsilon
        if one_reward < SMALLEST_EPSILON:
            raise InvalidInput(
                f"Expected contributions={contributions} to leave every reward at least {SMALLEST_EPSILON:g} of "
                f"epsilon={self.epsilon:g}."
            )
        return replace(self, epsilon=one_reward)

    def blocks(self, horizon: int) -> Iterator[Block]:
        """Yield the phases of one arm."""
        last = 0
        for end in takewhile(lambda n: n <= horizon, self.phase_ends()):
            yield Block(last + 1, end, scale_for(self.epsilon))
            last = end


def phases_until(ends: Iterator[int], horizon: int, scale: float) -> Phases:
    """Return the phases that end within so many plays of an arm."""
    counts = np.fromiter(takewhile(lambda n: n <= horizon, ends), dtype=np.int64)
    return Phases(counts, np.diff(counts, prepend=0).astype(np.float64), scale)


def geometric_ends(first: int, growth: float) -> Iterator[int]:
    """Yield counts from `first` on, each at least `growth` times the one before: n + ⌈(growth - 1) n⌉."""
    exact = Fraction(str(growth))  # what was written: 10 times 1.1 is 11
    n = first
    while True:
        yield n
        n = math.ceil(exact * n)


def doubling_epochs() -> Iterator[int]:
    """Yield 1, 3, 7, 15, ...: the ends of epochs of 1, 2, 4, 8, ... plays."""
    n = 1
    while True:
        yield n
        n = 2 * n + 1
