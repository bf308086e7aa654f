"""Composition theorems in closed form, for pure mechanisms with different epsilons.

All three hold under adaptive choice of the mechanisms, as long as the sequence of epsilons is fixed in advance.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpbandits import _validate
from dpbandits.privacy.rounding import above, sum_up


def basic_composition(epsilons: Sequence[float]) -> float:
    """Return the sum: the composition is pure again, delta = 0.

    Args:
        epsilons: what every mechanism costs.

    >>> basic_composition([0.5, 0.25, 0.25])
    1.0
    """
    return sum_up(_validate.real("[0, inf)", epsilon=epsilon) for epsilon in epsilons)


def advanced_composition(epsilons: Sequence[float], delta: float) -> float:
    """Return the k-fold adaptive bound (Dwork, Rothblum & Vadhan 2010, Thm III.3), for different epsilons.

    Σ εᵢ(e^εᵢ - 1) + √(2 ln(1/δ) Σ εᵢ²). It is the D of the paper's Thm 3.4; its proof by Azuma's inequality
    does not need the epsilons to be equal.

    Args:
        epsilons: what every mechanism costs.
        delta: the failure probability of the bound, in (0, 1).
    """
    e, log_term = _validated(epsilons, delta)
    with np.errstate(over="ignore"):
        return above(float(np.sum(e * np.expm1(e)) + math.sqrt(2 * log_term * np.sum(e * e))))


def kov_composition(epsilons: Sequence[float], delta: float) -> float:
    """Return the bound of Kairouz, Oh & Viswanath 2015 (Thm 3.5), for different epsilons.

    With m = Σ εᵢ(e^εᵢ - 1)/(e^εᵢ + 1) and s = Σ εᵢ², the smaller of m + √(2 s ln(1/δ)) and
    m + √(2 s ln(e + √s/δ)).

    Args:
        epsilons: what every mechanism costs.
        delta: the failure probability of the bound, in (0, 1).
    """
    e, log_term = _validated(epsilons, delta)
    mean = np.sum(e * np.tanh(e / 2))  # (e^ε - 1)/(e^ε + 1) = tanh(ε/2)
    squares = float(np.sum(e * e))
    other_log = math.log(math.e + math.sqrt(squares) / delta)
    return above(float(mean + math.sqrt(2 * squares * min(log_term, other_log))))


def _validated(epsilons: Sequence[float], delta: float) -> tuple["np.ndarray[tuple[int], np.dtype[np.float64]]", float]:
    costs = [_validate.real("[0, inf)", epsilon=epsilon) for epsilon in epsilons]
    return np.array(costs, dtype=np.float64), -math.log(_validate.real("(0, 1)", delta=delta))
