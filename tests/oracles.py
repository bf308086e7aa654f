"""Slow, obvious or independent re-computations that the library is tested against."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp
from numpy.typing import NDArray

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
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


def beta_distribution(a: float, b: float, x: float) -> Any:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction with 40 digits.

    Parameters up to 10^12 take a few dozen terms, where mpmath's own series does not end.
    """
    with mp.workdps(60):
        a, b, x = mp.mpf(a), mp.mpf(b), mp.mpf(x)
        if x > (a + 1) / (a + b + 2):
            return 1 - beta_distribution(b, a, 1 - x)
        front = mp.exp(
            mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b) + a * mp.log(x) + b * mp.log1p(-x) - mp.log(a)
        )
        # 1 + d_1/(1 + d_2/(1 + ...)), from the front, by Lentz's method.
        whole, upper, lower = mp.mpf(1), mp.mpf(1), mp.mpf(0)
        n = 0
        while abs(upper * lower - 1) > mp.mpf(10) ** -40:
            n += 1
            k = n // 2
            if n % 2:
                term = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
            else:
                term = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
            upper, lower = 1 + term / upper, 1 / (1 + term * lower)
            whole *= upper * lower
        return front / whole


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


def gaussian_delta(mu: float, epsilon: float) -> Any:
    """Return δ(ε) of Gaussian noise with σ = sensitivity / mu as it is written (Balle & Wang 2018), in 60 digits."""
    with mp.workdps(60):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


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


# ---- divergences, by search


def bernoulli_divergence(x: float, y: float) -> float:
    """kl(x, y) of Bernoulli distributions."""
    heads = (x * math.log(x / y) if y > 0 else math.inf) if x > 0 else 0.0
    tails = ((1 - x) * math.log((1 - x) / (1 - y)) if y < 1 else math.inf) if x < 1 else 0.0
    return heads + tails


def private_divergence_by_search(x: float, y: float, epsilon: float, thirds: int = 60) -> float:
    """inf_z { ε |z - x| + kl(z, y) }: convex in z, which is between x and y and searched there by thirds."""

    def cost(z: float) -> float:
        return epsilon * abs(z - x) + bernoulli_divergence(z, y)

    low, high = min(x, y), max(x, y)
    for _ in range(thirds):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if cost(left) <= cost(right) else (left, high)
    return min(cost(low), cost(high), cost(x), cost(y))


def largest_mean(divergence: Callable[[float], float], start: float, level: float) -> float:
    """The largest y in [start, 1] with divergence(y) <= level, for one that increases from `start` on: by bisection."""
    low, high = start, 1.0
    if divergence(high) <= level:
        return high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(middle) <= level else (low, middle)
    return low


def phase_cost(epsilon: float, sizes: Floats, values: Floats, z: float, thirds: int = 60) -> float:
    """Σ_k b_k inf_{0<=w<=1} { ε |w - x_k| + kl(w, z) } of phases with b_k plays and released sums b_k x_k.

    Convex in w, which is searched by thirds, for all phases at once.
    """
    x = values / sizes

    def inner(w: Floats) -> Floats:
        rest = 1 - w
        with np.errstate(divide="ignore", invalid="ignore"):
            heads = np.where(w > 0, w * np.log(w / z), 0.0)
            tails = np.where(rest > 0, rest * np.log(rest / (1 - z)), 0.0)
        return np.asarray(epsilon * np.abs(w - x) + heads + tails)

    low, high = np.zeros_like(x), np.ones_like(x)
    for _ in range(thirds):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        is_left = inner(left) <= inner(right)
        low, high = np.where(is_left, low, left), np.where(is_left, right, high)
    corner = np.clip(x, 0, 1)  # where the absolute value has its kink, or the end next to it
    return float(sizes @ np.minimum(inner((low + high) / 2), inner(corner)))
