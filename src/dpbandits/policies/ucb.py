"""UCB1, the yardstick without privacy: play the arm whose mean could be largest.

    index_a(t) = s_a / n_a + √(2 ln t / n_a)          (Auer, Cesa-Bianchi & Fischer 2002)

Each arm once, then the largest index; ties go to the arm that comes first.

Privacy: none. Every mean is exact, one reward can change every later choice for certain.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.exploration import Tables, inverse, inverse_root, root, tables
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables


class State(NamedTuple):
    """What is kept for every arm. The means are of secrets, which is why this policy is not private."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]
    means: Annotated[Any, secret("arms")]
    widths: Annotated[Any, public("arms")]  # 1/√n


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.means)
    if t <= arms:
        return t - 1
    # Five policies have this loop. Shared as one kernel it costs UCB a quarter of its speed or more, since numba
    # compiles it less well there: compare the rows of ucb in benchmarks/results.md before trying again.
    spread = root(params.tables, t)
    best, highest = 0, state.means[0] + spread * state.widths[0]
    for arm in range(1, arms):
        index = state.means[arm] + spread * state.widths[arm]
        best = arm if index > highest else best
        highest = index if index > highest else highest
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    n = state.counts[arm] + plays
    total = state.sums[arm] + reward
    state.counts[arm] = n
    state.sums[arm] = total
    state.means[arm] = total * inverse(params.tables, n)
    state.widths[arm] = inverse_root(params.tables, n)


@dataclass(frozen=True, kw_only=True)
class UCB(Policy):
    """UCB1: not private, the yardstick.

    >>> UCB().guarantee() is None
    True
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(UCB(), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [922, 78]
    """

    name = "ucb"
    source = "Auer, Cesa-Bianchi & Fischer 2002 (UCB1)"
    regret = "Σ 8 ln T / Δ + (1 + π²/3) Δ"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(tables(horizon)), State)
