"""Calibration: the largest internal parameter whose true cost stays within a budget. It ends on the safe side."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.privacy.budget import Budget
from dpbandits.privacy.interval import MAX_RELEASES, interval_epsilon, interval_guarantee, release_times
from dpbandits.privacy.renyi import zcdp_epsilon

# Relative width of the last bracket.
TOLERANCE = 1e-4
SMALLEST = 1e-15


class Point(NamedTuple):
    """A parameter that was tried, and its cost."""

    x: float
    cost: float


def calibrate(
    cost: Callable[[float], float], target: float, *, start: float, upper: float = 1.0, tolerance: float = TOLERANCE
) -> float:
    """Return the largest parameter in (0, upper], within 0.01% or the given tolerance, whose cost is at most `target`.

    Args:
        cost: a non-decreasing function of the parameter, from 0 to infinity (where nothing can be said).
        target: the cost allowed.
        start: where to begin; near the answer is faster.
        upper: the largest parameter that makes sense.
        tolerance: how far below the largest one the answer may be, relative to it.

    >>> calibrate(lambda x: 10 * x**2, target=0.1, start=0.5)
    0.1
    """
    target = _validate.real("(0, inf)", target=target)
    upper = _validate.real("(0, inf)", upper=upper)
    start = min(_validate.real("(0, inf)", start=start), upper)

    def tried(x: float) -> Point:
        return Point(x, _validate.real("[0, inf]", cost=cost(x)))

    safe, unsafe = _bracket(tried, target, start, upper)
    halved = True
    while unsafe is not None and unsafe.x > safe.x * (1 + tolerance):
        width = math.log(unsafe.x / safe.x)
        step = width / 2
        if halved and safe.cost > 0 and math.isfinite(unsafe.cost):
            # Costs are nearly straight lines in log-log coordinates, so the chord almost hits the target. Aiming
            # slightly past it, away from the nearer end, closes the bracket from both sides. Where costs jump
            # instead, the bracket does not shrink and the next step halves it.
            chord = width * math.log(target / safe.cost) / math.log(unsafe.cost / safe.cost)
            past = tolerance / 3 if chord < step else -tolerance / 3
            step = min(max(chord + past, tolerance / 3), width - tolerance / 3)
        found = tried(safe.x * math.exp(step))
        safe, unsafe = (found, unsafe) if found.cost <= target else (safe, found)
        halved = math.log(unsafe.x / safe.x) <= width / 2
    return safe.x


def _bracket(tried: Callable[[float], Point], target: float, start: float, upper: float) -> tuple[Point, Point | None]:
    """Return a point within the target and one above it; no second one if `upper` itself is within."""
    point = tried(start)
    if point.cost <= target:
        safe = point
        while safe.x < upper:
            point = tried(min(safe.x * _stride(target, safe.cost), upper))
            if point.cost > target:
                return safe, point
            safe = point
        return safe, None
    unsafe = point
    while unsafe.x > SMALLEST:
        point = tried(unsafe.x / _stride(unsafe.cost, target))
        if point.cost <= target:
            return point, unsafe
        unsafe = point
    raise InvalidInput(f"Expected target={target} to be met by some parameter of at least {SMALLEST}.")


def _stride(more: float, less: float) -> float:
    """Return how far to go when costs are off by more/less: past the target, if costs grow like the square root."""
    return max(1.05 * (more / less) ** 2, 1.1) if less <= more < 2.5 * less else 8.0


def calibrate_interval(
    budget: Budget, v: float = 1.1, series: str = "y", horizon: float = math.inf, *, grid_bits: int | None = None
) -> float:
    """Return the best internal epsilon of DP-UCB-Int for a budget, by tight accounting up to `horizon`.

    Without a horizon the bound for an unlimited one is used; a pure budget (delta = 0) needs a horizon. The time
    grows with the number of releases: seconds for a thousand, minutes from ten thousand on. `grid_bits` is that of the
    live noise source; None means continuous noise.

    >>> calibrate_interval(Budget(0.1, math.exp(-10)), v=1.1, series="y", horizon=100_000)
    0.000318
    """
    horizon = _validate.horizon(horizon)
    if math.isinf(horizon):
        if budget.delta == 0:
            raise InvalidInput("Expected delta=0.0 in (0, 1): without a horizon the schedule has no pure bound.")
        return calibrate(
            lambda epsilon: interval_guarantee(epsilon, v, series, delta=budget.delta).epsilon,
            budget.epsilon,
            start=interval_epsilon(budget, v),
        )

    seen: dict[bytes, float] = {}  # many epsilons give the same schedule

    def exact_cost(epsilon: float) -> float:
        if epsilon * horizon > MAX_RELEASES:
            return math.inf
        times = release_times(epsilon, v, series, horizon=horizon).tobytes()
        if times not in seen:
            guarantee = interval_guarantee(epsilon, v, series, delta=budget.delta, horizon=horizon, grid_bits=grid_bits)
            seen[times] = guarantee.epsilon
        return seen[times]

    def quick_cost(epsilon: float) -> float:
        if epsilon * horizon > MAX_RELEASES:
            return math.inf
        losses = release_times(epsilon, v, series, horizon=horizon) ** (-v / 2)
        if budget.delta == 0:
            return float(np.sum(losses))
        return min(float(np.sum(losses)), zcdp_epsilon(float(np.sum(losses**2)) / 2, budget.delta))

    quick = calibrate(quick_cost, budget.epsilon, start=min(1.0, 10 / horizon))
    return calibrate(exact_cost, budget.epsilon, start=quick)
