"""Bernoulli: every reward is 0 or 1. A block is one binomial number, from tables if it is short and arms are few."""

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from dpbandits._kernel import kernel
from dpbandits.environments.alias import GROUPS, AliasTables, alias_tables, from_tables
from dpbandits.environments.binomial import binomial
from dpbandits.environments.environment import Environment, block_sum, numbers, reward
from dpbandits.mechanisms.draws import uniform

# More arms would need more memory for their tables than a processor keeps at hand.
_TABULATED_ARMS = 64


class Params(NamedTuple):
    """Constants of the kernels."""

    means: Any
    tables: AliasTables  # of no arms if there are too many


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    return 1.0 * (uniform(noise) < params.means[arm])  # without a branch: it could not be predicted


@block_sum.register(Params)
@kernel
def _block_sum(params: Params, arm: int, plays: int, t: int, noise: Any) -> float:
    if plays >> GROUPS == 0 and arm < len(params.tables.keep):
        return 1.0 * from_tables(params.tables, arm, plays, noise)
    return 1.0 * binomial(noise, plays, params.means[arm])


class Bernoulli(Environment):
    """Arms that give 1 with probability `means`, else 0.

    Args:
        means: one per arm, in [0, 1].

    >>> Bernoulli([0.9, 0.6]).gaps
    array([0. , 0.3])
    """

    def __init__(self, means: ArrayLike) -> None:
        probabilities = numbers("means", means, 0, 1)
        super().__init__(probabilities, means=probabilities)

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        tabulated_means = self.means if self.arms <= _TABULATED_ARMS else self.means[:0]
        return Params(self.means, alias_tables(tabulated_means))
