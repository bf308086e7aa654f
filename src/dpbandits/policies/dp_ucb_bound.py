"""DP-UCB-Bound: UCB on noisy sums, with the largest error of the noise added to every index.

    index_a(t) = s_a / n_a + √(2 ln t / n_a) + ν_a(t) / n_a          (Algorithm 1)

s_a is the latest sum of the arm's continual counter, ν a bound on its error that fails with probability at most t^-4.
It is refreshed at every t for every arm, which is free: it depends on t and n_a alone.

`variant="proved"` (default): the split hybrid (or `counter="weighted"`), and the Chernoff bound for its noises.
`variant="published"`: the hybrid without a split, and the paper's ν = √8/ε ln(4 t^4) (log2 n + 1), without the last
factor at powers of two. There ν drops suddenly, so that inferior arms park at n = 2^k.

Privacy: a reward enters the counter of one arm, and everything else is computed from the counters' sums. The whole
action sequence is as private as one counter: ε-DP proved, 2ε as published. The paper claims ε (Theorem 3.1), which an
event of 13 steps refutes (reproduce/claims/bound_counterexample.py).
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.bits import floor_log2
from dpbandits.mechanisms.counter import insert
from dpbandits.mechanisms.state import part, public
from dpbandits.policies.counter_policy import COUNTERS, CounterPolicy
from dpbandits.policies.exploration import Tables, inverse, inverse_root, root, tables
from dpbandits.policies.noise_bounds import chernoff_lines, error_line, noise_size, paper_bound
from dpbandits.policies.policy import Setup, every_step, hold, select, update


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    counter: Any
    bound: Any


class State(NamedTuple):
    """What is kept for every arm: its counter, and the parts of its index."""

    means: Annotated[Any, public("arms")]
    widths: Annotated[Any, public("arms")]  # 1/√n
    rows: Annotated[Any, public("arms", dtype=np.int64)]  # which noises the sum contains
    sizes: Annotated[Any, public("arms")]  # and how much they count, divided by n
    counter: Annotated[Any, part()]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.means)
    if t <= arms:
        return t - 1
    spread = root(params.tables, t)
    log_t = 0.5 * spread * spread
    octave = floor_log2(t)
    best, highest = 0, -math.inf
    for arm in range(arms):
        offset, slope = error_line(params.bound, octave, state.rows[arm])
        relaxation = state.sizes[arm] * (offset + slope * log_t)  # ν/n
        index = state.means[arm] + spread * state.widths[arm] + relaxation
        best = arm if index > highest else best
        highest = index if index > highest else highest
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    insert(params.counter, state.counter, arm, reward, noise)
    n = state.counter.counts[arm]
    state.means[arm] = state.counter.sums[arm] * inverse(params.tables, n)
    state.widths[arm] = inverse_root(params.tables, n)
    row, size = noise_size(params.bound, params.counter, state.counter, arm)
    state.rows[arm] = row
    state.sizes[arm] = size * inverse(params.tables, n)


@dataclass(frozen=True, kw_only=True)
class DPUCBBound(CounterPolicy):
    """DP-UCB-Bound (Algorithm 1): noisy sums, and an index that allows for their largest error.

    Args:
        epsilon: the budget of the whole action sequence.
        variant: "proved", or "published" for what the paper prints, which costs 2ε.
        counter: how sums are kept: "hybrid", or "weighted", which has less noise and is not published.

    >>> print(DPUCBBound(epsilon=1.0, variant="published").guarantee())
    (2, 0)-DP in one reward at any horizon, by shift of the node noises (docs/counters.md)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(DPUCBBound(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [744, 256]
    """

    name = "dp-ucb-bound"
    source = "Tossou & Dimitrakakis 2016, Algorithm 1"
    regret = "Theorem 3.2 with constants that are proved (docs/reproduction.md)"
    claimed_by = "Theorem 3.1 of the paper"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        kind = COUNTERS[self.counter]
        counter, sizes = self.configure_counter(horizon)
        is_published = self.variant == "published"
        bound = paper_bound(self.epsilon, horizon) if is_published else chernoff_lines(kind, counter, horizon)
        return Setup(Params(tables(horizon), counter, bound), State, sizes, {"counter": kind.state_class})
