"""Calibration of any cost: the answer was tried, is within the target, and hardly more would not be."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from dpbandits.errors import InvalidInput
from dpbandits.privacy import calibrate

LARGEST = 0.3  # of every cost below, for its target of 2
TARGET = 2.0
Cost = Callable[[float], float]


def upto(below: Cost, above: Cost) -> Cost:
    """Return a cost that jumps after LARGEST."""
    return lambda x: below(x) if x <= LARGEST else above(x)


def power(exponent: float) -> Cost:
    return lambda x: float(TARGET * (x / LARGEST) ** exponent)


def stairs(width: float, height: float) -> Cost:
    """Return a cost that is higher by a factor every so often, for one after LARGEST."""

    def step(x: float) -> int:
        return math.ceil(math.log(x / LARGEST) / math.log(width))

    return upto(lambda x: TARGET * height ** min(step(x), 0), lambda x: TARGET * height ** max(step(x), 1))


SMOOTH: dict[str, Cost] = {
    **{f"power {exponent}": power(exponent) for exponent in (0.5, 0.7, 1.0, 2.0, 6.0)},
    "exponential": lambda x: TARGET * math.expm1(5 * x) / math.expm1(5 * LARGEST),
    "never nothing": lambda x: 1.5 + 0.5 * x / LARGEST,
    "kink": lambda x: TARGET + (x - LARGEST) * (1.0 if x < LARGEST else 100.0),
}
JUMPS: dict[str, Cost] = {
    "jump": upto(lambda x: 1.0, lambda x: 5.0),
    "jump from nothing": upto(lambda x: 0.0, lambda x: 5.0),
    "jump to infinity": upto(lambda x: x, lambda x: math.inf),
    "jump from nothing to infinity": upto(lambda x: 0.0, lambda x: math.inf),
    "jump of all sizes": upto(lambda x: 1e-300, lambda x: 1e300),
    "jump by the last digit": upto(lambda x: TARGET, lambda x: math.nextafter(TARGET, 9)),
    "jump after the target": upto(lambda x: min(TARGET, 100 * x), lambda x: 5.0),  # which is met from 0.02 on
    "jump before the target": upto(lambda x: math.nextafter(TARGET, 0), lambda x: TARGET + x),
    "stairs": stairs(1.01, 1.01),
    "steep stairs": stairs(1.2, 100.0),
}
every_cost = pytest.mark.parametrize("name", [*SMOOTH, *JUMPS])
every_start = pytest.mark.parametrize("start", [1e-9, 0.01, 0.299, 0.3, 0.301, 1.0])


class Tried:
    """A cost that knows where it was asked for."""

    def __init__(self, cost: Cost) -> None:
        self.cost = cost
        self.points: list[float] = []

    def __call__(self, x: float) -> float:
        self.points.append(x)
        return self.cost(x)


@every_cost
@every_start
@pytest.mark.parametrize("tolerance", [0.01, 1e-4, 1e-9])
def test_the_answer_was_tried_and_hardly_more_is_too_much(name: str, start: float, tolerance: float) -> None:
    cost = Tried((SMOOTH | JUMPS)[name])
    found = calibrate(cost, TARGET, start=start, tolerance=tolerance)
    assert found in cost.points
    assert cost.cost(found) <= TARGET
    assert LARGEST * (1 - tolerance) <= found <= LARGEST * (1 + 1e-12)  # the smooth ones round
    assert max(cost.points) <= 1.0
    assert len(set(cost.points)) == len(cost.points)  # each may take seconds


@every_cost
def test_calibrates_to_a_fifty_thousandth(name: str) -> None:
    for start in np.geomspace(0.05, 1.0, 40):
        found = calibrate((SMOOTH | JUMPS)[name], TARGET, start=float(start))
        assert LARGEST * (1 - 2e-5) <= found <= LARGEST * (1 + 1e-12)


@pytest.mark.parametrize(("costs", "most"), [(SMOOTH, 9), (JUMPS, 27)])
def test_few_points_are_tried(costs: dict[str, Cost], most: int) -> None:
    """A smooth cost is hit almost at once; to find a jump takes a halving per binary digit, and some more."""
    for function in costs.values():
        cost = Tried(function)
        calibrate(cost, TARGET, start=0.25)
        assert len(cost.points) <= most


def test_everything_within_the_target_gives_the_upper_end() -> None:
    for upper in (1.0, 0.7, math.pi / 10, 30.0):
        assert calibrate(lambda x: 1.0, 2.0, start=0.01, upper=upper) == upper
        assert calibrate(lambda x: x, upper, start=0.3, upper=upper) == upper
        assert calibrate(lambda x: 0.0, 2.0, start=99.0, upper=upper) == upper


def test_ends_that_have_one_logarithm() -> None:
    upper = 1e-10
    below = math.nextafter(upper, 0)
    assert calibrate(lambda x: 0.0 if x < upper else 5.0, 1.0, start=below, upper=upper) == below


def test_what_cannot_be_calibrated() -> None:
    for cost in (2.0, math.inf):
        with pytest.raises(InvalidInput, match=r"Expected target=1\.0 to be met"):
            calibrate(lambda x, cost=cost: cost, 1.0, start=0.1)  # type: ignore[misc]
    for start in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidInput, match="Expected start="):
            calibrate(lambda x: x, 1.0, start=start)
    for cost in (-1.0, math.nan):
        with pytest.raises(InvalidInput, match="Expected cost="):
            calibrate(lambda x, cost=cost: cost, 1.0, start=0.5)  # type: ignore[misc]
    for tolerance in (0.0, -1.0, 1e-13, 1.0, math.nan):
        with pytest.raises(InvalidInput, match=r"Expected tolerance=.* in \[1e-12, 1\)"):
            calibrate(lambda x: x, 0.5, start=0.1, tolerance=tolerance)


def test_a_cost_that_fails_while_it_is_closed_in_on_says_so() -> None:
    with pytest.raises(InvalidInput, match="Expected cost=nan"):
        calibrate(lambda x: x if x in (0.1, 1.0) or x > 0.6 else math.nan, 0.5, start=0.1, upper=1.0)
