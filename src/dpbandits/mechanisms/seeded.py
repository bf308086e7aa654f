"""SeededNoise: reproducible noise for simulation, in plain Python and compiled. Never for live use.

Continuous noise in float64, drawn from a NumPy generator. The same seed gives the same numbers, bit for bit, in
both worlds. Its kernels trust their scales, as compiled code must.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, release, reserve, validated_mechanism
from dpbandits.mechanisms.response import response_chance
from dpbandits.privacy import Event, GaussianEvent, LaplaceEvent, RandomizedResponseEvent
from dpbandits.privacy.rounding import ratio_up


class _Fields(NamedTuple):
    generator: np.random.Generator


class SeededNoise(_Fields):
    """A noise source that repeats itself: the same seed, the same noise. A NamedTuple, so that kernels compile.

    Args:
        seed: a whole number, a NumPy SeedSequence, or a NumPy generator that is already seeded.

    >>> release(SeededNoise(7), 10.0, scale=2.0)
    9.706
    """

    __slots__ = ()

    def __new__(cls, seed: int | np.random.SeedSequence | np.random.Generator) -> "SeededNoise":
        """Make a source from a seed, or from a generator that is already seeded."""
        if isinstance(seed, np.random.Generator):
            return super().__new__(cls, seed)
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(_validate.integer("[0, inf)", seed=seed))
        return super().__new__(cls, np.random.Generator(np.random.SFC64(seed)))

    @property
    def secret_dtype(self) -> DTypeLike:
        """Secret sums are floats."""
        return np.float64

    @property
    def capacity(self) -> int:
        """Floats count exactly up to 2^53."""
        return 2**53

    @property
    def largest_scale(self) -> float:
        """Beyond this the square of a noise overflows."""
        return 1e150

    @property
    def rounding(self) -> float:
        """Rewards are taken as they are."""
        return 0.0

    @property
    def is_exact(self) -> bool:
        """Floating-point noise from a known seed protects nobody."""
        return False

    def encode(self, reward: float) -> float:
        """Return the reward as it is."""
        return float(reward)

    def event(self, scale: float, mechanism: int = LAPLACE) -> Event:
        """Return the continuous mechanism that a release with this scale is."""
        validated_mechanism(mechanism)
        if mechanism == GAUSSIAN:
            return GaussianEvent(sigma=scale)
        if mechanism == RESPONSE:
            return RandomizedResponseEvent(epsilon=ratio_up(1, scale))
        return LaplaceEvent(scale=scale)


@reserve.register(SeededNoise)
@kernel
def _reserve(noise: SeededNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if mechanism == GAUSSIAN:
        return scale * noise.generator.standard_normal()
    # A random sign on an exponential is cheaper, compiled, than Generator.laplace (benchmarks/results.md).
    size = scale * noise.generator.standard_exponential()
    return size if noise.generator.random() < 0.5 else -size


@release.register(SeededNoise)
@kernel
def _release(noise: SeededNoise, secret: float, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if mechanism == RESPONSE:
        return 1.0 if noise.generator.random() < response_chance(secret, scale) else 0.0
    if scale == CARRIED:
        return secret
    return secret + _reserve(noise, scale, mechanism)


@uniform.register(SeededNoise)
@kernel
def _uniform(noise: SeededNoise) -> float:
    return noise.generator.random()


@normal.register(SeededNoise)
@kernel
def _normal(noise: SeededNoise) -> float:
    return noise.generator.standard_normal()


@beta.register(SeededNoise)
@kernel
def _beta(noise: SeededNoise, a: float, b: float) -> float:
    return noise.generator.beta(a, b)
