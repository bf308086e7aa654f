"""Phases: the plays of an arm are cut into phases, and the sum of each is released once, at its end.

    counts at the phase ends:  n_1 < n_2 < ...,  the same for every arm, fixed in advance

The next arm is chosen at a phase's end, from what was released until then, and plays its whole next phase. First every
arm has its first phase, in order.

A policy in phases is a `PhasePolicy`, whose Params have a field `phases` and whose State has a field `tally`. It
registers one kernel, and everything else comes from this file:

    @phase_index(Params)      index(params, state, arm, t): the arm with the largest is played next
    @phase_choice(Params)     choose(params, state, arm, t): the next arm itself, after a release of `arm`

What is kept of a release is up to `learn=`: `pool_phases`, with a `PooledState`, adds up all releases of an arm;
`keep_last_phase` (last_phase.py) keeps the last one alone.

Privacy: a reward is in one phase of one arm, so it is in a single released sum, which has Laplace noise of scale 1/ε.
The whole action sequence is ε-DP, at any horizon (parallel composition; which phase a reward falls into depends on
earlier releases alone).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, takewhile
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import generic, kernel
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.policy import EPSILONS, FOREVER, SMALLEST_EPSILON, Block, Policy, hold, select, update
from dpbandits.privacy import Budget, Guarantee, per_reward_budget, scale_for

Kernel = Callable[..., Any]
KernelT = TypeVar("KernelT", bound=Kernel)

MAX_PHASES = 1_000_000  # of an arm: their ends are in a table
ONE_RELEASE = "one release of every reward (parallel composition)"


class Phases(NamedTuple):
    """The phases of an arm, for the kernels."""

    ends: Any  # how often an arm has been played at the end of its phases
    sizes: Any  # how many plays each of them has
    scale: float  # of the noise of a sum
    mechanism: int


class Tally(NamedTuple):
    """Where every arm stands in its phases, and the arm that was chosen."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    done: Annotated[Any, public("arms", dtype=np.int64)]  # phases whose sum was released
    opened: Annotated[Any, public("one", dtype=np.int64)]  # arms with a release
    chosen: Annotated[Any, public("one", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]  # of the phase that is being played


class PooledState(NamedTuple):
    """Where the arms stand, and what all their released phases add up to."""

    tally: Tally
    totals: Annotated[Any, public("arms")]
    means: Annotated[Any, public("arms")]


@generic
def learn_release(params: Any, state: Any, arm: int, value: float, t: int) -> None:
    """Keep the sum of the arm's phase that was just released."""
    raise TypeError(f"{type(params).__module__}.Params is not in phases: register phase_index or phase_choice.")


@generic
def index_of(params: Any, state: Any, arm: int, t: int) -> float:
    """Return what an arm is judged by: the largest is played next."""
    raise TypeError(f"{type(params).__module__}.Params has no index: register one with phase_index.")


@generic
def next_arm(params: Any, state: Any, arm: int, t: int) -> int:
    """Return the arm that plays its next phase, after a release of `arm`, when every arm has had one."""
    raise TypeError(f"{type(params).__module__}.Params is not in phases: register phase_index or phase_choice.")


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


@kernel
def finish_phase(params: Any, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> bool:
    """Take in plays; at a phase's end release its sum. Tell whether the next arm is to be chosen from the releases."""
    phases, tally = params.phases, state.tally
    if not ends_phase(phases, tally, arm, plays, reward):
        return False
    value = release(noise, tally.sums[arm], phases.scale, phases.mechanism, arm)
    all_opened = begin_next_phase(tally, arm)
    learn_release(params, state, arm, value, t)
    return all_opened


@kernel
def learn_in_phases(params: Any, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    """Take in plays, and choose the next arm at the end of a phase."""
    if finish_phase(params, state, arm, plays, reward, t, noise):
        state.tally.chosen[0] = next_arm(params, state, arm, t)


@kernel
def largest_index(params: Any, state: Any, arm: int, t: int) -> int:
    """Return the arm with the largest index, the first of equal ones."""
    choice, largest = 0, -math.inf
    for other in range(len(state.tally.counts)):
        index = index_of(params, state, other, t)
        if index > largest:
            choice, largest = other, index
    return choice


@kernel
def pool_phases(params: Any, state: PooledState, arm: int, value: float, t: int) -> None:
    """Add the released sum to those of the arm's earlier phases."""
    state.totals[arm] += value
    state.means[arm] = state.totals[arm] / state.tally.counts[arm]


def phase_index(params_class: type, *, learn: Kernel = pool_phases) -> Callable[[KernelT], KernelT]:
    """Make the decorated kernel, index(params, state, arm, t), what a policy in phases judges its arms by.

    Args:
        params_class: the policy's Params, with a field `phases`.
        learn: what is kept of a release, (params, state, arm, value, t); by default that of `PooledState`.
    """

    def register(index: KernelT) -> KernelT:
        _register_in_phases(params_class, learn, largest_index)
        index_of.register(params_class)(index)
        return index

    return register


def phase_choice(params_class: type, *, learn: Kernel = pool_phases) -> Callable[[KernelT], KernelT]:
    """Make the decorated kernel, choose(params, state, arm, t), how a policy in phases finds its next arm.

    Args:
        params_class: the policy's Params, with a field `phases`.
        learn: what is kept of a release, (params, state, arm, value, t); by default that of `PooledState`.
    """

    def register(choose: KernelT) -> KernelT:
        _register_in_phases(params_class, learn, choose)
        return choose

    return register


def _register_in_phases(params_class: type, learn: Kernel, choose: Kernel) -> None:
    select.register(params_class)(chosen_arm)
    hold.register(params_class)(rest_of_phase)
    update.register(params_class)(learn_in_phases)
    learn_release.register(params_class)(learn)
    next_arm.register(params_class)(choose)


@dataclass(frozen=True, kw_only=True)
class PhasePolicy(Policy):
    """What policies in phases share: the budget, and what follows from the phases for privacy.

    Args:
        epsilon: the budget of the whole action sequence.
    """

    mechanism: ClassVar[int] = LAPLACE

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS)

    def phase_ends(self) -> Iterator[int]:
        """Yield n_1 < n_2 < ... without an end; by default 1, 2, 4, 8, ..."""
        return geometric_ends(1, 2.0)

    def noise_scale(self) -> float:
        """Return the scale of the noise of one release."""
        return scale_for(self.epsilon)

    def blocks(self, horizon: int) -> Iterator[Block]:
        """Yield the phases of one arm."""
        last, scale = 0, self.noise_scale()
        for end in takewhile(lambda n: n <= horizon, self.phase_ends()):
            yield Block(last + 1, end, scale)
            last = end

    def phases(self, horizon: int) -> Phases:
        """Return the phases that an arm can finish within `horizon` plays, for the kernels."""
        ends = np.fromiter((block.last for block in islice(self.blocks(horizon), MAX_PHASES + 1)), dtype=np.int64)
        if len(ends) > MAX_PHASES:
            raise InvalidInput(
                f"Expected the phases of policy={self.name} to grow, or a smaller horizon: with horizon={horizon} an "
                f"arm would have more than {MAX_PHASES:,} phases."
            )
        return Phases(ends, np.diff(ends, prepend=0).astype(np.float64), self.noise_scale(), self.mechanism)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee of epsilon, at any horizon."""
        return Guarantee(self.epsilon, horizon=horizon, theorem=ONE_RELEASE, proved=True)

    def live(self, contributions: int, grid_bits: int) -> Self:
        """Return the policy with the budget of one reward of a person who gives several."""
        one_reward = per_reward_budget(Budget(self.epsilon), contributions).epsilon
        if one_reward < SMALLEST_EPSILON:
            raise InvalidInput(
                f"Expected contributions={contributions} to leave every reward at least {SMALLEST_EPSILON:g} of "
                f"epsilon={self.epsilon:g}."
            )
        return replace(self, epsilon=one_reward)


def geometric_ends(first: int, growth: float) -> Iterator[int]:
    """Yield counts from `first` on, each at least `growth` times the one before: n + ⌈(growth - 1) n⌉.

    Args:
        first: the end of the first phase.
        growth: by how much counts grow, above 1.
    """
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
