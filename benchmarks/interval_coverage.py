"""How often the intervals of live estimates are right at all releases at once, and how wide they are.

The k-th release of an arm has the same count and noise however it was played, so whole experiments are simulated by
releasing every block of every arm. An interval holds the true mean if the estimate is in an acceptance region, which is
computed here on its own: from the moment bound, not by calling the intervals.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from dpbandits.live.estimates import Weights, best_weights
from dpbandits.policies import Block

Array = NDArray[np.float64]


def coverage_matrix(blocks: Sequence[Block]) -> Array:
    """Return, in row j and column l, whether release j contains block l."""
    ends = np.array([block.last for block in blocks])
    return np.array([(block.first <= ends) & (ends <= block.last) for block in blocks], dtype=np.float64)


def simulated_estimates(blocks: Sequence[Block], mean: float, experiments: int, rng: np.random.Generator) -> Array:
    """Return the estimate after every release (columns) of every experiment (rows), for rewards 0 or 1."""
    sizes = np.diff([0, *(block.last for block in blocks)])
    sums = rng.binomial(sizes, mean, size=(experiments, len(blocks)))
    scales = np.array([block.scale for block in blocks])
    noises = np.round(rng.laplace(0, scales * 4096, size=sums.shape)) / 4096
    released = sums @ coverage_matrix(blocks).T + noises
    columns = [released[:, :k] @ best_weights(blocks[:k]).of_releases for k in range(1, len(blocks) + 1)]
    return np.stack(columns, axis=1)


def acceptance_region(blocks: Sequence[Block], mean: float, arms: int, gamma: float) -> tuple[Array, Array]:
    """Return, for every release, the least and the largest estimate whose interval still holds the mean."""
    edges = []
    for k in range(1, len(blocks) + 1):
        weights = best_weights(blocks[:k])
        log_term = math.log(2 * arms * k * (k + 1) / gamma)
        edges.append((1 - _largest(weights, 1 - mean, log_term), _largest(weights, mean, log_term)))
    low, high = np.array(edges).T
    return low, high


def _largest(weights: Weights, mean: float, log_term: float) -> float:
    """Return the least x with a bound on ln Pr[M >= x] of at most -log_term: min over h of (c + moments(h)) / h."""
    end = min(1 / weights.noises.max(), 500 / weights.of_rewards.max())

    def edge(log_share: float) -> Any:
        h = math.exp(log_share) * end
        rewards = weights.sizes @ np.log1p(mean * np.expm1(h * weights.of_rewards))
        return (log_term + rewards - np.sum(np.log1p(-((h * weights.noises) ** 2)))) / h

    found = minimize_scalar(edge, bounds=(-25.0, -1e-9), method="bounded", options={"xatol": 1e-4})
    return float(edge(found.x))


def simultaneous(
    blocks: Sequence[Block], means: Sequence[float], experiments: int, seed: int, gamma: float = 0.05
) -> tuple[float, float]:
    """Return the share of experiments in which all intervals hold, and how many times wider they are than needed.

    The second is the factor by which all of them could shrink and still hold in 1 - gamma of the experiments.
    """
    rng = np.random.default_rng(seed)
    worst = np.zeros(experiments)  # the largest deviation, as a share of what is accepted
    for mean in means:
        estimates = simulated_estimates(blocks, mean, experiments, rng)
        low, high = acceptance_region(blocks, mean, len(means), gamma)
        shares = np.where(estimates > mean, (estimates - mean) / (high - mean), (mean - estimates) / (mean - low))
        worst = np.maximum(worst, shares.max(axis=1))
    return float(np.mean(worst <= 1)), float(1 / np.quantile(worst, 1 - gamma))
