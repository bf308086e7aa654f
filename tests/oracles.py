"""Slow, obvious or independent re-computations that the library is tested against."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Complex = NDArray[np.complex128]
LogMGF = Callable[[Complex], Complex]


def laplace_log_mgf(epsilon: float) -> LogMGF:
    """ln E exp(s L) for the privacy loss L of the Laplace mechanism, from its definition.

    L is ε with probability 1/2, -ε with probability e^-ε/2, and has density exp((l - ε)/2)/4 in between.
    """

    def log_mgf(s: Complex) -> Complex:
        atoms = np.exp(s * epsilon) / 2 + np.exp(-s * epsilon - epsilon) / 2
        middle = np.exp(-epsilon / 2) / 4 * 2 * np.sinh((s + 0.5) * epsilon) / (s + 0.5)
        result: Complex = np.log(atoms + middle)
        return result

    return log_mgf


def response_log_mgf(epsilon: float) -> LogMGF:
    """ln E exp(s L) for randomised response: L is ε with probability e^ε/(1+e^ε), else -ε."""

    def log_mgf(s: Complex) -> Complex:
        keep = 1 / (1 + math.exp(-epsilon))
        return np.log(keep * np.exp(s * epsilon) + (1 - keep) * np.exp(-s * epsilon))

    return log_mgf


def true_delta(log_mgfs: Sequence[LogMGF], squares: float, epsilon: float) -> float:
    """δ(ε) = E max(0, 1 - e^(ε-L)) of a composition, by numerical inversion of the Laplace transform.

    The transform of max(0, 1 - e^-y) is 1/(s(s+1)), so δ(ε) is the integral of M(s) e^(-sε)/(s(s+1)) / 2πi along
    a vertical line; it runs near the saddle point, so that nothing cancels. No grid of losses is involved.
    `squares` is the sum of the squared losses. Good to 1e-9 from two dozen releases on; with few, the atoms of the
    losses keep the integrand from vanishing.
    """
    line = max(epsilon / squares - 0.5, 1.0)
    width = 1 / math.sqrt(squares)
    t = np.linspace(0, 60 * width, 6001)
    s: Complex = line + 1j * t.astype(np.complex128)
    exponent = sum((log_mgf(s) for log_mgf in log_mgfs), start=np.zeros_like(s)) - s * epsilon
    return float(np.trapezoid((np.exp(exponent) / (s * (s + 1))).real, t) / math.pi)


def response_delta_by_enumeration(epsilons: Sequence[float], epsilon: float) -> float:
    """δ(ε) of composed randomised responses, over all outcomes."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        loss = sum(sign * e for sign, e in zip(signs, epsilons, strict=True))
        chance = math.prod(1 / (1 + math.exp(-sign * e)) for sign, e in zip(signs, epsilons, strict=True))
        total += chance * max(0.0, -math.expm1(epsilon - loss))
    return total


def discrete_laplace_delta(scale: float, sensitivity: int, epsilon: float) -> float:
    """δ(ε) of the discrete Laplace mechanism, summed over the integers."""
    z = np.arange(-int(60 * scale) - sensitivity, int(60 * scale) + 2 * sensitivity)
    q = math.exp(-1 / scale)
    here = (1 - q) / (1 + q) * q ** np.abs(z)
    there = (1 - q) / (1 + q) * q ** np.abs(z - sensitivity)
    return float(np.sum(np.maximum(0, here - math.exp(epsilon) * there)))


def release_times_naive(epsilon: float, v: float, series: str, horizon: int) -> list[int]:
    """Lemma B.1, word by word."""
    p = v if series == "y" else v / 2
    times = [0]
    while True:
        w = times[-1] + 1
        # The slack decides ties, which occur at epsilon = 1.
        while epsilon * math.fsum(i**-p for i in range(times[-1] + 1, w + 1)) < w**-p * (1 - 1e-14):
            w += 1
        if w > horizon:
            return times[1:]
        times.append(w)


def exact_sum(values: Sequence[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


def first_release_naive(epsilon: float, p: float, up_to: int) -> int:
    """W_1 of Lemma B.1 with exponent p, from one long cumulative sum."""
    i = np.arange(1, up_to + 1, dtype=np.longdouble)
    return int(np.argmax(np.cumsum(i**-p) * epsilon >= i**-p)) + 1
