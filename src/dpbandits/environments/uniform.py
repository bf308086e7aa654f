"""Uniform: rewards spread evenly between two numbers."""

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from dpbandits._kernel import kernel
from dpbandits.environments.environment import Environment, block_sum, numbers, one_by_one, reward, same_length
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.draws import uniform


class Params(NamedTuple):
    """Constants of the kernels."""

    low: Any
    span: Any


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    return params.low[arm] + params.span[arm] * uniform(noise)


block_sum.register(Params)(one_by_one)


class Uniform(Environment):
    """Arms with rewards spread evenly over [low, high].

    Args:
        low, high: the ends, one of each per arm, in [0, 1].

    >>> Uniform(low=[0.2, 0.0], high=[0.8, 0.6]).means
    array([0.5, 0.3])
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        low, high = numbers("low", low, 0, 1), numbers("high", high, 0, 1)
        same_length(low=low, high=high)
        if (low > high).any():
            arm = int((low > high).argmax())
            raise InvalidInput(f"Expected low={low[arm]} of arm {arm} in [0, {high[arm]}], up to its high.")
        super().__init__((low + high) / 2, low=low, high=high)
        self._params = Params(low, high - low)

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return self._params
