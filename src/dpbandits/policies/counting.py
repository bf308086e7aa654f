"""The continual counters that a policy may keep its sums with, by the name of the option."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms import hybrid, stack, weighted
from dpbandits.mechanisms.counter import SHIFT_THEOREM, Node
from dpbandits.privacy import Event, Guarantee, LaplaceEvent


class CounterKind(NamedTuple):
    """What a policy needs to know of a counter's module."""

    configure: Callable[..., tuple[Any, dict[str, int]]]
    state_class: Any
    nodes: Callable[[Any, int], Iterator[Node]]
    noises: Callable[[Any, int], tuple[list[float], NDArray[Any]]]


COUNTERS = {
    "hybrid": CounterKind(hybrid.configure, stack.State, hybrid.nodes, hybrid.noises),
    "weighted": CounterKind(weighted.configure, weighted.State, weighted.nodes, weighted.noises),
}

VARIANTS = ("proved", "published")


def counter_events(nodes: Callable[[Any, int], Iterator[Node]], params: Any, horizon: int) -> Iterator[Event]:
    """Yield every noise of one counter, in the order of drawing."""
    newest: dict[tuple[int, ...], None] = {}
    for n in range(1, horizon + 1):
        current = {node.key: node.scale for node in nodes(params, n)}
        yield from (LaplaceEvent(scale) for key, scale in current.items() if key not in newest)
        newest = dict.fromkeys(current)


def hybrid_guarantee(epsilon: float, variant: str, horizon: float) -> Guarantee:
    """Return what a bank of hybrid counters costs a reward that enters one of them."""
    # Without the split an item is in a tree worth epsilon and in a logarithmic range worth epsilon (docs/counters.md).
    worst = epsilon if variant == "proved" else 2 * epsilon
    return Guarantee(worst, horizon=horizon, theorem=SHIFT_THEOREM, certified=True)


def validate_hybrid_options(policy: Any) -> None:
    """Check the options that the policies on hybrid counters share."""
    _validate.real_fields(policy, epsilon="(0, inf)")
    _validate.one_of(VARIANTS, variant=policy.variant)
    _validate.one_of(COUNTERS, counter=policy.counter)
    if policy.variant == "published" and policy.counter != "hybrid":
        raise InvalidInput(f"Expected counter={policy.counter!r} to be hybrid: it is what was published.")


def configure_counter(policy: Any, horizon: int) -> tuple[Any, dict[str, int]]:
    """Return the constants and sizes of the counter that a policy chose."""
    if policy.counter == "weighted":
        return weighted.configure(policy.epsilon, horizon=horizon)
    return COUNTERS["hybrid"].configure(policy.epsilon, split=policy.variant == "proved", horizon=horizon)
