"""Continual counters: a noisy running sum of rewards, released after every item.

Each counter is a kernel over explicit state (`insert`, for a bank of counters, one per arm) and a class around it
for one counter. The class also answers, from one description of where noise enters (`nodes`): which noises are in
the sum, how large they are, and what one item loses. docs/counters.md has the proofs.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from dpbandits import _validate
from dpbandits._kernel import generic
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.error_bounds import chan_bound, chernoff_bound
from dpbandits.mechanisms.release import NoiseSource
from dpbandits.mechanisms.secure import SecureNoise
from dpbandits.mechanisms.state import allocate
from dpbandits.privacy import Guarantee
from dpbandits.privacy.rounding import up

# Counts are 64-bit integers in kernels.
MAX_ITEMS = 2**62 - 1
SHIFT_THEOREM = "shift of the node noises (docs/counters.md)"


@generic
def insert(params: Any, state: Any, arm: int, reward: Any, noise: Any) -> None:
    """Add one reward to the counter of `arm` and release its new sum into `state.sums[arm]`."""
    raise TypeError(f"{type(params).__module__}.Params belongs to no continual counter.")


class Node(NamedTuple):
    """One noise, drawn once and known by its key, on the sum of the items first..last (none if last < first)."""

    key: tuple[int, ...]
    first: int
    last: int
    sign: int
    scale: float


class ContinualCounter(ABC):
    """One counter, with named answers about its privacy and its error.

    Args of every counter:
        epsilon: the loss of one item, for the whole sequence of sums.
        noise: where noise comes from; secure noise by default, SeededNoise for experiments.
    """

    def __init__(
        self,
        epsilon: float,
        params: Any,
        state_class: Any,
        sizes: dict[str, int],
        noise: NoiseSource | None,
        horizon: float = math.inf,
    ) -> None:
        self.epsilon = epsilon
        self.horizon = horizon
        self._noise = SecureNoise() if noise is None else noise
        self._params = params
        self._state = allocate(state_class, {"arms": 1, **sizes}, self._noise.secret_dtype)

    def insert(self, reward: float) -> float:
        """Add a reward from [0, 1] and return the new noisy sum."""
        reward = _validate.real("[0, 1]", reward=reward)
        item = self.count + 1
        limit = min(self.horizon, self._noise.capacity, MAX_ITEMS)
        if item > limit:
            raise InvalidInput(f"Expected item={item} in [1, {limit}], the items that this counter was made for.")
        insert(self._params, self._state, 0, self._noise.encode(reward), self._noise)
        return self.sum

    @property
    def sum(self) -> float:
        """The noisy sum as it was released: reading draws nothing."""
        return float(self._state.sums[0])

    @property
    def count(self) -> int:
        """How many items were inserted."""
        return int(self._state.counts[0])

    @property
    def guarantee(self) -> Guarantee:
        """What one item loses at most, over the whole sequence of sums."""
        return Guarantee(self.epsilon, theorem=SHIFT_THEOREM, unit="one item", horizon=self.horizon)

    @abstractmethod
    def nodes(self, n: int) -> Iterator[Node]:
        """Yield the noises in the sum released at the n-th item.

        The signed ranges add up to the items 1..n (for `Logarithmic`, up to the last power of two).
        """

    def noise_scales(self, n: int) -> Counter[float]:
        """Return the multiset of Laplace scales in the sum released at the n-th item."""
        return Counter(node.scale for node in self.nodes(self._item(n)))

    def variance(self, n: int) -> float:
        """Return the variance of the noise in the n-th sum (for live, discrete noise: an upper bound)."""
        return math.fsum(2 * count * scale**2 for scale, count in self.noise_scales(n).items())

    def item_loss(self, n: int) -> float:
        """Return the exact loss of the worst item among the first n, by enumeration over all n sums.

        An item loses 1/scale for every noise drawn so far on a range that contains it.
        """
        n = self._item(n)
        seen = set()
        steps = [Fraction(0)] * (n + 2)  # how the loss changes from one item to the next
        for t in range(1, n + 1):
            for node in self.nodes(t):
                if node.key not in seen:
                    seen.add(node.key)
                    steps[min(node.first, n + 1)] += 1 / Fraction(node.scale)
                    steps[min(node.last, n) + 1] -= 1 / Fraction(node.scale)
        return up(max(accumulate(steps)))

    def error_bound(self, n: int, gamma: float) -> float:
        """Return a bound on the error of the n-th sum that fails with probability at most gamma (Chernoff)."""
        return chernoff_bound(self.noise_scales(n), gamma) + self._lag(n)

    def chan_error_bound(self, n: int, gamma: float) -> float:
        """Return the closed-form bound of Chan, Shi & Song; looser than `error_bound`."""
        return chan_bound(self.noise_scales(n), gamma) + self._lag(n)

    def _lag(self, n: int) -> int:
        """Return how many of the first n items the n-th sum leaves out."""
        return 0

    def _item(self, n: int) -> int:
        return _validate.integer(f"[1, {min(self.horizon, MAX_ITEMS)}]", n=n)

    def __repr__(self) -> str:
        span = "" if math.isinf(self.horizon) else f", horizon={self.horizon}"
        return f"{type(self).__name__}(epsilon={self.epsilon}{span}): {self.count} items"
