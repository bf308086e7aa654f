"""Game: a policy played in plain Python, one decision after the other, with rewards and noise of any kind."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.state import allocate
from dpbandits.policies import Policy, hold, select, update

# How many of the plays that `hold` allows are made between two decisions.
CUTS: dict[str, Callable[[int, random.Random], int]] = {
    "step": lambda longest, dice: 1,
    "blocks": lambda longest, dice: longest,
    "cut blocks": lambda longest, dice: dice.randint(1, longest),
}


@dataclass
class Game:
    """A policy at play: its constants, its state, and the arms so far."""

    policy: Policy
    arms: int
    horizon: int
    noise: Any
    secret_dtype: Any = np.float64
    t: int = 1
    actions: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int, int]] = field(default_factory=list)  # t, arm, plays

    def __post_init__(self) -> None:
        self.params, state_class, sizes = self.policy.configure(self.arms, self.horizon)
        self.state = allocate(state_class, sizes, self.secret_dtype)

    def play(self, reward: Callable[[int, int], Any], until: int, cut: str = "step", seed: int = 0) -> "Game":
        """Play up to and including step `until`; `reward(t, arm)` is the reward of one play."""

        def total(t: int, arm: int, plays: int) -> Any:
            return sum((reward(later, arm) for later in range(t + 1, t + plays)), start=reward(t, arm))

        return self.play_blocks(total, until, cut, seed)

    def play_blocks(
        self, total: Callable[[int, int, int], Any], until: int, cut: str, seed: int = 0, decisions: float = math.inf
    ) -> "Game":
        """Play up to step `until`, or so many decisions; `total(t, arm, plays)` is the sum of a block from t on."""
        dice = random.Random(seed)  # noqa: S311
        while self.t <= until and len(self.blocks) < decisions:
            arm = int(select(self.params, self.state, self.t))
            if not 0 <= arm < self.arms:
                raise InvalidInput(f"Expected `select` of {self.policy.name} to return an arm in [0, {self.arms - 1}].")
            longest = min(int(hold(self.params, self.state, arm, self.t)), until - self.t + 1)
            if longest < 1:
                raise InvalidInput(f"Expected `hold` of {self.policy.name} to return at least 1.")
            plays = CUTS[cut](longest, dice)
            reward = total(self.t, arm, plays)
            self.blocks.append((self.t, arm, plays))
            self.actions += [arm] * plays
            self.t += plays
            update(self.params, self.state, arm, plays, reward, self.t, self.noise)
        return self
