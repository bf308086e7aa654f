"""The rewards of a run, hidden in secrets: one term for every reward, or for a whole block.

All rewards of a block enter a sum together and leave it together, so one term stands for all, whatever its length. In
long runs that go step by step, or have very many blocks, only some rewards are followed. The others share two terms,
for forms with a term for each would be long: how many they are, as reward number 0, and a random print of each, so that
two of them do not cancel.
"""

import math
import random

from dpbandits.mechanisms.linear import Secret

OTHERS = 0
EVERY, MANY, FEW = 0, 48, 8  # how many rewards of single steps are followed, besides the first and at powers of two
_BLOCKS = 64  # the first ones, which are all followed; of the later ones fewer and fewer are


class HiddenRewards:
    """Random rewards of arms that are more or less good, as secrets; or all of them 0, or 1 (`level`).

    `until` maps every term that is followed to the last reward that it means, and `totals` to the sum of its rewards.
    """

    def __init__(
        self, arms: int, steps: int, dice: random.Random, followed: int = EVERY, level: float | None = None
    ) -> None:
        self.until: dict[int, int] = {}
        self.totals: dict[int, float] = {}
        self._plays: dict[int, int] = {}
        self._dice = dice
        self._prints = random.Random(0)  # noqa: S311
        self._followed = followed
        self._every = max(1, steps // followed) if followed else 1
        self._blocks = 0
        self._offset = dice.randrange(self._every)
        middle, gap = dice.random(), 10 ** dice.uniform(-4, 0)
        self._levels = [min(max(middle + gap * dice.uniform(-1, 1), 0.0), 1.0) for _ in range(arms)]
        if level is not None:
            self._levels = [level] * arms

    def __call__(self, t: int, arm: int, plays: int) -> Secret:
        """Return the sum of the rewards of an arm over `plays` plays, from time t on."""
        level = self._levels[arm]
        if plays == 1:
            total = float(self._dice.random() < level)
            is_followed = self._is_followed(t)
        else:
            spread = math.sqrt(plays * level * (1 - level))
            total = float(round(min(max(self._dice.gauss(level * plays, spread), 0.0), plays)))
            self._blocks += 1
            is_followed = not self._followed or self._dice.random() * self._blocks <= _BLOCKS
        if not is_followed:
            return Secret(total, {("reward", OTHERS): plays, ("print", OTHERS): 1 + self._prints.getrandbits(61)})
        self.until[t], self.totals[t] = t + plays - 1, total
        self._plays[t] = plays
        return Secret(total, {("reward", t): 1})

    def plays_in(self, number: int) -> int:
        """Return how many rewards a term means."""
        return self._plays.get(number, 1)

    def changes(self, number: int) -> list[int]:
        """Return by how much one of the rewards of a term can change, from 0 to 1 or back."""
        total, plays = self.totals[number], self.plays_in(number)
        return [change for change, is_possible in ((1, total <= plays - 1), (-1, total >= 1)) if is_possible]

    def _is_followed(self, t: int) -> bool:
        if t % self._every == self._offset or t <= 4:
            return True
        return not t & (t - 1) or (self._followed == MANY and (not t & (t + 1) or not (t - 1) & (t - 2)))
