"""Confidence: margins of means (Student 1908, Welch 1947), exact bounds of a probability (Clopper & Pearson 1934)."""

import math
from collections.abc import Callable, Sequence

import numpy as np

_CLOSE = 1e-6  # how far a chance may be from alpha, relative to it


def mean_margin(errors: Sequence[float], runs: Sequence[int], level: float) -> float:
    """Return the quantile of a mean, or of a difference of two, that is normal around zero but for its unknown errors.

    Args:
        errors: the standard error of the mean, or of both.
        runs: from how many runs each of them is.
        level: of the quantile: 0.975 is the margin to either side of an interval of 95%.

    >>> mean_margin([1.0], [1000], 0.975), mean_margin([1.0], [5], 0.975), mean_margin([3.0, 4.0], [1000, 1000], 0.975)
    (1.962, 2.776, 9.806)
    """
    from scipy.special import stdtrit

    variances = np.array(errors, dtype=np.float64) ** 2
    if not variances.any():
        return 0.0
    # Welch's degrees of freedom; for one mean they are its runs less one. SciPy has them for samples alone: of
    # standard errors, ttest_ind_from_stats tells neither these nor an interval.
    freedom = variances.sum() ** 2 / (variances**2 / (np.array(runs) - 1)).sum()
    return float(stdtrit(freedom, level)) * math.sqrt(variances.sum())


# Both bounds are quantiles of a Beta distribution. SciPy's binomtest finds them only to 2e-12, which is too coarse for
# what is rare.


def binomial_low(successes: int, trials: int, alpha: float) -> float:
    """Return what the probability is below with a chance of at most alpha."""
    from scipy.special import betainc, betaincinv

    if successes == 0:
        return 0.0
    a, b = successes, trials - successes + 1
    return _inverse(lambda p: float(betainc(a, b, p)), float(betaincinv(a, b, alpha)), alpha)


def binomial_high(successes: int, trials: int, alpha: float) -> float:
    """Return what the probability is above with a chance of at most alpha."""
    from scipy.special import betaincc, betainccinv

    if successes == trials:
        return 1.0
    a, b = successes + 1, trials - successes
    return _inverse(lambda p: float(betaincc(a, b, p)), float(betainccinv(a, b, alpha)), alpha)


def _inverse(chance: Callable[[float], float], guess: float, alpha: float) -> float:
    """Return where the chance is alpha: SciPy's own inverse, if that is right.

    Its functions are, but from 10^8 trials on their inverses are not everywhere: with a parameter of exactly 1000 they
    are off by a factor (SciPy 1.17), which would make a bound false.
    """
    if abs(chance(guess) - alpha) <= _CLOSE * alpha:
        return guess

    from scipy.optimize import brentq

    return float(brentq(lambda p: chance(p) - alpha, 0.0, 1.0, xtol=1e-300, maxiter=10_000))
