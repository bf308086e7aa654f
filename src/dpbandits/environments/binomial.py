"""Binomial numbers from uniform ones: the successes of a whole block in one draw, exact for any number of trials.

Few expected successes are counted up from zero (inversion). Otherwise Hörmann's transformed rejection (1993, algorithm
BTRS), which takes two uniform numbers most of the time. It is written on `uniform` so that every machine runs the same
code, and because numba's own binomial takes up to twice as long for the blocks of DP-UCB-Int (benchmarks/results.md).
"""

import math
from typing import Any

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import uniform

# More trials are drawn in groups: a logarithm times n would lose the digits that decide.
_LARGEST_GROUP = 2**40
# Expected successes from which on transformed rejection is valid.
_SMALLEST_MEAN = 10.0
# ln k! - [(k + 1/2) ln(k + 1) - (k + 1) + ln(2π)/2], the rest of Stirling's formula, for k = 0..9
_STIRLING_RESTS = tuple(
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)) for k in range(10)
)


@kernel
def binomial(noise: Any, trials: int, probability: float) -> int:
    """Return how many of the trials succeed."""
    successes = 0
    while trials > _LARGEST_GROUP:
        successes += _successes(noise, _LARGEST_GROUP, probability)
        trials -= _LARGEST_GROUP
    return successes + _successes(noise, trials, probability)


@kernel
def _successes(noise: Any, trials: int, probability: float) -> int:
    p = min(probability, 1.0 - probability)  # count the rarer outcome
    if p <= 0.0:
        rarer = 0
    elif trials * p < _SMALLEST_MEAN:
        rarer = _inversion(noise, trials, p)
    else:
        rarer = _rejection(noise, trials, p)
    return rarer if probability <= 0.5 else trials - rarer


@kernel
def _inversion(noise: Any, n: int, p: float) -> int:
    ratio = p / (1.0 - p)
    weight = math.exp(n * math.log1p(-p))  # of k successes
    left = uniform(noise)
    k = 0
    while left > weight and k < n:
        left -= weight
        k += 1
        weight *= (n - k + 1) * ratio / k
    return k


@kernel
def hat(n: int, p: float) -> tuple[float, float, float, float]:
    """Return Hörmann's constants: the shape a, b of the proposals, the height of the hat, and what is surely below."""
    deviation = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    return a, b, (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b


@kernel
def _rejection(noise: Any, n: int, p: float) -> int:
    a, b, height, surely = hat(n, p)
    while True:
        v = uniform(noise)
        u = uniform(noise) - 0.5
        rest = 0.5 - abs(u)
        # int(...): in CUDA code floor gives a float
        k = int(math.floor((2.0 * a / rest + b) * u + (n * p + 0.5))) if rest > 0.0 else -1  # noqa: RUF046
        if rest >= 0.07 and v <= surely:
            return k
        if 0 <= k <= n and _is_below_density(n, p, k, v * height / (a / (rest * rest) + b)):
            return k


@kernel
def _is_below_density(n: int, p: float, k: int, v: float) -> bool:
    """Tell whether v is at most P(k) / P(m), where m is the most likely number."""
    ratio = p / (1.0 - p)
    m = int((n + 1) * p)
    log_density = (
        (m + 0.5) * math.log((m + 1) / (ratio * (n - m + 1)))
        + (n + 1) * math.log((n - m + 1) / (n - k + 1))
        + (k + 0.5) * math.log(ratio * (n - k + 1) / (k + 1))
        + (_stirling_rest(m) + _stirling_rest(n - m) - _stirling_rest(k) - _stirling_rest(n - k))
    )
    return v <= 0.0 or math.log(v) <= log_density


@kernel
def _stirling_rest(k: int) -> float:
    if k < 10:
        return _STIRLING_RESTS[k]
    x = 1.0 / (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 * x * x) * x * x) * x
