"""Given: rewards that are fixed in advance, one per time, whichever arm is played."""

import hashlib
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.environments.environment import Environment, block_sum, numbers, reward


class Params(NamedTuple):
    """Constants of the kernels. `totals[t]` is the sum of the first t rewards: a block costs as much as a play.

    The sum of a block is a difference of two of them. It is exact for rewards of 0 and 1, and for others rounded.
    """

    rewards: Any
    totals: Any


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    return params.rewards[t - 1]


@block_sum.register(Params)
@kernel
def _block_sum(params: Params, arm: int, plays: int, t: int, noise: Any) -> float:
    total = params.totals[t - 1 + plays] - params.totals[t - 1]
    return min(max(total, 0.0), float(plays))  # where it is rounded, too


class Given(Environment):
    """Rewards that are fixed in advance, one per time. Those with the same rewards and arms are equal.

    Two that differ in one entry are neighbours: how differently a policy behaves on them is what differential privacy
    bounds.

    Args:
        rewards: one for every time, in [0, 1], whichever arm is played. A run may not be longer.
        arms: how many arms there are.

    >>> Given([0, 1, 1, 0], arms=2).means
    array([0.5, 0.5])
    """

    def __init__(self, rewards: ArrayLike, arms: int) -> None:
        self.rewards = numbers("rewards", rewards, 0, 1)
        arms = _validate.integer("[1, 1000000]", arms=arms)
        super().__init__(np.full(arms, self.rewards.mean()), rewards=self.rewards, arms=str(arms))
        self.longest = len(self.rewards)
        self._digest = hashlib.sha256(self.rewards.tobytes()).digest()

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return self._params

    @cached_property
    def _params(self) -> Params:
        return Params(self.rewards, np.concatenate([[0.0], np.cumsum(self.rewards)]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and (self._digest, self.arms) == (other._digest, other.arms)

    def __hash__(self) -> int:
        return hash(self._digest)
