"""What no private policy can do better than: lower bounds on regret for Bernoulli arms.

The first two are asymptotic: they say what regret / ln T tends to, for policies that do well on every instance. At a
finite T a mean may be below them.
"""

import math
from collections.abc import Callable

from numpy.typing import ArrayLike

from dpbandits import _validate
from dpbandits.theory.divergences import bernoulli_kl, private_divergence
from dpbandits.theory.upper_bounds import one_per_arm


def asymptotic_constant(means: ArrayLike, epsilon: float = math.inf) -> float:
    """Return C = Σ Δ_a / d_ε(μ_a, μ*): regret is at least about C ln T (Azize et al. 2025).

    Without privacy, epsilon = infinity, it is the bound of Lai & Robbins.

    >>> asymptotic_constant([0.9, 0.6], epsilon=0.1), asymptotic_constant([0.9, 0.6])
    (10.16, 0.964)
    """
    epsilon = _positive(epsilon)
    return _summed(means, lambda mean, best: (best - mean) / private_divergence(mean, best, epsilon))


def earlier_asymptotic_constant(means: ArrayLike, epsilon: float) -> float:
    """Return Σ Δ_a / min(kl(μ_a, μ*), 6 ε Δ_a), the earlier bound of Azize & Basu 2022."""
    epsilon = _positive(epsilon)
    return _summed(means, lambda mean, best: (best - mean) / min(bernoulli_kl(mean, best), 6 * epsilon * (best - mean)))


def minimax(arms: int, t: float, epsilon: float) -> float:
    """Return a regret that every ε-DP policy has on some instance: max(√(t(K-1))/27, (K-1)/(131 ε)).

    Azize & Basu 2022, for t that are not too small; never more than t.

    >>> minimax(10, 1e5, epsilon=1.0)
    35.14
    """
    arms = _validate.integer("[1, inf)", arms=arms)
    t = _validate.real("[1, inf)", t=t)
    return min(max(math.sqrt(t * (arms - 1)) / 27, (arms - 1) / (131 * _positive(epsilon))), t)


def order_with_privacy(gaps: ArrayLike, t: float, epsilon: float) -> float:
    """Return Σ ln t / Δ_a + K ln t / ε: regret is at least of this order (Shariff & Sheffet 2018), up to a constant."""
    gap_list = one_per_arm("gap", gaps)
    log_t = math.log(_validate.real("[1, inf)", t=t))
    return sum(log_t / gap for gap in gap_list if gap > 0) + len(gap_list) * log_t / _positive(epsilon)


def _positive(epsilon: float) -> float:
    return math.inf if epsilon == math.inf else _validate.real("(0, inf)", epsilon=epsilon)


def _summed(means: ArrayLike, term: Callable[[float, float], float]) -> float:
    values = one_per_arm("mean", means)
    best = max(values)
    if best == 1.0:
        return 0.0  # one reward of zero tells that an arm is not the best: nothing grows with ln T
    return sum(term(mean, best) for mean in values if mean < best)
