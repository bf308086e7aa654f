"""DP-UCB: UCB on noisy sums, as if they were exact.

    index_a(t) = s_a(t) / n_a + √(2 ln t / n_a)          (Algorithm 2)

Every arm's continual counter receives one item at every step, the reward for the arm that was played and zero for the
others: the noise of all arms is renewed at every t, so that no arm is stuck with a bad draw.

`variant="proved"` (default): the split hybrid, or `counter="weighted"`. `variant="published"`: no split. The paper's
regret bound (Theorem 3.3) is not proved for either.

Privacy: given the actions, a changed reward changes one item of one counter; inserted zeros are the same for both. The
whole action sequence is as private as one counter: ε-DP proved, 2ε as published. There ε itself is refuted by an event
at T = 6 (rewards 000000 against 001000, actions 1,2,2,1,1,1; tests/policies/test_paper_algorithms.py).
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.counter import insert
from dpbandits.mechanisms.state import part, public
from dpbandits.policies.counter_policy import COUNTERS, CounterPolicy
from dpbandits.policies.exploration import Tables, inverse, inverse_root, root, tables
from dpbandits.policies.policy import Setup, every_step, hold, select, update


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    counter: Any


class State(NamedTuple):
    """What is kept for every arm: how often it was played, and its counter, which counts the steps."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    inverses: Annotated[Any, public("arms")]  # 1/n
    widths: Annotated[Any, public("arms")]  # 1/√n
    counter: Annotated[Any, part()]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.counts)
    if t <= arms:
        return t - 1
    spread = root(params.tables, t)
    best, highest = 0, -math.inf
    for arm in range(arms):
        index = state.counter.sums[arm] * state.inverses[arm] + spread * state.widths[arm]
        best = arm if index > highest else best
        highest = index if index > highest else highest
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    if state.counter.counts[arm] >= params.counter.horizon:
        return  # beyond the horizon: it goes on playing from what was released
    n = state.counts[arm] + plays
    state.counts[arm] = n
    state.inverses[arm] = inverse(params.tables, n)
    state.widths[arm] = inverse_root(params.tables, n)
    for other in range(len(state.counts)):
        insert(params.counter, state.counter, other, reward if other == arm else 0 * reward, noise)


@dataclass(frozen=True, kw_only=True)
class DPUCB(CounterPolicy):
    """DP-UCB (Algorithm 2): noisy sums, all of them renewed at every step.

    Args:
        epsilon: the budget of the whole action sequence.
        variant: "proved", or "published" for what the paper prints, which costs 2ε.
        counter: how sums are kept: "hybrid", or "weighted", which has less noise and is not published.

    >>> print(DPUCB(epsilon=1.0).guarantee())
    (1, 0)-DP in one reward at any horizon, by shift of the node noises (docs/counters.md)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(DPUCB(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [725, 275]
    """

    name = "dp-ucb"
    source = "Tossou & Dimitrakakis 2016, Algorithm 2"
    claimed_by = "the paper's section 3.2"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        counter, sizes = self.configure_counter(horizon)
        parts = {"counter": COUNTERS[self.counter].state_class}
        return Setup(Params(tables(horizon), counter), State, sizes, parts)
