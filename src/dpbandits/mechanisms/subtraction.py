"""SubtractionTree: a k-ary tree counter that may also subtract nodes (Andersson et al. 2025, arXiv:2408.07021).

Write n in balanced base k, digits d_i between -(k-1)/2 and (k-1)/2: the first n items are Σ d_i k^i, so their sum
is a sum of |d_i| nodes per level, added or subtracted. A subtracted node begins right after item n: its noise is in
the sum before any of its items is. With h levels, (k^h - 1)/2 >= T, each node has noise Lap(h/ε).

Because one noise takes part in sums with different items, it is reserved first and carried from sum to sum;
every sum leaves through one CARRIED release.

Privacy: an item is in at most one node per level, and shifting the noise of just these nodes makes up for a changed
item in every sum (docs/counters.md), so the whole sequence of sums is ε-DP.
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.counter import MAX_ITEMS, ContinualCounter, Node, insert
from dpbandits.mechanisms.release import CARRIED, LAPLACE, NoiseSource, release, reserve
from dpbandits.mechanisms.state import public, secret
from dpbandits.privacy import scale_for


class Params(NamedTuple):
    """Constants of the kernel; `half` is (base - 1) / 2."""

    horizon: int
    half: int
    scale: float


class State(NamedTuple):
    """What is kept for a bank of counters: balanced digits of n, and the noise of the nodes in use."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    total: Annotated[Any, secret("arms")]
    digit: Annotated[Any, public("arms", "levels", dtype=np.int64)]
    added: Annotated[Any, secret("arms", "levels")]  # the noises of the added nodes, together
    subtracted: Annotated[Any, secret("arms", "levels", "half")]  # the noises of the subtracted ones, last first
    carried: Annotated[Any, secret("arms")]  # all of them with their signs: the noise in the sum


@kernel
def advance(state: Any, arm: int, half: int, scale: float, noise: Any) -> None:
    """Count one item further: draw the noise of nodes that come into use, drop that of nodes that leave."""
    level = 0
    while state.digit[arm, level] == half:  # a carry: this level starts again from the far side of its parent
        carried = state.carried[arm] - state.added[arm, level]
        state.added[arm, level] = 0
        for j in range(half):
            node = reserve(noise, scale, LAPLACE, arm)
            state.subtracted[arm, level, j] = node
            carried = carried - node
        state.carried[arm] = carried
        state.digit[arm, level] = -half
        level += 1
    digit = state.digit[arm, level]
    if digit < 0:  # the oldest subtracted node is complete now
        state.carried[arm] += state.subtracted[arm, level, -digit - 1]
    else:
        node = reserve(noise, scale, LAPLACE, arm)
        state.added[arm, level] += node
        state.carried[arm] += node
    state.digit[arm, level] = digit + 1


@insert.register(Params)
@kernel
def _insert(params: Params, state: State, arm: int, reward: Any, noise: Any) -> None:
    if state.counts[arm] >= params.horizon:
        return
    advance(state, arm, params.half, params.scale, noise)
    total = state.total[arm] + reward
    state.sums[arm] = release(noise, total + state.carried[arm], CARRIED, LAPLACE, arm)
    state.total[arm] = total
    state.counts[arm] += 1


def height(items: int, base: int) -> int:
    """Return the smallest h with (base^h - 1)/2 >= items: the levels that this many items need."""
    levels = 1
    while (base**levels - 1) // 2 < items:
        levels += 1
    return levels


def configure(epsilon: float, horizon: int, base: int = 9) -> tuple[Params, dict[str, int]]:
    """Return the constants and the sizes of the state for at most `horizon` items."""
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    horizon = _validate.integer(f"[1, {MAX_ITEMS}]", horizon=horizon)
    base = validated_base(base)
    levels, half = height(horizon, base), base // 2
    return Params(horizon, half, scale_for(epsilon, uses=levels)), {"levels": levels, "half": half}


def subtraction_nodes(n: int, base: int, scale: float, offset: int = 0) -> Iterator[Node]:
    """Yield the nodes of the first n items after `offset`, by the balanced base-k digits of n, smallest first."""
    level, width = 0, 1
    while n:
        digit = (n + base // 2) % base - base // 2
        rest = n - digit
        sign = 1 if digit > 0 else -1
        for index in range(min(n, rest), max(n, rest)):
            start = offset + index * width
            yield Node((level, start), start + 1, start + width, sign, scale)
        n, level, width = rest // base, level + 1, width * base


def validated_base(base: int) -> int:
    """Return the base if balanced digits exist for it."""
    base = _validate.integer("[3, 99]", base=base)
    if base % 2 == 0:
        raise InvalidInput(f"Expected base={base} to be odd, in [3, 99].")
    return base


class SubtractionTree(ContinualCounter):
    """The k-ary tree with subtraction for at most `horizon` items.

    Args:
        epsilon: the budget of one reward.
        horizon: how many items there are at most.
        base: how many children a node has.
        noise: where its noise comes from: SecureNoise() by default; SeededNoise(seed) repeats itself and is for
            simulations.

    >>> counter = SubtractionTree(epsilon=1.0, horizon=1000, base=9)
    >>> counter.variance(1000), counter.item_loss(1000)
    (256.0, 1.0)
    """

    def __init__(self, epsilon: float, horizon: int, base: int = 9, *, noise: NoiseSource | None = None) -> None:
        params, sizes = configure(epsilon, horizon, base)
        largest = params.scale
        super().__init__(epsilon, params, State, sizes, noise, largest_scale=largest, horizon=params.horizon)

    @property
    def base(self) -> int:
        """The number of children of a node."""
        return int(2 * self._params.half + 1)

    def _nodes(self, n: int) -> Iterator[Node]:
        """Yield |digit| nodes per balanced digit of n."""
        return subtraction_nodes(n, self.base, self._params.scale)
