"""Hybrid: Logarithmic at the powers of two, Binary in between; no horizon needed (Chan, Shi & Song 2011).

At n = 2^k the sum is the Logarithmic one; for 2^k < n < 2^(k+1) a fresh Binary tree over the items after 2^k is
added, with k levels and node noise Lap(k/ε_B).

`split=True` gives half of ε to each part, as Chan et al. do: the whole sequence of sums is ε-DP.
`split=False` gives all of ε to both, as Tossou & Dimitrakakis (2016, sec. 2.3) do. An item between two powers of
two is then in up to k nodes *and* in the next Logarithmic range: the loss is 2ε, not ε as the paper claims.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits.mechanisms.bits import floor_log2, popcount
from dpbandits.mechanisms.counter import MAX_ITEMS, ContinualCounter, Node
from dpbandits.mechanisms.logarithmic import log_nodes
from dpbandits.mechanisms.release import NoiseSource
from dpbandits.mechanisms.stack import Params, State, dyadic_nodes
from dpbandits.privacy import Guarantee, scale_for
from dpbandits.privacy.rounding import above


def configure(epsilon: float, *, split: bool = True, horizon: int = MAX_ITEMS) -> tuple[Params, dict[str, int]]:
    """Return the constants and the sizes of the state for a loss of epsilon per item (2 epsilon with split=False).

    The mechanism is the same at every horizon; declaring one only saves memory.
    """
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    horizon = _validate.integer(f"[1, {MAX_ITEMS}]", horizon=horizon)
    share = epsilon / 2 if _validate.flag(split=split) else epsilon
    levels = horizon.bit_length()
    tree_scales = np.array([math.nan] + [scale_for(share, uses=k) for k in range(1, levels)])
    return Params(horizon, 1, scale_for(share), tree_scales), {"depth": levels + 1}


def nodes(params: Params, n: int) -> Iterator[Node]:
    """Yield the noises of the n-th sum: the Logarithmic ones, and one tree node per further set bit of n."""
    k = floor_log2(n)
    yield from log_nodes(n, params.power_scale)
    yield from dyadic_nodes(n - 2**k, float(params.tree_scales[k]), offset=2**k)


def noises(params: Params, level: int) -> tuple[list[float], NDArray[Any]]:
    """Return the scales in the sums of a level, and how often each occurs (row) with 0, 1, 2, ... nodes (column)."""
    j = np.arange(level + 1)
    return [params.power_scale, float(params.tree_scales[level])], np.array([np.full_like(j, level + 1), j])


class Hybrid(ContinualCounter):
    """The Hybrid mechanism, for any number of items.

    Args:
        epsilon: the budget of one reward.
        split: whether its two parts share epsilon. Without, as published, an item costs twice as much.
        noise: where its noise comes from: SecureNoise() by default; SeededNoise(seed) repeats itself and is for
            simulations.

    >>> Hybrid(epsilon=1.0).item_loss(100), Hybrid(epsilon=1.0, split=False).item_loss(100)
    (1.0, 2.0)
    """

    def __init__(self, epsilon: float, *, split: bool = True, noise: NoiseSource | None = None) -> None:
        params, sizes = configure(epsilon, split=split)
        self._split = split
        super().__init__(epsilon, params, State, sizes, noise, largest_scale=float(params.tree_scales[-1]))

    @property
    def split(self) -> bool:
        """Whether epsilon is shared by the two parts, or given to both."""
        return self._split

    @property
    def guarantee(self) -> Guarantee:
        """What one item loses at most: epsilon, or 2 epsilon without the split."""
        worst = self.epsilon if self.split else 2 * self.epsilon
        return replace(super().guarantee, epsilon=worst)

    def _nodes(self, n: int) -> Iterator[Node]:
        return nodes(self._params, n)

    def paper_error_bound(self, n: int, gamma: float, log_base: float = 2.0) -> float:
        """Return the paper's ν (Lemma B.2 and Algorithm 1), which is meant for split=False.

        √8/ε ln(4/γ) at powers of two, times (log n + 1) elsewhere. True for gamma = t^-4 and n < t, far from
        tight, and too small for the split mechanism, whose noise is doubled.
        """
        n = self._item(n)
        gamma = _validate.real("(0, 1)", gamma=gamma)
        log_base = _validate.real("(1, inf)", log_base=log_base)
        growth = 1.0 if popcount(n) == 1 else math.log(n, log_base) + 1
        return above(math.sqrt(8) / self.epsilon * math.log(4 / gamma) * growth)
