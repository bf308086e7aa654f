"""The epsilon that releases lose at least, for those who accuse: every loss is rounded down to a grid."""

import math
from collections import Counter
from collections.abc import Iterable
from functools import reduce
from typing import Any

from dpbandits.privacy.events import Event, GaussianEvent, LaplaceEvent, RandomizedResponseEvent, size
from dpbandits.privacy.gaussian import gaussian_epsilon
from dpbandits.privacy.pld import float_error

_STEPS = 4000  # of the grid, per standard deviation of the total loss
_FINEST = 100  # and per release of the smallest kind
_ROUNDING = 1e-9  # of delta
_GAUSSIAN = 1e-6  # of epsilon: what `gaussian_epsilon` may be above the truth, and far more
_TINY = 1e-200  # a delta for which it is not exact any more, with a distance
_LEAST = 100  # times what floating point may have lost: below that a delta drowns in it


def epsilon_below(events: Iterable[Event], delta: float) -> float:
    """Return an epsilon that releases, fixed in advance, lose at `delta` at least: no smaller one is true of them.

    Args:
        events: what is released.
        delta: at which delta; with 0 the losses add up.

    >>> round(epsilon_below([LaplaceEvent(10.0)] * 40, 1e-6), 3)
    2.729
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    counts = Counter(events)
    pure = math.fsum(count * _pure(event) for event, count in counts.items())
    if delta == 0 or not counts:
        return pure
    if all(isinstance(event, GaussianEvent) for event in counts):
        return (1 - _GAUSSIAN) * gaussian_epsilon(counts.elements(), delta) if delta > _TINY else 0.0  # type: ignore[arg-type]
    lost_mass = float_error(counts)  # mass, in the tails, whatever delta is
    if delta < _LEAST * lost_mass:
        return 0.0
    total = math.sqrt(sum(count * size(event) ** 2 for event, count in counts.items()))
    step = min(total / _STEPS, min(map(size, counts)) / _FINEST)

    def distribution(event: Event) -> Any:
        options: Any = {"pessimistic_estimate": False, "value_discretization_interval": step}
        if isinstance(event, GaussianEvent):
            return pld.from_gaussian_mechanism(event.sigma, event.sensitivity, use_connect_dots=False, **options)
        if isinstance(event, RandomizedResponseEvent):  # "noise" is the chance of an answer drawn by lot
            return pld.from_randomized_response(2 / (1 + math.exp(event.epsilon)), 2, **options)
        assert isinstance(event, LaplaceEvent)
        return pld.from_laplace_mechanism(1 / event.epsilon, use_connect_dots=False, **options)

    parts = [distribution(event).self_compose(count) for event, count in counts.items()]
    composition = reduce(lambda one, other: one.compose(other), parts)
    return min(pure, float(composition.get_epsilon_for_delta(delta * (1 + _ROUNDING) + lost_mass)))


def _pure(event: Event) -> float:
    return math.inf if isinstance(event, GaussianEvent) else size(event)
