"""How large a sum of independent Laplace noises gets: bounds that fail with probability at most gamma.

Both hold for the discrete noise of live use too: its moment generating function and its variance are never above
those of the continuous Laplace distribution with the same scale.
"""

import math
from collections.abc import Mapping

from dpbandits import _validate
from dpbandits.privacy.rounding import above


def chernoff_bound(scales: Mapping[float, int], gamma: float) -> float:
    """Return a bound on |Σ Lap(b_i)|, by the best Chernoff bound.

    min over 0 < h < 1/b_max of [Σ -ln(1 - h² b_i²) + ln(2/γ)] / h. Every h gives a valid bound, so an inexact
    minimum costs tightness only.

    Args:
        scales: how many noises there are of each scale b.
        gamma: the chance that the sum is larger than the bound, at most.

    >>> chernoff_bound({1.0: 1}, gamma=1e5**-4)
    51.0
    """
    gamma = _validate.real("(0, 1)", gamma=gamma)
    if not _validated(scales):
        return 0.0
    from scipy.optimize import minimize_scalar

    largest = max(scales)
    log_term = math.log(2 / gamma)

    def bound(x: float) -> float:  # h = x / b_max, and the result in units of b_max
        exponent = -sum(count * math.log1p(-((x * scale / largest) ** 2)) for scale, count in scales.items())
        return (exponent + log_term) / x

    best = minimize_scalar(bound, bounds=(1e-9, 1 - 1e-12), method="bounded", options={"xatol": 1e-9})
    return above(largest * bound(float(best.x)))


def chan_bound(scales: Mapping[float, int], gamma: float) -> float:
    """Return a bound on |Σ Lap(b_i)| in closed form (Chan, Shi & Song 2011, Lemma 2.8).

    ν √(8 ln(2/γ)) with ν = max(√(Σ b_i²), b_max √(ln(2/γ))).

    Args:
        scales: how many noises there are of each scale b.
        gamma: the chance that the sum is larger than the bound, at most.

    >>> chan_bound({1.0: 1}, gamma=1e5**-4)
    132.2
    """
    gamma = _validate.real("(0, 1)", gamma=gamma)
    if not _validated(scales):
        return 0.0
    log_term = math.log(2 / gamma)
    norm = math.sqrt(sum(count * scale**2 for scale, count in scales.items()))
    return above(max(norm, max(scales) * math.sqrt(log_term)) * math.sqrt(8 * log_term))


def _validated(scales: Mapping[float, int]) -> Mapping[float, int]:
    for scale, count in scales.items():
        _validate.real("(0, 1e150]", scale=scale)
        _validate.integer("[1, inf)", count=count)
    return scales
