"""How large epsilon must be, from counts of an event."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._statistics import binomial_high, binomial_low


def epsilon_bound(hits: int, neighbour_hits: int, trials: int, delta: float, alpha: float) -> float:
    """Return a lower bound on epsilon that is wrong with a chance of at most alpha; 0 if there is nothing to say.

    An event came `hits` times with some rewards and `neighbour_hits` times with neighbouring ones, each in this many
    trials.
    Pr[E] <= e^ε Pr'[E] + δ, so ε >= ln((Pr[E] - δ) / Pr'[E]).

    >>> epsilon_bound(50_000, 18_394, 100_000, delta=0.0, alpha=0.05)
    0.98
    """
    low, high = binomial_low(hits, trials, alpha / 2), binomial_high(neighbour_hits, trials, alpha / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def log_ratio(hits: int, neighbour_hits: int, trials: int, delta: float = 0.0) -> float:
    """Return the estimate itself: infinite if the event never came with the other rewards."""
    if hits / trials <= delta:
        return -math.inf
    return math.log((hits / trials - delta) / (neighbour_hits / trials)) if neighbour_hits else math.inf


def log_ratio_errors(
    hits: NDArray[Any], neighbour_hits: NDArray[Any], trials: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the standard errors of ln p and ln p', for many events at once."""
    p, q = (hits + 0.5) / (trials + 1), (neighbour_hits + 0.5) / (trials + 1)
    return np.sqrt((1 - p) / (p * trials)), np.sqrt((1 - q) / (q * trials))


def promises(
    hits: NDArray[Any], neighbour_hits: NDArray[Any], trials: int, planned_trials: int, delta: float
) -> NDArray[np.float64]:
    """Return how much each of many events promises: this ranks them for a test with as many trials as planned.

    If positive, it is about what `epsilon_bound` would give there: two standard errors off for what is not known yet,
    since the best of many was lucky, and 2.5 for the bound of the test. Below that, events come in the order of their
    significance, from -1 for none; the event that always happens has a small error and nothing to say.
    """
    one, two = log_ratio_errors(hits, neighbour_hits, trials)
    p, q = (hits + 0.5) / (trials + 1), (neighbour_hits + 0.5) / (trials + 1)
    deviations = 2.0 + 2.5 * math.sqrt(trials / planned_trials)
    bounds = _log_of_positive((p * np.exp(-deviations * one) - delta) / (q * np.exp(deviations * two)))
    significance = _log_of_positive((p - delta) / q) / np.maximum(np.hypot(one, two), 1e-12)
    return np.where(bounds > 0, bounds, -np.exp(-np.maximum(significance, 0.0)))


def _log_of_positive(numbers: NDArray[Any]) -> NDArray[np.float64]:
    return np.where(numbers > 0, np.log(np.maximum(numbers, 1e-300)), -np.inf)
