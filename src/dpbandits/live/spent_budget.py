"""Spent: how much of the budget the releases so far have used, for the worst-placed reward."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbandits.live.configuration import Terms
from dpbandits.live.schedule_cost import composed_cost


@dataclass(frozen=True)
class Spent:
    """The largest loss of any one reward so far (of any one person, if they give several).

    With delta = 0 it is exact. Otherwise it shows progress and is no guarantee of its own: that holds for the whole
    schedule, and when to look was not fixed in advance.
    """

    epsilon: float
    delta: float
    budget: float

    def __str__(self) -> str:
        if self.delta == 0:
            return f"{self.epsilon:.4g} of {self.budget:.4g} spent"
        return f"about {self.epsilon:.4g} of {self.budget:.4g} spent, at delta {self.delta:.3g}"


def worst_scales(steps: Sequence[Sequence[float]], is_cumulative: bool) -> Sequence[float]:
    """Return the scales of the releases that the reward that has lost most is in, of the releases of every arm."""
    if is_cumulative:
        return max(steps, key=lambda scales: math.fsum(1 / scale for scale in scales))
    return [min(scale for scales in steps for scale in scales)] if any(steps) else []


def spent_on(steps: Sequence[float], terms: Terms, contributions: int, grid: int) -> Spent:
    """Return the loss of a reward that is in releases with these scales, in steps of the grid.

    They are composed as they are: nothing is taken from what was promised.
    """
    one_reward = composed_cost(tuple(steps), terms.one_reward.delta, grid).epsilon if steps else 0.0
    return Spent(one_reward * contributions, terms.person.delta, terms.person.epsilon)
