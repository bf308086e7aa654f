"""WeightedHybrid: for any number of items, with a ninth of Hybrid's variance on average over the first 2^17 items.

Segment j holds the items 2^j..2^(j+1)-1. A share a_j of ε pays for the segment's total, released once at its end;
the rest pays for a subtraction tree over the segment's items before the last. The n-th sum is the totals of the
finished segments plus the tree's sum. The totals stay in every later sum, so they deserve little noise, but there
are few of them: a_j = (j+1)^(-2/3), at most 1/2, and all of ε for the first segment, which is a single item.

Privacy: an item is in one segment, where it loses a_j ε in the total and (1 - a_j) ε in the tree, so the whole
sequence of sums is ε-DP (docs/counters.md).
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.bits import floor_log2, popcount
from dpbandits.mechanisms.counter import MAX_ITEMS, ContinualCounter, Node, insert, noise_class
from dpbandits.mechanisms.release import CARRIED, LAPLACE, NoiseSource, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.mechanisms.subtraction import advance, height, subtraction_nodes, validated_base
from dpbandits.privacy import scale_for
from dpbandits.privacy.rounding import down


class Params(NamedTuple):
    """Constants of the kernel: the noise of segment j's total and of its tree's nodes."""

    horizon: int
    half: int
    total_scales: Any
    tree_scales: Any


class State(NamedTuple):
    """What is kept for a bank of counters: the finished segments, and the tree of the current one."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    finished: Annotated[Any, public("arms")]  # the released totals of the finished segments, together
    total: Annotated[Any, secret("arms")]  # of the current segment
    digit: Annotated[Any, public("arms", "levels", dtype=np.int64)]
    added: Annotated[Any, secret("arms", "levels")]
    subtracted: Annotated[Any, secret("arms", "levels", "half")]
    carried: Annotated[Any, secret("arms")]


@insert.register(Params)
@kernel
def _insert(params: Params, state: State, arm: int, reward: Any, noise: Any) -> None:
    if state.counts[arm] >= params.horizon:
        return
    n = state.counts[arm] + 1
    segment = floor_log2(n)
    total = state.total[arm] + reward
    if popcount(n + 1) == 1:  # the segment's last item
        state.finished[arm] += release(noise, total, params.total_scales[segment], LAPLACE, arm)
        state.sums[arm] = state.finished[arm]
        state.total[arm] = 0
        state.carried[arm] = 0
        for level in range(state.digit.shape[1]):
            state.digit[arm, level] = 0
            state.added[arm, level] = 0
    else:
        advance(state, arm, params.half, params.tree_scales[segment], noise)
        state.sums[arm] = state.finished[arm] + release(noise, total + state.carried[arm], CARRIED, LAPLACE, arm)
        state.total[arm] = total
    state.counts[arm] = n


@noise_class.register(Params)
@kernel
def _noise_class(params: Params, state: State, arm: int) -> tuple[int, int]:
    nodes = 0
    for level in range(state.digit.shape[1]):
        nodes += abs(state.digit[arm, level])
    return floor_log2(state.counts[arm] + 1), nodes


def total_share(segment: int) -> float:
    """Return a_j, the share of epsilon that pays for the total of segment j."""
    return 1.0 if segment == 0 else min(0.5, (segment + 1) ** (-2 / 3))


def configure(epsilon: float, *, base: int = 9, horizon: int = MAX_ITEMS) -> tuple[Params, dict[str, int]]:
    """Return the constants and the sizes of the state for a loss of epsilon per item.

    The mechanism is the same at every horizon; declaring one only saves memory.
    """
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    horizon = _validate.integer(f"[1, {MAX_ITEMS}]", horizon=horizon)
    base = validated_base(base)
    total_scales, tree_scales = [], []
    for segment in range(horizon.bit_length() + 1):
        for_total = down(Fraction(total_share(segment)) * Fraction(epsilon))
        for_tree = down(Fraction(epsilon) - Fraction(for_total))
        total_scales.append(scale_for(for_total))
        tree_scales.append(scale_for(for_tree, uses=height(2**segment - 1, base)) if segment else np.nan)
    params = Params(horizon, base // 2, np.array(total_scales), np.array(tree_scales))
    return params, {"levels": height(horizon, base), "half": params.half}


def nodes(params: Params, n: int) -> Iterator[Node]:
    """Yield the noises of the n-th sum: the totals of the finished segments, the tree nodes of the current one."""
    finished = floor_log2(n + 1)
    for j in range(finished):
        yield Node((-1, j), 2**j, 2 ** (j + 1) - 1, 1, float(params.total_scales[j]))
    scale = float(params.tree_scales[finished])
    end = 2 ** (finished + 1) - 1
    for node in subtraction_nodes(n + 1 - 2**finished, 2 * params.half + 1, scale, offset=2**finished - 1):
        # Positions after the segment's end hold no items: the tree is gone before they are reached.
        first, last = min(node.first, end + 1), min(node.last, end)
        yield Node((finished, *node.key), first, last, node.sign, scale)


def noises(params: Params, level: int) -> tuple[list[float], NDArray[Any]]:
    """Return the scales in the sums of a level, and how often each occurs (row) with 0, 1, 2, ... nodes (column)."""
    scales = [*map(float, params.total_scales[:level]), float(params.tree_scales[level])]
    most = params.half * height(2**level - 1, 2 * params.half + 1) if level else 0
    in_totals, in_tree = np.ones((level, most + 1), dtype=np.int64), np.arange(most + 1)
    return scales, np.vstack([in_totals, in_tree])


class WeightedHybrid(ContinualCounter):
    """The weighted hybrid, for any number of items.

    Args:
        epsilon: the budget of one reward.
        base: how many children a node of its trees has.
        noise: where its noise comes from: SecureNoise() by default; SeededNoise(seed) repeats itself and is for
            simulations.

    >>> counter = WeightedHybrid(epsilon=1.0)
    >>> counter.variance(1000), counter.item_loss(1000)
    (530.4, 1.0)
    """

    def __init__(self, epsilon: float, *, base: int = 9, noise: NoiseSource | None = None) -> None:
        params, sizes = configure(epsilon, base=base)
        largest = float(np.nanmax([params.total_scales, params.tree_scales]))
        super().__init__(epsilon, params, State, sizes, noise, largest_scale=largest)

    @property
    def base(self) -> int:
        """The number of children of a node in the trees."""
        return int(2 * self._params.half + 1)

    def _nodes(self, n: int) -> Iterator[Node]:
        return nodes(self._params, n)
