"""Bernoulli: every reward is 0 or 1. A block is one binomial number, whatever its length."""

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from dpbandits._kernel import kernel
from dpbandits.environments.base import Environment, block_sum, numbers, reward
from dpbandits.environments.binomial import binomial
from dpbandits.mechanisms.draws import uniform

# Up to so many plays, single draws are cheaper than a binomial number.
_SINGLE_DRAWS = 8


class Params(NamedTuple):
    """Constants of the kernels."""

    means: Any


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    return 1.0 * (uniform(noise) < params.means[arm])  # without a branch: it could not be predicted


@block_sum.register(Params)
@kernel
def _block_sum(params: Params, arm: int, plays: int, t: int, noise: Any) -> float:
    if plays > _SINGLE_DRAWS:
        return 1.0 * binomial(noise, plays, params.means[arm])
    total = 0.0
    for _ in range(plays):
        total += 1.0 * (uniform(noise) < params.means[arm])
    return total


class Bernoulli(Environment):
    """Arms that give 1 with probability `means`, else 0.

    >>> Bernoulli([0.9, 0.6]).gaps
    array([0. , 0.3])
    """

    def __init__(self, means: ArrayLike) -> None:
        probabilities = numbers("means", means, 0, 1)
        super().__init__(probabilities, means=probabilities)

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return Params(self.means)
