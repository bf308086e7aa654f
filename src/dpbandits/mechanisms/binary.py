"""Binary: the tree counter for a known horizon T (Chan, Shi & Song 2011; Dwork, Naor, Pitassi & Rothblum 2010).

The n-th sum is a sum of dyadic nodes, one per set bit of n, each released once with Lap(levels/ε), where
levels = ⌊log2 T⌋ + 1. (Chan et al. write log2 T, which is one short when T is a power of two.)

The stack holds, for every number d of set bits, the latest prefix with d set bits: taking the lowest set bit off n
leads to the entry d - 1, so one release per item is all there is to do.

Privacy: an item is in at most one node per level, so the whole sequence of sums is ε-DP.
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.bits import popcount
from dpbandits.mechanisms.counter import MAX_ITEMS, ContinualCounter, Node, insert
from dpbandits.mechanisms.release import NoiseSource, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.privacy import scale_for


class Params(NamedTuple):
    """Constants of the kernel."""

    horizon: int
    scale: float


class State(NamedTuple):
    """What is kept of a bank of counters; entry d of the stack is the latest prefix with d set bits."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    total: Annotated[Any, secret("arms")]
    exact: Annotated[Any, secret("arms", "depth")]
    released: Annotated[Any, public("arms", "depth")]


@insert.register(Params)
@kernel
def _insert(params: Params, state: State, arm: int, reward: Any, noise: Any) -> None:
    if state.counts[arm] >= params.horizon:
        return
    n = state.counts[arm] + 1
    d = popcount(n)
    total = state.total[arm] + reward
    node = release(noise, total - state.exact[arm, d - 1], params.scale)
    state.sums[arm] = state.released[arm, d] = state.released[arm, d - 1] + node
    state.exact[arm, d] = total
    state.total[arm] = total
    state.counts[arm] = n


def configure(epsilon: float, horizon: int) -> tuple[Params, dict[str, int]]:
    """Return the constants and the sizes of the state for at most `horizon` items."""
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    horizon = _validate.integer(f"[1, {MAX_ITEMS}]", horizon=horizon)
    levels = horizon.bit_length()
    return Params(horizon, scale_for(epsilon, uses=levels)), {"depth": levels + 1}


def dyadic_nodes(n: int, scale: float, offset: int = 0) -> Iterator[Node]:
    """Yield the tree nodes of the first n items after `offset`, largest first."""
    first = 0
    for level in range(n.bit_length() - 1, -1, -1):
        if n >> level & 1:
            start = offset + first
            yield Node((level, start), start + 1, start + 2**level, 1, scale)
            first += 2**level


class Binary(ContinualCounter):
    """The Binary mechanism for at most `horizon` items.

    >>> counter = Binary(epsilon=1.0, horizon=1000)
    >>> counter.variance(1000), counter.item_loss(1000)
    (1200.0, 1.0)
    """

    def __init__(self, epsilon: float, horizon: int, *, noise: NoiseSource | None = None) -> None:
        params, sizes = configure(epsilon, horizon)
        largest = params.scale
        super().__init__(epsilon, params, State, sizes, noise, largest_scale=largest, horizon=params.horizon)

    def _nodes(self, n: int) -> Iterator[Node]:
        """Yield one node per set bit of n."""
        return dyadic_nodes(n, self._params.scale)
