"""Spent: how much of the budget the releases so far have used, for the worst-placed reward."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpbandits.live.configuration import Terms
from dpbandits.policies import Block
from dpbandits.privacy import zcdp_epsilon
from dpbandits.privacy.rounding import above, ratio_up, sum_up


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


def spent_on(blocks: Sequence[Block], terms: Terms, contributions: int) -> Spent:
    """Return the loss after these releases of one arm."""
    losses = worst_losses(blocks)
    epsilon = sum_up(losses)
    delta = terms.one_reward.delta
    if delta > 0 and losses:
        epsilon = min(epsilon, zcdp_epsilon(above(sum_up(loss**2 for loss in losses) / 2), delta))
    return Spent(min(epsilon * contributions, terms.person.epsilon), terms.person.delta, terms.person.epsilon)


def worst_losses(blocks: Sequence[Block]) -> list[float]:
    """Return the losses of the reward that loses most: one per release that it is in."""
    losses = [ratio_up(1, block.scale) for block in blocks]
    if blocks and blocks[-1].first > 1:  # every release is of its own block alone
        return [max(losses)]
    return losses
