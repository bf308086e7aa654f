"""DP-UCB-Int: release an arm's mean rarely, at growing counts W_1 < W_2 < ..., with less and less noise.

    index_a(t) = S_a(W_k) / W_k + Lap(W_k^(v/2 - 1)) + √(2 ln t / W_k)          (Algorithm 3)

W_k is the last release of arm a. Until all arms have had their first, arms take turns. Noise is drawn once per
release. The bonus is public: `bonus="live"` (default) renews it at every t, `bonus="frozen"` keeps that of the decision
after the release, as Algorithm 3 does. (Algorithm 3 as printed draws the noise anew at every step while an arm waits at
W_k, which is not private and is not offered here.)

How dense the W_k are follows from the budget: `accounting="tight"` (default) takes the densest schedule whose true cost
fits, up to a declared `horizon` or for ever; `accounting="corollary"` is the paper's Corollary 3.2.

Privacy: a reward enters the sum of one arm, and is in the releases at W_k >= its place, each W_k^(-v/2)-DP (Lemma 3.1).
The first reward is in all of them. The schedule is fixed in advance, so composition applies (docs/privacy.md). Nothing
is released after a declared horizon.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.exploration import Tables, inverse_root, root, tables
from dpbandits.policies.interval_calibration import calibrate_interval
from dpbandits.policies.policy import EPSILONS, FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.policies.release_intervals import MAX_HORIZON as MAX_DECLARED
from dpbandits.policies.release_intervals import (
    SERIES,
    Series,
    interval_epsilon,
    interval_guarantee,
    published_interval_guarantee,
    release_progression,
    release_sequence,
    squared_loss_after,
)
from dpbandits.privacy import Budget, Guarantee, per_reward_budget

Bonus = Literal["live", "frozen"]
BONUSES: tuple[Bonus, ...] = get_args(Bonus)
Accounting = Literal["tight", "corollary"]
ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)


class Params(NamedTuple):
    """Constants of the kernels: W_1, W_2, ... as a table that goes on in equal steps, and how noise and bonus work."""

    tables: Tables
    times: Any
    step: int
    last: int  # no release after this count
    opening: int  # decisions in turn, until every arm has had its first release
    half_v: float
    is_frozen: bool


class State(NamedTuple):
    """What is kept for every arm. The index is mean + √(2 ln t) width; a frozen bonus is part of the mean."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    releases: Annotated[Any, public("arms", dtype=np.int64)]
    means: Annotated[Any, public("arms")]
    widths: Annotated[Any, public("arms")]
    sums: Annotated[Any, secret("arms")]


@kernel
def next_release(params: Params, state: State, arm: int) -> int:
    """Return the count at which the arm is released next, or for ever if it is not."""
    k = state.releases[arm]
    length = len(params.times)
    n = params.times[k] if k < length else params.times[length - 1] + (k + 1 - length) * params.step
    return n if n <= params.last else FOREVER


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.means)
    if t <= params.opening:
        return (t - 1) % arms
    spread = root(params.tables, t)
    best, highest = 0, state.means[0] + spread * state.widths[0]
    for arm in range(1, arms):
        index = state.means[arm] + spread * state.widths[arm]
        best = arm if index > highest else best
        highest = index if index > highest else highest
    return best


@hold.register(Params)
@kernel
def _hold(params: Params, state: State, arm: int, t: int) -> int:
    if t <= params.opening:
        return 1
    plays = next_release(params, state, arm) - state.counts[arm]
    # Until the release all indices are straight lines in r = √(2 ln t), which is concave in t: up to the last play
    # it does not pass `reach`.
    spread = root(params.tables, t)
    reach = spread + (plays - 1) / (t * spread)
    crossing = math.inf
    for other in range(len(state.means)):
        if other != arm:
            # So much more than the rounding of an index that no tie is decided by it.
            tie = 1e-12 * (abs(state.means[arm]) + abs(state.means[other]) + 10.0)
            lead = state.means[arm] - state.means[other] - tie
            steeper = state.widths[other] - state.widths[arm]
            if lead < steeper * (reach if steeper > 0.0 else spread):
                crossing = min(crossing, lead / steeper if steeper > 0.0 else 0.0)
    if crossing == math.inf:
        return plays
    exponent = 0.5 * max(crossing, 0.0) ** 2  # r = crossing at t = e^exponent
    safe = math.exp(min(exponent, 42.0)) * (1.0 - 1e-12)  # e^42 < 2^62, more than any horizon
    return max(1, min(plays, int(safe) - t + 1))


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    n = state.counts[arm] + plays
    total = state.sums[arm] + reward
    if n == next_release(params, state, arm):
        mean = release(noise, total, float(n) ** params.half_v, LAPLACE, arm) / n
        width = inverse_root(params.tables, n)
        if params.is_frozen:
            state.means[arm] = mean + root(params.tables, max(t, params.opening + 1)) * width
        else:
            state.means[arm] = mean
            state.widths[arm] = width
        state.releases[arm] += 1
    state.counts[arm] = n
    state.sums[arm] = total


@dataclass(frozen=True, kw_only=True)
class DPUCBInt(Policy):
    """DP-UCB-Int (Algorithm 3, each release drawn once): lazy means for an (epsilon, delta) budget.

    Args:
        epsilon, delta: the budget of the whole action sequence; delta may be 0 if a horizon is declared.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
        bonus: "live", or "frozen" between releases as in the paper.
        accounting: "tight", or "corollary" for the paper's own schedule.
        horizon: nothing is released when an arm has been played more often than that. None means for ever.
        grid_bits: that of the live noise source, whose noise is discrete. None means continuous noise.
        density: the internal epsilon itself, instead of the one that `accounting` finds; `guarantee` tells its cost.

    >>> policy = DPUCBInt(epsilon=0.1, delta=math.exp(-10), accounting="corollary")
    >>> print(policy.guarantee(horizon=100_000))
    (0.0309347, 4.54e-05)-DP in one reward up to n = 100000, by privacy loss distribution (dp-accounting)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(DPUCBInt(epsilon=1.0, delta=1e-6), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [846, 154]
    """

    name = "dp-ucb-int"
    source = "Tossou & Dimitrakakis 2016, Algorithm 3"

    epsilon: float
    delta: float
    v: float = 1.1
    series: Series = "y"
    bonus: Bonus = "live"
    accounting: Accounting = "tight"
    horizon: int | None = None
    grid_bits: int | None = None
    density: float | None = None

    def __post_init__(self) -> None:
        needs_delta = self.accounting == "corollary" or self.horizon is None
        _validate.real_fields(self, epsilon=EPSILONS, delta="(0, 1)" if needs_delta else "[0, 1)", v="(1, 1.5]")
        _validate.one_of(SERIES, series=self.series)
        _validate.one_of(BONUSES, bonus=self.bonus)
        _validate.one_of(ACCOUNTINGS, accounting=self.accounting)
        if self.horizon is not None:
            _validate.integer_fields(self, horizon=f"[1, {MAX_DECLARED}]")
        if self.grid_bits is not None:
            _validate.integer_fields(self, grid_bits="[0, 30]")
        if self.density is not None:
            _validate.real_fields(self, density="(0, 1]")

    @property
    def interval_epsilon(self) -> float:
        """The internal epsilon: about one release per 1/interval_epsilon plays. See calibrate_interval for the time."""
        if self.density is not None:
            return self.density
        return _interval_epsilon(
            self.epsilon, self.delta, self.v, self.series, self.accounting, self.horizon, self.grid_bits
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one for ever, a pure one, one as the paper has it, other intervals, and one on the live grid."""
        return (
            cls(epsilon=3.0, delta=1e-6),
            cls(epsilon=3.0, delta=0.0, horizon=260),
            cls(epsilon=9.0, delta=1e-6, bonus="frozen", accounting="corollary", series="x"),
            cls(epsilon=3.0, delta=1e-6, series="constant", v=1.3),
            cls(epsilon=3.0, delta=1e-6, horizon=260, grid_bits=2),
        )

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        times, step = release_progression(self.interval_epsilon, self.v, self.series, horizon=horizon)
        opening = min(arms * int(times[0]), FOREVER) if len(times) else FOREVER
        if not len(times):
            times, step = np.array([FOREVER]), 0
        # Nothing is released beyond what was asked for.
        params = Params(tables(horizon), times, step, horizon, opening, self.v / 2, self.bonus == "frozen")
        return Setup(params, State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return what the schedule costs up to `horizon`, at most the declared one, by the tightest valid bound."""
        horizon = _validate.horizon(horizon)
        self.check_declared(horizon)
        if self.horizon is not None:
            horizon = min(horizon, self.horizon)
        return interval_guarantee(
            self.interval_epsilon,
            self.v,
            self.series,
            delta=self.delta,
            horizon=horizon,
            grid_bits=self.grid_bits,
        )

    def claim(self, horizon: float = math.inf) -> Guarantee | None:
        """Return the paper's bound for its own schedule, which holds and is far from tight; None for a tight one."""
        if self.accounting == "tight":
            return None
        return published_interval_guarantee(
            self.interval_epsilon, self.v, self.series, delta=self.delta, horizon=horizon
        )

    def live(self, contributions: int, grid_bits: int) -> "DPUCBInt":
        """Return the policy with the budget of one reward of a person who gives several, calibrated for the grid."""
        if self.grid_bits not in (None, grid_bits):
            raise InvalidInput(f"Expected grid_bits={self.grid_bits} to be {grid_bits}, that of the noise.")
        budget = per_reward_budget(Budget(self.epsilon, self.delta), contributions)
        policy = replace(self, epsilon=budget.epsilon, delta=budget.delta, grid_bits=grid_bits)
        policy = replace(policy, density=policy.interval_epsilon)
        if self.density is not None and not policy.guarantee().within(budget):
            raise InvalidInput(f"Expected density={self.density} to cost a reward at most {budget}.")
        return policy

    def blocks(self, horizon: int) -> Iterator[Block]:
        """Yield the releases of one arm: each is of all its rewards so far."""
        self.check_declared(horizon)
        times = release_sequence(self.interval_epsilon, self.v, self.series, horizon=horizon)
        return (Block(1, n, float(n) ** (self.v / 2)) for n in times)

    def squared_loss_after(self, last: int) -> float:
        """Return what Lemma B.1 leaves for the releases after the one at n = `last`."""
        return squared_loss_after(last, self.interval_epsilon, self.v, self.series)


@lru_cache(maxsize=256)
def _interval_epsilon(
    epsilon: float,
    delta: float,
    v: float,
    series: Series,
    accounting: Accounting,
    horizon: int | None,
    grid_bits: int | None,
) -> float:
    budget = Budget(epsilon, delta)
    if accounting == "corollary":
        return interval_epsilon(budget, v)
    return calibrate_interval(budget, v, series, math.inf if horizon is None else horizon, grid_bits=grid_bits)
