"""Script: rewards that are given in advance."""

import hashlib
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


class Script:
    """Rewards that are given in advance, one per time. Scripts with the same rewards are the same script."""

    def __init__(self, rewards: Iterable[float]) -> None:
        self.rewards = np.fromiter(rewards, dtype=np.float64)
        self._digest = hashlib.sha256(self.rewards.tobytes()).digest()

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The sums of the first 0, 1, 2, ... rewards."""
        return np.concatenate([[0.0], np.cumsum(self.rewards)])

    @property
    def key(self) -> int:
        """A number for its seeds."""
        return int.from_bytes(self._digest[:16])

    def __len__(self) -> int:
        return len(self.rewards)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Script) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)
