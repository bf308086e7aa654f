"""Categorical: rewards from a short list of values, such as the stars of a rating.

A block needs one binomial number per value, whatever its length.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._kernel import kernel
from dpbandits.environments.binomial import binomial
from dpbandits.environments.environment import Environment, block_sum, numbers, reward
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.draws import uniform


class Params(NamedTuple):
    """Constants of the kernels: cumulative probabilities, and a value's chance given that none before it came."""

    values: Any
    cumulative: Any
    conditional: Any


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    u = uniform(noise)
    last = len(params.values) - 1
    value = 0
    while value < last and u >= params.cumulative[arm, value]:
        value += 1
    return params.values[value]


@block_sum.register(Params)
@kernel
def _block_sum(params: Params, arm: int, plays: int, t: int, noise: Any) -> float:
    total = 0.0
    left = plays
    for value in range(len(params.values)):
        if left > 0 and params.conditional[arm, value] > 0.0:
            count = binomial(noise, left, params.conditional[arm, value])
            total += count * params.values[value]
            left -= count
    return total


class Categorical(Environment):
    """Arms that give one of the same few values, each with its own probabilities (a row per arm).

    Args:
        values: the rewards, in [0, 1], the same for all arms.
        probabilities: a row per arm that adds up to 1, with a column per value.

    >>> Categorical(values=[0, 0.5, 1], probabilities=[[0.2, 0.2, 0.6], [0.5, 0.5, 0]]).means
    array([0.7 , 0.25])
    """

    def __init__(self, values: ArrayLike, probabilities: ArrayLike) -> None:
        values = numbers("values", values, 0, 1)
        rows = numbers("probabilities", probabilities, 0, 1, dimensions=2)
        if rows.shape[1] != len(values):
            raise InvalidInput(f"Expected {len(values)} probabilities per arm, one per value, not {rows.shape[1]}.")
        totals = rows.sum(axis=1)
        wrong = np.abs(totals - 1) > 1e-9
        if wrong.any():
            raise InvalidInput(
                f"Expected the probabilities of arm {wrong.argmax()} to add up to 1, not {totals[wrong][0]}."
            )
        rows = rows / totals[:, None]
        super().__init__(np.clip(rows @ values, 0, 1), values=values, probabilities=rows)
        tails = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]  # the chance of a value or a later one
        conditional = np.divide(rows, tails, out=np.zeros_like(rows), where=tails > 0)
        conditional[np.arange(len(rows)), [int(np.flatnonzero(row)[-1]) for row in rows]] = 1.0  # despite rounding
        self._params = Params(values, np.cumsum(rows, axis=1), conditional)

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return self._params
