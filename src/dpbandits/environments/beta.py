"""Beta: rewards anywhere in [0, 1], with the shape of a Beta distribution."""

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from dpbandits._kernel import kernel
from dpbandits.environments.environment import Environment, block_sum, numbers, one_by_one, reward, same_length
from dpbandits.mechanisms.draws import beta


class Params(NamedTuple):
    """Constants of the kernels."""

    a: Any
    b: Any


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    return beta(noise, params.a[arm], params.b[arm])


block_sum.register(Params)(one_by_one)


class Beta(Environment):
    """Arms with Beta(a, b) rewards, whose mean is a / (a + b).

    Args:
        a, b: the shapes, one of each per arm, in [0.001, 1000000].

    >>> Beta(a=[9, 6], b=[1, 4]).means
    array([0.9, 0.6])
    """

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        a, b = numbers("a", a, 1e-3, 1e6), numbers("b", b, 1e-3, 1e6)
        same_length(a=a, b=b)
        super().__init__(a / (a + b), a=a, b=b)
        self._params = Params(a, b)

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return self._params
