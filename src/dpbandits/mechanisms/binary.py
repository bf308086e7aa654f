"""Binary: the tree counter for a known horizon T (Chan, Shi & Song 2011; Dwork, Naor, Pitassi & Rothblum 2010).

The n-th sum is a sum of dyadic nodes, one per set bit of n, each released once with Lap(levels/ε), where
levels = ⌊log2 T⌋ + 1. (Chan et al. write log2 T, which is one short when T is a power of two.)

Privacy: an item is in at most one node per level, so the whole sequence of sums is ε-DP.
"""

from collections.abc import Iterator

import numpy as np

from dpbandits import _validate
from dpbandits.mechanisms.counter import MAX_ITEMS, ContinualCounter, Node
from dpbandits.mechanisms.release import NoiseSource
from dpbandits.mechanisms.stack import Params, State, dyadic_nodes
from dpbandits.privacy import scale_for


def configure(epsilon: float, horizon: int) -> tuple[Params, dict[str, int]]:
    """Return the constants and the sizes of the state for at most `horizon` items."""
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    horizon = _validate.integer(f"[1, {MAX_ITEMS}]", horizon=horizon)
    levels = horizon.bit_length()
    scale = scale_for(epsilon, uses=levels)
    return Params(horizon, 0, scale, np.full(levels, scale)), {"depth": levels + 1}


def nodes(params: Params, n: int) -> Iterator[Node]:
    """Yield the noises of the n-th sum: one node per set bit of n."""
    return dyadic_nodes(n, params.power_scale)


class Binary(ContinualCounter):
    """The Binary mechanism for at most `horizon` items.

    Args:
        epsilon: the budget of one reward.
        horizon: how many items there are at most.
        noise: where its noise comes from: SecureNoise() by default; SeededNoise(seed) repeats itself and is for
            simulations.

    >>> counter = Binary(epsilon=1.0, horizon=1000)
    >>> counter.variance(1000), counter.item_loss(1000)
    (1200.0, 1.0)
    """

    def __init__(self, epsilon: float, horizon: int, *, noise: NoiseSource | None = None) -> None:
        params, sizes = configure(epsilon, horizon)
        largest = params.power_scale
        super().__init__(epsilon, params, State, sizes, noise, largest_scale=largest, horizon=params.horizon)

    def _nodes(self, n: int) -> Iterator[Node]:
        return nodes(self._params, n)
