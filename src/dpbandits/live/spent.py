"""Spent: how much of the budget the releases so far have used, for the worst-placed reward."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpbandits.policies import Block
from dpbandits.privacy import Guarantee, zcdp_epsilon
from dpbandits.privacy.rounding import ratio_up, sum_up


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


def spent_on(blocks: Sequence[Block], reward: Guarantee, person: Guarantee, contributions: int) -> Spent:
    """Return the loss after these releases of one arm, under the guarantees for one reward and for one person."""
    losses = worst_losses(blocks)
    epsilon = sum_up(losses)
    if person.delta > 0 and losses:
        epsilon = min(epsilon, zcdp_epsilon(sum_up(loss**2 for loss in losses) / 2, reward.delta))
    return Spent(min(epsilon * contributions, person.epsilon), person.delta, person.epsilon)


def worst_losses(blocks: Sequence[Block]) -> list[float]:
    """Return the losses of the reward that loses most: one per release that it is in.

    A release is either of its own block alone or of all rewards so far.
    """
    worst: list[float] = []
    later: list[float] = []  # of releases that hold all rewards before
    highest = total = 0.0
    for block in reversed(blocks):
        loss = ratio_up(1, block.scale)
        if total + loss > highest:
            highest, worst = total + loss, [loss, *later]
        if block.first == 1:
            later.append(loss)
            total += loss
    return worst
