"""Binary: the tree counter for a known horizon T (Chan, Shi & Song 2011; Dwork, Naor, Pitassi & Rothblum 2010).

The n-th sum is a sum of dyadic nodes, one per set bit of n, each released once with Lap(levels/ε), where
levels = ⌊log2 T⌋ + 1. (Chan et al. write log2 T, which is one short when T is a power of two.)

Privacy: an item is in at most one node per level, so the whole sequence of sums is ε-DP.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.bits import popcount
from dpbandits.mechanisms.counter import MAX_ITEMS, ContinualCounter, Node, insert
from dpbandits.mechanisms.release import NoiseSource
from dpbandits.mechanisms.stack import State, dyadic_nodes, push
from dpbandits.privacy import scale_for


class Params(NamedTuple):
    """Constants of the kernel."""

    horizon: int
    scale: float


@insert.register(Params)
@kernel
def _insert(params: Params, state: State, arm: int, reward: Any, noise: Any) -> None:
    if state.counts[arm] < params.horizon:
        depth = popcount(state.counts[arm] + 1)
        push(state, arm, depth, depth - 1, reward, params.scale, noise)


def configure(epsilon: float, horizon: int) -> tuple[Params, dict[str, int]]:
    """Return the constants and the sizes of the state for at most `horizon` items."""
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    horizon = _validate.integer(f"[1, {MAX_ITEMS}]", horizon=horizon)
    levels = horizon.bit_length()
    return Params(horizon, scale_for(epsilon, uses=levels)), {"depth": levels + 1}


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
