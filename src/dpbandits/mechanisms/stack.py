"""The stack of dyadic prefixes that Binary and Hybrid share: one release per item, in constant time.

Entry d holds the latest prefix whose length has d set bits, exact (secret) and released (public). Taking the lowest
set bit off n leads to the entry d - 1, so the node that ends at n is the difference of two prefixes.
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.counter import Node
from dpbandits.mechanisms.release import release
from dpbandits.mechanisms.state import public, secret


class State(NamedTuple):
    """What is kept of a bank of counters."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    total: Annotated[Any, secret("arms")]
    exact: Annotated[Any, secret("arms", "depth")]
    released: Annotated[Any, public("arms", "depth")]


@kernel
def push(state: State, arm: int, depth: int, below: int, reward: Any, scale: float, noise: Any) -> None:
    """Add a reward and release the node between the prefix `below` and the new one, which becomes entry `depth`."""
    total = state.total[arm] + reward
    node = release(noise, total - state.exact[arm, below], scale)
    state.sums[arm] = state.released[arm, depth] = state.released[arm, below] + node
    state.exact[arm, depth] = total
    state.total[arm] = total
    state.counts[arm] += 1


def dyadic_nodes(n: int, scale: float, offset: int = 0) -> Iterator[Node]:
    """Yield the tree nodes of the first n items after `offset`, largest first."""
    first = 0
    for level in range(n.bit_length() - 1, -1, -1):
        if n >> level & 1:
            start = offset + first
            yield Node((level, start), start + 1, start + 2**level, 1, scale)
            first += 2**level
