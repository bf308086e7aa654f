"""The continual counters that a policy may keep its sums with, by the name of the option."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms import hybrid, stack, weighted
from dpbandits.mechanisms.counter import SHIFT_THEOREM, Node
from dpbandits.policies.policy import EPSILONS, Policy
from dpbandits.privacy import Guarantee


class CounterKind(NamedTuple):
    """What a policy needs to know about a counter's module."""

    state_class: Any
    nodes: Callable[[Any, int], Iterator[Node]]
    noises: Callable[[Any, int], tuple[list[float], NDArray[Any]]]


CounterName = Literal["hybrid", "weighted"]
COUNTERS: dict[CounterName, CounterKind] = {
    "hybrid": CounterKind(stack.State, hybrid.nodes, hybrid.noises),
    "weighted": CounterKind(weighted.State, weighted.nodes, weighted.noises),
}

Variant = Literal["proved", "published"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)


def hybrid_guarantee(epsilon: float, variant: Variant, horizon: float) -> Guarantee:
    """Return what a bank of hybrid counters costs a reward that enters one of them."""
    # Without the split an item is in a tree worth epsilon and in a logarithmic range worth epsilon (docs/counters.md).
    worst = epsilon if variant == "proved" else 2 * epsilon
    return Guarantee(worst, horizon=horizon, theorem=SHIFT_THEOREM, proved=True)


@dataclass(frozen=True, kw_only=True)
class CounterPolicy(Policy):
    """What the policies on a bank of hybrid counters share: their options, and what follows from them for privacy."""

    claimed_by: ClassVar[str]  # where the publication says epsilon
    epsilons: ClassVar[str] = EPSILONS

    epsilon: float
    variant: Variant = "proved"
    counter: CounterName = "hybrid"

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=self.epsilons)
        _validate.one_of(VARIANTS, variant=self.variant)
        _validate.one_of(COUNTERS, counter=self.counter)
        if self.variant == "published" and self.counter != "hybrid":
            raise InvalidInput(f"Expected counter={self.counter!r} to be hybrid: it is what was published.")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one of either variant, and one with the other counter."""
        return cls(epsilon=0.7), cls(epsilon=0.7, variant="published"), cls(epsilon=0.7, counter="weighted")

    def configure_counter(self, horizon: int) -> tuple[Any, dict[str, int]]:
        """Return the constants and sizes of the counters."""
        if self.counter == "weighted":
            return weighted.configure(self.epsilon, horizon=horizon)
        return hybrid.configure(self.epsilon, split=self.variant == "proved", horizon=horizon)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee of epsilon, or of twice that for the published variant."""
        return hybrid_guarantee(self.epsilon, self.variant, horizon)

    def claim(self, horizon: float = math.inf) -> Guarantee | None:
        """Return the paper's claim for the published variant, which does not hold; None for the proved one."""
        if self.variant == "proved":
            return None
        return Guarantee(self.epsilon, horizon=horizon, theorem=self.claimed_by, proved=False)
