"""The rewards of a run, hidden in secrets: one for every reward, or a few for a whole block.

All rewards between the first and the last of a block enter a sum together and leave it together, so one of them stands
for all: a block of any length has three terms. In long runs that go step by step, or have very many blocks, only some
rewards are followed, and the others share a term, number 0, which nobody adds up.
"""

import math
import random

from dpbandits.auditing.secret import Secret

OTHERS = 0
EVERY, MANY, FEW = 0, 48, 8  # how many rewards of single steps are followed, besides the first and at powers of two
_BLOCKS = 64  # so many are all followed, and of the later ones fewer and fewer


class Hidden:
    """Random rewards of arms that are more or less good, as secrets. `until` maps a term to the last that it means."""

    def __init__(self, arms: int, steps: int, dice: random.Random, followed: int = EVERY) -> None:
        self.until: dict[int, int] = {}
        self._dice = dice
        self._followed = followed
        self._every = max(1, steps // followed) if followed else 1
        self._blocks = 0
        self._offset = dice.randrange(self._every)
        level, gap = dice.random(), 10 ** dice.uniform(-4, 0)
        self._levels = [min(max(level + gap * dice.uniform(-1, 1), 0.0), 1.0) for _ in range(arms)]

    def __call__(self, t: int, arm: int, plays: int) -> Secret:
        """Return the sum of so many rewards of an arm, from time t on."""
        if plays == 1:
            value = float(self._dice.random() < self._levels[arm])
            number = t if self._is_followed(t) else OTHERS
            return Secret(value, {("reward", number): 1})
        level = self._levels[arm]
        spread = math.sqrt(plays * level * (1 - level))
        value = float(round(min(max(self._dice.gauss(level * plays, spread), 0.0), plays)))
        last = t + plays - 1
        numbers: tuple[int, ...] | range = range(t, last + 1)
        if self._followed and plays > 3:
            self._blocks += 1
            if self._dice.random() * self._blocks > _BLOCKS:
                return Secret(value, {("reward", OTHERS): plays})
            numbers = (t, t + 1, last)
            self.until[t + 1] = last - 1
        return Secret(value, {("reward", number): 1 for number in numbers})

    def plays_in(self, number: int) -> int:
        """Return how many rewards a term means."""
        return self.until.get(number, number) - number + 1

    def _is_followed(self, t: int) -> bool:
        if t % self._every == self._offset or t <= 4:
            return True
        return not t & (t - 1) or (self._followed == MANY and (not t & (t + 1) or not (t - 1) & (t - 2)))
