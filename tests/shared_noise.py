"""Noise that two bandits can share, so that all they do can be compared."""

import random
from typing import Any

from dpbandits.mechanisms import CARRIED, LAPLACE, SecureNoise, release, reserve


class SharedNoise(SecureNoise):
    """Noise from a seed, for tests alone: the n-th noise of an arm is the same in every bandit with this seed.

    It counts the rewards that entered a sum: all others are never encoded.
    """

    def __init__(self, seed: int, grid_bits: int = 12) -> None:
        super().__init__(grid_bits)
        self.seed = seed
        self.arm = 0  # for which noise is drawn now
        self.generators: dict[int, random.Random] = {}
        self.encoded = 0

    def encode(self, reward: float) -> int:
        self.encoded += 1
        return super().encode(reward)

    def draw(self, scale: float, mechanism: int) -> int:
        assert mechanism == LAPLACE
        generator = self.generators.setdefault(self.arm, random.Random(f"{self.seed} {self.arm}"))  # noqa: S311
        size: float = generator.expovariate(1.0) * generator.choice([-1, 1])
        steps: int = round(size * scale * 2**self.grid_bits)
        return steps


@reserve.register(SharedNoise)
def _reserve_shared(noise: SharedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> int:
    noise.arm = arm
    return noise.draw(scale, mechanism)


@release.register(SharedNoise)
def _release_shared(noise: SharedNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    total = int(secret) if scale == CARRIED else int(secret) + _reserve_shared(noise, scale, mechanism, arm)
    return noise.publish(total)


class ConstantNoise(SecureNoise):
    """The same noise for every release, for tests alone: none, or so many steps of the grid."""

    def __init__(self, grid_bits: int = 12, steps: int = 0) -> None:
        super().__init__(grid_bits)
        self.steps = steps


@reserve.register(ConstantNoise)
def _reserve_constant(noise: ConstantNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> int:
    return noise.steps
