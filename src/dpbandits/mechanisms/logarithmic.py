"""Logarithmic: a new sum at every power of two, the old one in between (Chan, Shi & Song 2011).

Item 2^j starts nothing and ends the range 2^(j-1)+1..2^j, which is released once with Lap(1/ε); the noises add up.

Privacy: an item is in one range, so the whole sequence of sums is ε-DP.
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.bits import floor_log2, popcount
from dpbandits.mechanisms.counter import ContinualCounter, Node, insert
from dpbandits.mechanisms.release import LAPLACE, NoiseSource, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.privacy import scale_for


class Params(NamedTuple):
    """Constants of the kernel."""

    scale: float


class State(NamedTuple):
    """What is kept for a bank of counters."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    pending: Annotated[Any, secret("arms")]


@insert.register(Params)
@kernel
def _insert(params: Params, state: State, arm: int, reward: Any, noise: Any) -> None:
    n = state.counts[arm] + 1
    pending = state.pending[arm] + reward
    if popcount(n) == 1:
        state.sums[arm] += release(noise, pending, params.scale, LAPLACE, arm)
        state.pending[arm] = 0
    else:
        state.pending[arm] = pending
    state.counts[arm] = n


def configure(epsilon: float) -> tuple[Params, dict[str, int]]:
    """Return the constants and the sizes of the state."""
    return Params(scale_for(epsilon)), {}


def log_nodes(n: int, scale: float) -> Iterator[Node]:
    """Yield the noises of the sum up to the last power of two."""
    yield Node((-1, 0), 1, 1, 1, scale)
    for j in range(1, floor_log2(n) + 1):
        yield Node((-1, j), 2 ** (j - 1) + 1, 2**j, 1, scale)


class Logarithmic(ContinualCounter):
    """The Logarithmic mechanism: little noise, but between powers of two the sum stands still.

    Args:
        epsilon: the budget of one reward.
        noise: where its noise comes from: SecureNoise() by default; SeededNoise(seed) repeats itself and is for
            simulations.

    >>> counter = Logarithmic(epsilon=1.0)
    >>> counter.variance(1000), counter.item_loss(1000)
    (20.0, 1.0)
    """

    def __init__(self, epsilon: float, *, noise: NoiseSource | None = None) -> None:
        params, sizes = configure(epsilon)
        super().__init__(epsilon, params, State, sizes, noise, largest_scale=params.scale)

    def _nodes(self, n: int) -> Iterator[Node]:
        """Yield the noises in the sum released at the last power of two."""
        return log_nodes(n, self._params.scale)

    def _lag(self, n: int) -> int:
        return n - (1 << floor_log2(n))
