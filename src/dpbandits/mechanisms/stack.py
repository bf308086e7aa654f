"""The stack of dyadic prefixes, the kernel of both Binary and Hybrid: one release per item, in constant time.

Entry d holds the latest prefix whose length has d set bits, exact (secret) and released (public). Taking the lowest
set bit off n leads to the entry d - 1, so the node that ends at n is the difference of two prefixes. At a power of
two Binary starts from nothing (entry 0) and Hybrid continues from the power of two before (entry 1).
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.bits import floor_log2, popcount
from dpbandits.mechanisms.counter import Node, insert, noise_class
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public, secret


class Params(NamedTuple):
    """Constants of the kernel: entry k of `tree_scales` is the node noise between 2^k and 2^(k+1)."""

    horizon: int
    power_start: int  # the entry from which a power of two starts, 0 or 1
    power_scale: float  # and its noise
    tree_scales: Any


class State(NamedTuple):
    """What is kept for a bank of counters."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    total: Annotated[Any, secret("arms")]
    exact: Annotated[Any, secret("arms", "depth")]
    released: Annotated[Any, public("arms", "depth")]


# In one piece, and without max() for `below`, because numba then inlines it: look at Binary and Hybrid in
# benchmarks/results.md before and after changing this.
@insert.register(Params)
@kernel
def _insert(params: Params, state: State, arm: int, reward: Any, noise: Any) -> None:
    if state.counts[arm] >= params.horizon:
        return
    n = state.counts[arm] + 1
    depth = popcount(n)
    is_power = depth == 1
    scale = params.power_scale if is_power else params.tree_scales[floor_log2(n)]
    below = params.power_start if is_power else depth - 1
    total = state.total[arm] + reward
    node = release(noise, total - state.exact[arm, below], scale, LAPLACE, arm)
    state.sums[arm] = state.released[arm, depth] = state.released[arm, below] + node
    state.exact[arm, depth] = total
    state.total[arm] = total
    state.counts[arm] = n


@noise_class.register(Params)
@kernel
def _noise_class(params: Params, state: State, arm: int) -> tuple[int, int]:
    n = state.counts[arm]
    return floor_log2(n), popcount(n) - 1


def dyadic_nodes(n: int, scale: float, offset: int = 0) -> Iterator[Node]:
    """Yield the tree nodes of the first n items after `offset`, largest first."""
    first = 0
    for level in range(n.bit_length() - 1, -1, -1):
        if n >> level & 1:
            start = offset + first
            yield Node((level, start), start + 1, start + 2**level, 1, scale)
            first += 2**level
