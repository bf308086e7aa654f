"""Calibration: the largest internal parameter whose true cost stays within a budget. It ends on the safe side."""

import math
from collections.abc import Callable
from typing import NamedTuple

from dpbandits import _validate
from dpbandits.errors import InvalidInput

# Relative width of the last bracket.
TOLERANCE = 2e-5
SMALLEST = 1e-15
# Costs further from the target than this factor, also 0 and infinity, count as just so far: a cost that jumps there is
# then halved towards, not crept up to.
_FAR = 20.0
_MOST_TRIES = 1000


class Point(NamedTuple):
    """A parameter that was tried, and its cost."""

    x: float
    cost: float


def calibrate(
    cost: Callable[[float], float], target: float, *, start: float, upper: float = 1.0, tolerance: float = TOLERANCE
) -> float:
    """Return the largest parameter in (0, upper], within 0.002% or the given tolerance, whose cost is at most `target`.

    Args:
        cost: a non-decreasing function of the parameter, from 0 to infinity (where nothing can be said).
        target: the cost allowed.
        start: where to begin; near the answer is faster.
        upper: the largest parameter that makes sense.
        tolerance: how far below the largest one the answer may be, relative to it.

    Raises:
        InvalidInput: no parameter, however small, meets the target.

    >>> calibrate(lambda x: 10 * x**2, target=0.1, start=0.5)
    0.1
    """
    target = _validate.real("(0, inf)", target=target)
    upper = _validate.real("(0, inf)", upper=upper)
    start = min(_validate.real("(0, inf)", start=start), upper)
    tolerance = _validate.real("[1e-12, 1)", tolerance=tolerance)

    def point_at(x: float) -> Point:
        return Point(x, _validate.real("[0, inf]", cost=cost(x)))

    safe, unsafe = _bracket(point_at, target, start, upper)
    return safe.x if unsafe is None else _closed(point_at, target, safe, unsafe, tolerance).x


def _closed(point_at: Callable[[float], Point], target: float, safe: Point, unsafe: Point, tolerance: float) -> Point:
    """Return the largest point within the target that Brent's method tried between these two."""
    from scipy.optimize import brentq

    if unsafe.x <= safe.x * (1 + tolerance):
        return safe
    points = {math.log(point.x): point for point in (safe, unsafe)}  # the method asks for its ends again

    def excess(log_x: float) -> float:
        """Return how far the cost is from the target. In log-log coordinates costs are nearly straight lines."""
        point = points.get(log_x) or points.setdefault(log_x, point_at(math.exp(log_x)))
        log_cost = math.log(min(max(point.cost / target, 1 / _FAR), _FAR))
        return log_cost or -1e-300  # where it is 0 the method would end, but the same cost may reach further

    # It ends with two points that it tried, on either side of the target and no further apart than this. The one
    # within is the answer, not the root, which is a guess in between.
    brentq(excess, math.log(safe.x), math.log(unsafe.x), xtol=tolerance, maxiter=_MOST_TRIES)
    return max(point for point in points.values() if point.cost <= target)


def _bracket(
    point_at: Callable[[float], Point], target: float, start: float, upper: float
) -> tuple[Point, Point | None]:
    """Return a point within the target and one above it; no second one if `upper` itself is within."""
    point = point_at(start)
    if point.cost <= target:
        safe = point
        while safe.x < upper:
            point = point_at(min(safe.x * _stride(target, safe.cost), upper))
            if point.cost > target:
                return safe, point
            safe = point
        return safe, None
    unsafe = point
    while unsafe.x > SMALLEST:
        point = point_at(unsafe.x / _stride(unsafe.cost, target))
        if point.cost <= target:
            return point, unsafe
        unsafe = point
    raise InvalidInput(f"Expected target={target} to be met by some parameter of at least {SMALLEST}.")


def _stride(more: float, less: float) -> float:
    """Return how far to go when costs are off by more/less: past the target, if costs grow like the square root."""
    return max(1.05 * (more / less) ** 2, 1.1) if less <= more < 2.5 * less else 8.0
