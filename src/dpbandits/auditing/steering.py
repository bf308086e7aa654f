"""Adversaries: they choose the noise, and send a policy where chance would hardly send it.

Any value of a noise has positive density, so a run with noise of somebody's choice is a run that can happen.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

_FAR = 1e4  # scales: far more than any difference of sums, and no rounding that hides a reward
_GOLDEN = 0.6180339887498949  # its multiples fill [0, 1) evenly, wherever one stops


class Draw(NamedTuple):
    """A noise as it was drawn, and the sum that it is for: its value, and of how many rewards (0 if it is reserved)."""

    noise: float
    scale: float
    arm: int
    total: float = 0.0
    plays: Callable[[], float] = float  # adds up a long form, for those who ask
    number: int = 0  # among all noises of the run


Steering = Callable[[Draw], float]  # what becomes of a noise
Adversary = Callable[
    [int, random.Random, int], Steering | None
]  # by the number of arms, its dice and the number of the run


def adversaries(arms: int) -> dict[str, Adversary]:
    """Return ways to choose the noise by name: by chance, none, and those that want to see something."""
    others: dict[str, Adversary] = {
        "usual": lambda arms, dice, number: None,
        "turns": lambda arms, dice, number: _turns(arms),
        "aimed": _aimed,
        "no noise": lambda arms, dice, number: lambda draw: 0.0,
        "wild": lambda arms, dice, number: lambda draw: draw.noise * 10 ** dice.uniform(-1, 3),
        "mixed": _mixed,
    }
    favourites = {f"for arm {arm + 1}": _favouring(arm) for arm in dict.fromkeys([0, 1, arms - 1]) if arm < arms}
    return favourites | others


def _favouring(favourite: int) -> Adversary:
    return lambda arms, dice, number: lambda draw: (_FAR if draw.arm == favourite else -_FAR) * draw.scale


def _turns(arms: int) -> Steering:
    """Prefer the arm that has had fewest releases."""
    released = [0] * arms

    def steer(draw: Draw) -> float:
        released[draw.arm] += 1
        return (_FAR if released[draw.arm] <= min(released) + 1 else -_FAR) * draw.scale

    return steer


def _aimed(arms: int, dice: random.Random, number: int) -> Steering:
    """Release means that are just so far from another arm's: evenly spread gaps over all runs, tiny ones, and none."""
    means: dict[int, float] = {}
    count = 61 * number

    def steer(draw: Draw) -> float:
        nonlocal count
        plays = draw.plays()
        if not plays:
            return draw.noise
        count += 1
        gap = dice.choice((count * _GOLDEN % 1.0, count * _GOLDEN % 1.0, 10 ** dice.uniform(-9, 0), 0.0))
        others = [mean for arm, mean in means.items() if arm != draw.arm]
        other = dice.choice(others) if others else dice.random()
        means[draw.arm] = other + gap if dice.random() < (0.5 if 0 <= other <= 1 else other < 0) else other - gap
        return means[draw.arm] * plays - draw.total

    return steer


def _mixed(arms: int, dice: random.Random, number: int) -> Steering:
    """Take another way at every release."""
    aimed = _aimed(arms, dice, number)
    ways: tuple[Steering, ...] = (
        aimed,
        lambda draw: draw.noise,
        lambda draw: 0.0,
        lambda draw: _FAR * draw.scale,
        lambda draw: -_FAR * draw.scale,
    )
    return lambda draw: dice.choice(ways)(draw)
