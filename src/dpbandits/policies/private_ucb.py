"""Private-UCB, the baseline before the paper: UCB on tree sums, with a relaxation Γ of the index.

    index_a(t) = s_a / n_a + √(2 ln t / n_a) + Γ(t) / n_a
    Γ(t) = ln²T ln(K T ln T / γ) / ε_0,   γ = t^-4          (Mishra & Thakurta 2015, Algorithm 1)

Every arm has a binary tree for T items. Its share is ε_0 = ε/K as published (`split_over_arms=True`), though a reward
enters one tree only and ε_0 = ε costs no more. With `relaxation="none"` the index is that of UCB: what the comparison
of the 2016 paper seems to have run.

Privacy: a reward is in at most one node per level of one tree, so the whole action sequence is ε-DP (even ε/K with
`split_over_arms=True`).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms import binary, stack
from dpbandits.mechanisms.counter import SHIFT_THEOREM, insert
from dpbandits.mechanisms.state import public
from dpbandits.policies.exploration import Tables, inverse, inverse_root, root, tables
from dpbandits.policies.policy import EPSILONS, Policy, Setup, every_step, hold, select, update
from dpbandits.privacy import Guarantee
from dpbandits.privacy.rounding import down

Relaxation = Literal["published", "none"]
RELAXATIONS: tuple[Relaxation, ...] = get_args(Relaxation)


class Params(NamedTuple):
    """Constants of the kernels; Γ(t) = offset + slope ln t."""

    tables: Tables
    counter: Any
    offset: float
    slope: float


class State(NamedTuple):
    """What is kept for every arm: its tree, and the parts of its index."""

    means: Annotated[Any, public("arms")]
    widths: Annotated[Any, public("arms")]  # 1/√n
    inverses: Annotated[Any, public("arms")]  # 1/n
    counter: stack.State


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.means)
    if t <= arms:
        return t - 1
    spread = root(params.tables, t)
    relaxation = params.offset + params.slope * (0.5 * spread * spread)
    best, highest = 0, -math.inf
    for arm in range(arms):
        index = state.means[arm] + spread * state.widths[arm] + relaxation * state.inverses[arm]
        best = arm if index > highest else best
        highest = index if index > highest else highest
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    insert(params.counter, state.counter, arm, reward, noise)
    n = state.counter.counts[arm]
    per_play = inverse(params.tables, n)
    state.means[arm] = state.counter.sums[arm] * per_play
    state.widths[arm] = inverse_root(params.tables, n)
    state.inverses[arm] = per_play


@dataclass(frozen=True, kw_only=True)
class PrivateUCB(Policy):
    """Private-UCB of Mishra & Thakurta.

    Args:
        epsilon: the budget of the whole action sequence.
        relaxation: "published", the term Γ in the index, which allows for the noise; "none" leaves it out.
        split_over_arms: whether every arm's tree has epsilon / K, as published. A reward is in one tree alone: without
            the split it costs epsilon, and there is less noise.

    >>> print(PrivateUCB(epsilon=0.1).guarantee(horizon=1000))
    (0.1, 0)-DP in one reward up to n = 1000, by shift of the node noises (docs/counters.md)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(PrivateUCB(epsilon=1.0), [0.9, 0.6], steps=10_000)  # arms that always give 0.9 and 0.6
    [5466, 4534]
    """

    name = "private-ucb"
    source = "Mishra & Thakurta 2015"

    epsilon: float
    relaxation: Relaxation = "published"
    split_over_arms: bool = True

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS)
        _validate.one_of(RELAXATIONS, relaxation=self.relaxation)
        _validate.flag(split_over_arms=self.split_over_arms)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one as published, and one with less noise and the index of UCB."""
        return cls(epsilon=0.7), cls(epsilon=0.7, relaxation="none", split_over_arms=False)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        share = self.tree_epsilon(arms)
        counter, sizes = binary.configure(share, horizon)
        offset = slope = 0.0
        if self.relaxation == "published":
            log_horizon = math.log(max(horizon, 2))
            factor = log_horizon**2 / share
            offset = factor * math.log(arms * max(horizon, 2) * log_horizon)
            slope = 4.0 * factor  # ln(1/γ) = 4 ln t
        return Setup(Params(tables(horizon), counter, offset, slope), State, sizes)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee of epsilon."""
        return Guarantee(self.epsilon, horizon=horizon, theorem=SHIFT_THEOREM, proved=True)

    def tree_epsilon(self, arms: int) -> float:
        """Return the share of one arm's tree."""
        return down(Fraction(self.epsilon) / arms) if self.split_over_arms else self.epsilon
