"""Subject: a policy under test, and how it is played."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpbandits.engine.game import Game
from dpbandits.errors import BrokenContract
from dpbandits.mechanisms import SeededNoise
from dpbandits.policies.policy import Policy


class Subject(NamedTuple):
    """A policy, and with how many arms and for how long it is tested."""

    policy: Policy
    arms: int
    horizon: int
    seed: int = 0

    @property
    def means(self) -> list[float]:
        """The mean reward of every arm: 0.3, 0.7 and between; the best one is in the middle."""
        spread = np.linspace(0.3, 0.7, self.arms)
        return [*spread[0::2].tolist(), *spread[1::2][::-1].tolist()]

    @property
    def beyond(self) -> int:
        """A time after the horizon: somebody plays on."""
        return self.horizon + 40

    def rewards(self) -> Callable[[int, int], float]:
        """Return rewards of 0 and 1 that depend on time and arm alone."""
        table = np.random.default_rng(self.seed).random((self.beyond + 1, self.arms)) < self.means
        return lambda t, arm: float(table[t, arm])

    def game(self) -> Game:
        """Return the policy at play in plain Python, with seeded noise."""
        return Game(self.policy, self.arms, self.horizon, SeededNoise(self.seed + 1))

    def broken(self, wrong: str) -> BrokenContract:
        """Return the error that says so."""
        return BrokenContract(f"{self.policy.name} with {self.arms} arms and horizon {self.horizon}: {wrong}.")

    def expect(self, is_right: bool, wrong: str) -> None:
        """Raise BrokenContract, with this sentence, unless it is right."""
        if not is_right:
            raise self.broken(wrong)
