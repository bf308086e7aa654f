"""Estimates: what is known about an arm's mean from its releases alone, noise included, at every release at once.

A release is the noisy sum of a block, or of all rewards so far. One alone says little: its noise is as large as the
schedule wants it. The estimate M is the sum of all of them with weights u_j, so that every reward of block l has
weight s_l and Σ_l m_l s_l = 1, with m_l rewards in block l. Of all unbiased ones it is the one with the least variance,

    Var M  <=  Σ_l m_l s_l² / 4  +  Σ_j 2 b_j² u_j² ,

where b_j is the scale of the noise and u_j = s_j - s_{j+1} (all rewards so far) or u_j = s_j (single blocks).

The interval: rewards in [0, 1] with mean μ have moments of at most those of a coin (Hoeffding 1963, Theorem 1), and
Laplace noise has the moments 1 / (1 - h² b²). Discrete noise has smaller ones. So for 0 < h < 1 / max |u_j| b_j

    ln Pr[M >= x]  <=  -h x + Σ_l m_l ln(1 - μ + μ e^(h s_l)) - Σ_j ln(1 - h² u_j² b_j²) .

Where the right side is below ln γ, μ is too small to be believed: the limit is the μ of equality, for the best h. The
upper limit is that of 1 - μ and 1 - M.

The k-th estimate of an arm has the same weights and noises however the arms were played, since places are given before
answers are known. All of them hold at once with confidence 1 - γ, because the k-th one of each of K arms fails on
either side with probability at most γ / (2 K k (k + 1)), which adds up to γ.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits.policies import Block

_NEWTON_STEPS = 8
_MOST_KEPT = 100  # weights, by number of releases
_LARGEST_EXPONENT = 500.0  # beyond, e^h is no float; a smaller h gives a valid limit too

Array = NDArray[np.float64]


class Weights(NamedTuple):
    """How the releases of an arm make up its estimate: a property of the schedule alone."""

    sizes: Array  # m_l
    of_rewards: Array  # s_l
    of_releases: Array  # u_j
    noises: Array  # |u_j| b_j


def best_weights(blocks: Sequence[Block]) -> Weights:
    """Return the weights with the least variance, for rewards as spread as rewards in [0, 1] can be."""
    from scipy.linalg import solveh_banded

    sizes = np.diff(np.array([0, *(block.last for block in blocks)], dtype=np.float64))
    variances = 2 * np.array([block.scale for block in blocks]) ** 2
    # The best s is a multiple of A⁻¹ m, where Var M = s A s: A is diagonal for single blocks, else tridiagonal.
    diagonal = sizes / 4 + variances
    if blocks[-1].first > 1 or len(blocks) == 1:
        of_rewards = of_releases = sizes / diagonal
    else:
        diagonal[1:] += variances[:-1]
        of_rewards = solveh_banded([np.append(0.0, -variances[:-1]), diagonal], sizes)
        of_releases = -np.diff(of_rewards, append=0.0)
    total = sizes @ of_rewards
    of_rewards, of_releases = of_rewards / total, of_releases / total
    return Weights(sizes, of_rewards, of_releases, np.abs(of_releases) * np.sqrt(variances / 2))


class Estimator:
    """The weights of one schedule, for as many releases as an arm has had.

    Args:
        beginning: returns the first blocks of the schedule, for a number of blocks.
    """

    def __init__(self, beginning: Callable[[int], Sequence[Block]]) -> None:
        self._beginning = beginning
        self._weights: dict[int, Weights] = {}

    def weights(self, releases: int) -> Weights:
        """Return the weights of the first `releases` releases."""
        if releases not in self._weights:
            if len(self._weights) >= _MOST_KEPT:
                self._weights.clear()
            self._weights[releases] = best_weights(self._beginning(releases))
        return self._weights[releases]


class Statistic:
    """The released values of one arm, and the estimate that they make together."""

    def __init__(self, estimator: Estimator, values: Iterable[float] = ()) -> None:
        self._estimator = estimator
        self._values = list(values)
        self._mean: float | None = None if self._values else 0.0  # None: to be computed

    def add(self, value: float) -> None:
        """Take in one more released sum."""
        self._values.append(value)
        self._mean = None

    @property
    def releases(self) -> int:
        """How many there were."""
        return len(self._values)

    @property
    def values(self) -> tuple[float, ...]:
        """The released sums, in the order in which they came."""
        return tuple(self._values)

    @property
    def mean(self) -> float:
        """The estimate, which may be outside [0, 1]; 0 before the first release."""
        if self._mean is None:
            self._mean = self._combined()
        return self._mean

    def summary(self) -> tuple[int, float, Weights | None]:
        """Return what an interval is made of: the number of releases, the estimate, and its weights if there is one."""
        return self.releases, self.mean, self._estimator.weights(self.releases) if self.releases else None

    def _combined(self) -> float:
        weights = self._estimator.weights(self.releases).of_releases
        return float(np.dot(weights, self._values))


def interval(
    releases: int, estimate: float, weights: Weights | None, gamma: float, arms: int, rounding: float
) -> tuple[float, float]:
    """Return bounds on the mean that fail, at any release of any of these arms, with probability `gamma`.

    `rounding` is the most by which a reward was changed on its way into the sums.
    """
    if weights is None:
        return 0.0, 1.0
    log_term = math.log(2 * arms * releases * (releases + 1) / gamma)
    low = lower_limit(weights, estimate, log_term) - rounding
    high = 1 - lower_limit(weights, 1 - estimate, log_term) + rounding
    return min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0)


def lower_limit(weights: Weights, estimate: float, log_term: float) -> float:
    """Return what the mean is at least, unless something of probability e^-log_term has happened."""
    from scipy.optimize import minimize_scalar

    sizes, of_rewards, _, noises = weights
    end = min(1 / noises.max(), _LARGEST_EXPONENT / of_rewards.max())

    def limit(log_share: float) -> float:
        h = math.exp(log_share) * end
        right = h * estimate + float(np.sum(np.log1p(-((h * noises) ** 2)))) - log_term
        growth = np.expm1(h * of_rewards)
        # Σ m ln(1 + μ growth) = right, by Newton's method: the left side is concave in μ, so every step stays below.
        mean: float = right / float(sizes @ growth)
        if mean > 0:
            for _ in range(_NEWTON_STEPS):
                missing = right - float(sizes @ np.log1p(mean * growth))
                mean += missing / float(sizes @ (growth / (1 + mean * growth)))
        return mean

    # Every h gives a valid limit, so an inexact maximum costs tightness only.
    best = minimize_scalar(lambda x: -limit(x), bounds=(-25.0, -1e-9), method="bounded", options={"xatol": 1e-3})
    return float(limit(best.x))


def rounded_texts(*values: float) -> list[str]:
    """Return values with as many digits as tell them apart: about three of their range."""
    width = max(values) - min(values)
    decimals = min(max(3 - math.ceil(math.log10(width)), 0), 12) if width > 0 else 3
    return [f"{value:.{decimals}f}" for value in values]


@dataclass(frozen=True)
class Estimate:
    """What the releases of one arm say about its mean reward, in the user's units."""

    arm: str | int
    mean: float | None  # None before the first release
    low: float
    high: float
    rewards: int  # in the releases so far
    releases: int

    def __str__(self) -> str:
        if self.mean is None:
            return f"{self.arm}: nothing released yet"
        mean, low, high = rounded_texts(self.mean, self.low, self.high)
        return f"{self.arm}: {mean}, between {low} and {high} (from {self.rewards} rewards)"


@dataclass(frozen=True)
class Comparison:
    """Whether arm b is better than arm a: the difference of their means is between `low` and `high`."""

    a: str | int
    b: str | int
    low: float
    high: float
    confidence: float

    @property
    def verdict(self) -> str:
        """`better` or `worse` if that is certain enough, else `undecided`."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "undecided"

    def __str__(self) -> str:
        low, high = rounded_texts(self.low, self.high)
        span = f"the difference is between {low} and {high} with confidence {self.confidence}"
        if self.verdict == "undecided":
            return f"whether {self.b} is better than {self.a} is undecided: {span}"
        return f"{self.b} is {self.verdict} than {self.a}: {span}"


def difference(a: Estimate, b: Estimate, confidence: float) -> Comparison:
    """Return what two estimates say about each other: whether b is better than a."""
    return Comparison(a.arm, b.arm, b.low - a.high, b.high - a.low, confidence)
