"""GivenNoise: noise that a learner and an oracle share, so that all they release can be compared. For tests alone."""

import random
from typing import Any

from dpbandits.mechanisms import LAPLACE, SecureNoise, reserve


class GivenNoise(SecureNoise):
    """The n-th noise of an arm is the same number of scales wherever it is drawn.

    Args:
        name: tells this noise from others.
        grid_bits: as in SecureNoise.
    """

    def __init__(self, name: str, grid_bits: int = 12) -> None:
        super().__init__(grid_bits)
        self._name = name
        self._drawn: dict[int, int] = {}  # by arm

    def noise(self, arm: int, number: int, scale: float) -> int:
        """Return the noise of release 0, 1, ... of an arm, in grid steps."""
        dice = random.Random(f"{self._name} {arm} {number}")  # noqa: S311
        return round(dice.choice([-1, 1]) * dice.expovariate(1.0) * scale * self._grid)


@reserve.register(GivenNoise)
def _reserve(noise: GivenNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Any:
    number = noise._drawn.get(arm, 0)
    noise._drawn[arm] = number + 1
    return noise.noise(arm, number, scale)
