"""Environment: arms with rewards in [0, 1], and two kernels over its Params.

    reward(params, arm, t, noise)                   -> the reward of playing `arm` at time t = 1, 2, ...
    block_sum(params, arm, plays, t, noise)         -> the sum of the rewards of `plays` plays in a row from time t on

Environments are for simulation: they know the true means, and regret is counted in them (pseudo-regret).
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._kernel import generic, kernel
from dpbandits.errors import InvalidInput


@generic
def reward(params: Any, arm: int, t: int, noise: Any) -> float:
    """Return the reward of playing `arm` at time t, in [0, 1]."""
    raise TypeError(f"{type(params).__name__} belongs to no environment: nothing is registered with `reward`.")


@generic
def block_sum(params: Any, arm: int, plays: int, t: int, noise: Any) -> float:
    """Return the sum of the rewards of playing `arm` at times t, t + 1, ..., with exactly its distribution."""
    raise TypeError(f"{type(params).__name__} belongs to no environment: nothing is registered with `block_sum`.")


@kernel
def one_by_one(params: Any, arm: int, plays: int, t: int, noise: Any) -> float:
    """Draw every reward of a block: for environments whose sums have no simple distribution."""
    total = 0.0
    for i in range(plays):
        total += reward(params, arm, t + i, noise)
    return total


class Environment(ABC):
    """Arms with rewards in [0, 1]: validated when it is made, never changed afterwards.

    Args:
        means: the expected reward of every arm.
        description: what its `repr` names: arrays or texts by name.
    """

    longest: int | None = None  # the last time that there are rewards for, if there is one

    def __init__(self, means: ArrayLike, /, **description: NDArray[np.float64] | str) -> None:
        self._means = numbers("means", means, 0, 1)
        self._description = description

    @property
    def means(self) -> NDArray[np.float64]:
        """The expected reward of every arm."""
        return self._means

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self._means)

    @property
    def gaps(self) -> NDArray[np.float64]:
        """How much less than the best arm every arm gives on average."""
        return np.asarray(self._means.max() - self._means)

    def check_horizon(self, horizon: int) -> None:
        """Refuse runs that are longer than there are rewards."""
        if self.longest is not None and horizon > self.longest:
            raise InvalidInput(f"Expected horizon={horizon} in [1, {self.longest}], for which there are rewards.")

    @abstractmethod
    def configure(self) -> Any:
        """Return the Params of the kernels."""

    def __repr__(self) -> str:
        texts = (
            f"{name}={value if isinstance(value, str) else _short(value)}" for name, value in self._description.items()
        )
        return f"{type(self).__name__}({', '.join(texts)})"


def _short(array: NDArray[np.float64]) -> str:
    return str(array.tolist()) if array.size <= 100 else f"<{' x '.join(map(str, array.shape))} numbers>"


def numbers(name: str, values: ArrayLike, low: float, high: float, *, dimensions: int = 1) -> NDArray[np.float64]:
    """Return numbers from [low, high] as an array that cannot be changed."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"Expected {name}={values!r} to be numbers in [{low}, {high}].") from None
    if array.ndim != dimensions or array.size == 0:
        shape = "a list" if dimensions == 1 else "a table"
        raise InvalidInput(f"Expected {name} to be {shape} of numbers, not something of shape {array.shape}.")
    outside = ~((array >= low) & (array <= high))  # NaN is inside nothing
    if outside.any():
        raise InvalidInput(f"Expected {name}={array[outside][0]} in [{low}, {high}].")
    array.flags.writeable = False
    return array


def same_length(**named: NDArray[np.float64]) -> None:
    """Refuse lists that do not describe the same number of arms."""
    if len({len(array) for array in named.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(array)}" for name, array in named.items())
        raise InvalidInput(f"Expected one number per arm in each list, but {lengths}.")
