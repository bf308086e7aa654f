"""Replay: rewards that were really observed, from a table with a row per time or person and a column per arm."""

from typing import Any, Literal, NamedTuple, get_args

from numpy.typing import ArrayLike

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.environments.environment import Environment, block_sum, numbers, one_by_one, reward
from dpbandits.mechanisms.draws import uniform

ReplayOrder = Literal["random", "given"]
REPLAY_ORDERS: tuple[ReplayOrder, ...] = get_args(ReplayOrder)


class Params(NamedTuple):
    """Constants of the kernels."""

    table: Any
    is_random: bool


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    rows = len(params.table)
    row = int(uniform(noise) * rows) if params.is_random else (t - 1) % rows
    return params.table[row, arm]


block_sum.register(Params)(one_by_one)


class Replay(Environment):
    """Arms that repeat a table of real rewards, a row per time and a column per arm.

    Args:
        table: rewards in [0, 1]. Regret is counted in the means of its columns.
        order: "random" draws a row for every play, with replacement, so that runs differ; "given" takes the rows as
            they are, one per time, and begins again after the last.

    >>> Replay([[1, 0], [1, 1], [0, 0]]).means
    array([0.6667, 0.3333])
    """

    def __init__(self, table: ArrayLike, order: ReplayOrder = "random") -> None:
        table = numbers("table", table, 0, 1, dimensions=2)
        _validate.one_of(REPLAY_ORDERS, order=order)
        super().__init__(table.mean(axis=0), table=table, order=repr(order))
        self._params = Params(table, order == "random")

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return self._params
