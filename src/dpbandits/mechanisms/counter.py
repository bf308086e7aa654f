"""Continual counters: a noisy running sum of rewards, released after every item.

Each counter is a kernel over explicit state (`insert`, for a bank of counters, one per arm) and a class around it
for one counter. The class also answers, from one description of where noise enters (`nodes`): which noises are in
the sum, how large they are, and what one item loses. docs/counters.md has the proofs.
"""

import math
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

from dpbandits import _validate
from dpbandits._forks import this_process
from dpbandits._frames import clean
from dpbandits._kernel import generic
from dpbandits.errors import InvalidInput, StepError, WrongKind
from dpbandits.mechanisms.error_bounds import chan_bound, chernoff_bound
from dpbandits.mechanisms.release import NoiseSource, release
from dpbandits.mechanisms.secure import SecureNoise
from dpbandits.mechanisms.state import allocate
from dpbandits.privacy import Guarantee
from dpbandits.privacy.rounding import up

# Counts are 64-bit integers in kernels.
MAX_ITEMS = 2**62 - 1
SHIFT_THEOREM = "shift of the node noises (docs/counters.md)"


@generic
def insert(params: Any, state: Any, arm: int, reward: Any, noise: Any) -> None:
    """Add one reward to the counter of `arm` and release its new sum into `state.sums[arm]`.

    Beyond the horizon in `params` nothing happens: the sum stays as it was last released.
    """
    raise TypeError(f"{type(params).__module__}.Params belongs to no continual counter.")


@generic
def noise_class(params: Any, state: Any, arm: int) -> tuple[int, int]:
    """Return (level, nodes) of the latest sum of `arm`: sums of one class contain noises of the same scales.

    The counter's `noises(params, level)` lists them.
    """
    raise TypeError(f"{type(params).__module__}.Params belongs to no counter with classes of noise.")


class Node(NamedTuple):
    """One noise, drawn once and known by its key, on the sum of the items first..last (none if last < first)."""

    key: tuple[int, ...]
    first: int
    last: int
    sign: int
    scale: float


class ContinualCounter(ABC):
    """One counter, with named answers about its privacy and its error.

    It is the running thing, and it must stay the only one: a copy that goes on counting would release its sums with
    the same reserved noise. So it cannot be copied or pickled, and a forked process is refused.

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
        *,
        largest_scale: float,
        horizon: float = math.inf,
    ) -> None:
        self._noise = SecureNoise() if noise is None else noise
        if release.dispatch(type(self._noise)) is release.registry[object]:
            raise WrongKind(
                f"Expected noise={_validate.value_text(noise)} to be a noise source, such as SecureNoise() or "
                "SeededNoise(1)."
            )
        if largest_scale > self._noise.largest_scale:
            smallest = epsilon * (largest_scale / self._noise.largest_scale)
            raise InvalidInput(
                f"Expected epsilon={epsilon} in [{smallest:.3g}, inf): less needs more noise than the source can draw."
            )
        self._epsilon = float(epsilon)
        self._horizon = horizon
        self._params = params
        self._state = allocate(state_class, {"arms": 1, **sizes}, self._noise.secret_dtype)
        self._lock = threading.RLock()
        self._is_midway = False  # set before an insertion and cleared after it
        self._sum, self._count = 0.0, 0  # as they were after the last insertion that came to its end
        self._process = this_process()

    @clean
    def insert(self, reward: float) -> float:
        """Add a reward from [0, 1] and return the new noisy sum.

        If an insertion fails halfway (a ledger that cannot be written, an interrupt), its noise may have been seen
        already: the counter keeps its last sum and takes no more items, since drawing again would cost twice.

        Raises:
            InvalidInput: the reward is outside [0, 1], or the counter was not made for another item. Nothing changes.
            StepError: this insertion or an earlier one failed halfway, or another process made the counter.
        """
        reward = _validate.real("[0, 1]", reward=reward)
        if this_process() != self._process:
            raise StepError("This counter belongs to the process that made it: a copy would reuse its noise.")
        if self._lock._is_owned():  # type: ignore[attr-defined]
            # By a signal handler, in the middle of an insertion.
            raise StepError("This counter is in the middle of an insertion.")
        with self._lock:
            if self._is_midway:
                raise StepError("An earlier insertion failed halfway: this counter takes no more items.")
            item = self.count + 1
            limit = min(self.horizon, self._noise.capacity, MAX_ITEMS)
            if item > limit:
                raise InvalidInput(f"Expected item={item} in [1, {limit}], the items that this counter was made for.")
            encoded_reward = self._noise.encode(reward)
            before = [array.copy() for array in self._state]
            self._is_midway = True
            try:
                insert(self._params, self._state, 0, encoded_reward, self._noise)
            except InvalidInput:  # refused before anything was drawn
                for array, saved in zip(self._state, before, strict=True):
                    array[...] = saved
                self._is_midway = False
                raise
            self._sum, self._count = float(self._state.sums[0]), int(self._state.counts[0])
            self._is_midway = False
            return self._sum

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A counter cannot be copied or pickled: the copy would reuse its noise.")

    @property
    def epsilon(self) -> float:
        """The epsilon that the counter was made with."""
        return self._epsilon

    @property
    def horizon(self) -> float:
        """How many items it was made for; infinity if any number."""
        return self._horizon

    @property
    def sum(self) -> float:
        """The noisy sum as it was released: reading draws nothing."""
        return self._sum

    @property
    def count(self) -> int:
        """How many items were inserted."""
        return self._count

    @property
    def guarantee(self) -> Guarantee:
        """What one item loses at most, over the whole sequence of sums."""
        return Guarantee(
            self.epsilon,
            horizon=self.horizon,
            theorem=SHIFT_THEOREM,
            proved=self._noise.is_exact,
        )

    def nodes(self, n: int) -> Iterator[Node]:
        """Yield the noises in the sum released at the n-th item.

        The signed ranges add up to the items 1..n (for `Logarithmic`, up to the last power of two).
        """
        return self._nodes(self._item(n))

    @abstractmethod
    def _nodes(self, n: int) -> Iterator[Node]:
        """Yield the noises in the n-th sum, for an n that was checked."""

    def noise_scales(self, n: int) -> Counter[float]:
        """Return the multiset of Laplace scales in the sum released at the n-th item."""
        return Counter(node.scale for node in self.nodes(n))

    def variance(self, n: int) -> float:
        """Return the variance of the noise in the n-th sum (for live, discrete noise: an upper bound)."""
        return math.fsum(2 * count * scale**2 for scale, count in self.noise_scales(n).items())

    def item_loss(self, n: int) -> float:
        """Return the loss of the worst item among the first n, by enumeration over all n sums, in exact arithmetic.

        An item loses 1/scale for every noise drawn so far on a range that contains it (docs/counters.md says where
        this is the true loss and where a bound on it).
        """
        n = self._item(n)
        keys = set()
        steps = [Fraction(0)] * (n + 2)  # how the loss changes from one item to the next
        for t in range(1, n + 1):
            for node in self._nodes(t):
                if node.key not in keys:
                    keys.add(node.key)
                    steps[min(node.first, n + 1)] += 1 / Fraction(node.scale)
                    steps[min(node.last, n) + 1] -= 1 / Fraction(node.scale)
        return up(max(accumulate(steps)))

    def error_bound(self, n: int, gamma: float) -> float:
        """Return a bound on the error of the n-th sum that fails with probability at most gamma (Chernoff).

        The error is that against the rewards as the noise source holds them; live rewards that are not multiples of
        the grid add `rounding_bound(n)`.
        """
        return chernoff_bound(self.noise_scales(n), gamma) + self._lag(self._item(n))

    def chan_error_bound(self, n: int, gamma: float) -> float:
        """Return the closed-form bound of Chan, Shi & Song for the same error; looser than `error_bound`."""
        return chan_bound(self.noise_scales(n), gamma) + self._lag(self._item(n))

    def rounding_bound(self, n: int) -> float:
        """Return how far rounding the rewards to the live grid can move the n-th sum; 0 for multiples of the grid."""
        return self._item(n) * self._noise.rounding

    def _lag(self, n: int) -> int:
        """Return how many of the first n items the n-th sum leaves out."""
        return 0

    def _item(self, n: int) -> int:
        return _validate.integer(f"[1, {min(self.horizon, MAX_ITEMS)}]", n=n)

    def __repr__(self) -> str:
        span = "" if math.isinf(self.horizon) else f", horizon={self.horizon}"
        return f"{type(self).__name__}(epsilon={self.epsilon}{span}): {self.count} items"
