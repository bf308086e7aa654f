"""How large epsilon must be, from counts: exact confidence bounds of Clopper & Pearson."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def binomial_low(found: int, trials: int, alpha: float) -> float:
    """Return what the probability is below with a chance of at most alpha."""
    from scipy.special import betaincinv

    return 0.0 if found == 0 else float(betaincinv(found, trials - found + 1, alpha))


def binomial_high(found: int, trials: int, alpha: float) -> float:
    """Return what the probability is above with a chance of at most alpha."""
    from scipy.special import betainccinv

    return 1.0 if found == trials else float(betainccinv(found + 1, trials - found, alpha))


def epsilon_bound(found: int, other: int, trials: int, delta: float, alpha: float) -> float:
    """Return a lower bound on epsilon that is wrong with a chance of at most alpha; 0 if there is nothing to say.

    An event came `found` times with some rewards and `other` times with neighbouring ones, in as many trials each.
    Pr[E] <= e^ε Pr'[E] + δ, so ε >= ln((Pr[E] - δ) / Pr'[E]).

    >>> epsilon_bound(50_000, 18_394, 100_000, delta=0.0, alpha=0.05)
    0.98
    """
    low, high = binomial_low(found, trials, alpha / 2), binomial_high(other, trials, alpha / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def log_ratio(found: int, other: int, trials: int, delta: float = 0.0) -> float:
    """Return the estimate itself: infinite if the event never came with the other rewards."""
    if found / trials <= delta:
        return -math.inf
    return math.log((found / trials - delta) / (other / trials)) if other else math.inf


def likely_bounds(found: NDArray[Any], other: NDArray[Any], trials: int, delta: float, z: float) -> NDArray[np.float64]:
    """Return about what `epsilon_bound` would, for many events at once: to rank them, not to judge."""
    p, q = (found + 0.5) / (trials + 1), (other + 0.5) / (trials + 1)
    errors = np.sqrt((1 - p) / (p * trials)), np.sqrt((1 - q) / (q * trials))
    low = p * np.exp(-z * errors[0]) - delta
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / q) - z * errors[1], -np.inf)
