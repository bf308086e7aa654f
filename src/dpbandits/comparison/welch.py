"""Margins of means, and of differences of means, from few runs or many (Student 1908, Welch 1947)."""

import math
from collections.abc import Sequence

import numpy as np


def margin(errors: Sequence[float], runs: Sequence[int], level: float) -> float:
    """Return the quantile of a mean, or of a difference of two, that is normal around zero but for its unknown errors.

    Args:
        errors: the standard error of the mean, or of both.
        runs: from how many runs each of them is.
        level: of the quantile: 0.975 is the margin to either side of an interval of 95%.

    >>> margin([1.0], [1000], 0.975), margin([1.0], [5], 0.975), margin([3.0, 4.0], [1000, 1000], 0.975)
    (1.962, 2.776, 9.806)
    """
    from scipy.special import stdtrit

    variances = np.array(errors, dtype=np.float64) ** 2
    if not variances.any():
        return 0.0
    freedom = variances.sum() ** 2 / (variances**2 / (np.array(runs) - 1)).sum()
    return float(stdtrit(freedom, level)) * math.sqrt(variances.sum())
