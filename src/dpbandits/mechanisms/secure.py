"""SecureNoise: exact noise for live use, from OpenDP, on a fixed integer grid.

Floating-point noise leaks through its low bits (Mironov 2012). So live rewards are integers 0..2^k, live sums are
exact integers, and the noise is an exact sample of the discrete Laplace or discrete Gaussian distribution over
the integers, drawn by OpenDP from its cryptographic generator. That generator takes no seed and reseeds itself in a
forked process (tested); the snapshot of a whole machine, restored twice, is beyond its reach. One reward moves a sum
by at most 2^k grid steps, so a scale of b rewards is b 2^k grid steps and the loss is 1/b as in the continuous case.
"""

import math
import numbers
import random
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, release, reserve, validated_mechanism
from dpbandits.mechanisms.response import truthful_chance
from dpbandits.privacy import DiscreteGaussianEvent, DiscreteLaplaceEvent, Event, RandomizedResponseEvent, rho_of
from dpbandits.privacy.rounding import ratio_up

# A sum stays below 2^61 and noise of a scale up to 2^53 below 2^62 (it exceeds that with probability e^-512), so
# that no 64-bit integer saturates.
_LARGEST_SUM = 2**61
_LARGEST_SCALE = 2.0**53
_MOST_KEPT = 1000  # mechanisms, by scale, so that they are not built anew for every draw


class SecureNoise:
    """The noise source of live use.

    Args:
        grid_bits: rewards are rounded to multiples of 2^-grid_bits.
        seed: refused. A seed would let anyone who learns it remove the noise.

    >>> SecureNoise(grid_bits=12).encode(0.5)
    2048
    >>> SecureNoise(seed=7)
    Traceback (most recent call last):
    dpbandits.errors.InvalidInput: Expected seed=7 to be absent: live noise takes no seed, SeededNoise does.
    """

    def __init__(self, grid_bits: int = 12, seed: None = None) -> None:
        if seed is not None:
            raise InvalidInput(f"Expected seed={seed} to be absent: live noise takes no seed, SeededNoise does.")
        self.grid_bits = _validate.integer("[0, 30]", grid_bits=grid_bits)
        self._grid: int = 2**self.grid_bits
        self._random = random.SystemRandom()
        self._mechanisms: dict[tuple[float, int], tuple[Any, Event]] = {}

    @property
    def secret_dtype(self) -> DTypeLike:
        """Secret sums are integers, in grid steps."""
        return np.int64

    @property
    def capacity(self) -> int:
        """How many rewards one sum can hold exactly."""
        return _LARGEST_SUM // self._grid

    @property
    def largest_scale(self) -> float:
        """Beyond this, noise would not fit into 64 bits together with a sum."""
        return _LARGEST_SCALE / self._grid

    @property
    def rounding(self) -> float:
        """Half a grid step."""
        return 0.5 / self._grid

    @property
    def is_exact(self) -> bool:
        """Exact samples of the discrete distribution, without a seed."""
        return True

    def encode(self, reward: float) -> int:
        """Return a reward from [0, 1] in grid steps, rounded to the nearest."""
        return self.on_grid(reward)

    def on_grid(self, reward: float) -> int:
        """Return what everybody knows, such as the reward that stands for a missing one, in grid steps."""
        return round(_validate.real("[0, 1]", reward=reward) * self._grid)

    def event(self, scale: float, mechanism: int = LAPLACE) -> Event:
        """Return the discrete mechanism that a release with this scale is, with the scale really used."""
        return self._mechanism(scale, mechanism)[1]

    def draw(self, scale: float, mechanism: int) -> int:
        """Return noise in grid steps."""
        if mechanism == RESPONSE:
            raise InvalidInput("Expected mechanism=RESPONSE to be released with its reward: it adds no noise.")
        measurement, _ = self._mechanism(scale, mechanism)
        return int(measurement(0))

    def respond(self, secret: int, scale: float) -> float:
        """Return one randomised bit of a reward in grid steps."""
        measurement, _ = self._mechanism(scale, RESPONSE)
        # A reward between 0 and 1 is first made a bit that is 1 with just that probability.
        return float(measurement(self._random.randrange(self._grid) < secret))

    def publish(self, noisy: int) -> float:
        """Return a noisy sum in units of one reward: a power of two divides it, exactly below 2^53 steps."""
        return noisy / self._grid

    def _mechanism(self, scale: float, mechanism: int) -> tuple[Any, Event]:
        scale = _validate.real(f"(0, {self.largest_scale}]", scale=scale)
        key = (scale, validated_mechanism(mechanism))
        mechanism_and_event = self._mechanisms.get(key)
        if mechanism_and_event is None:
            build = {LAPLACE: self._laplace, GAUSSIAN: self._gaussian, RESPONSE: self._response}[mechanism]
            mechanism_and_event = build(scale)
            if len(self._mechanisms) >= _MOST_KEPT:
                self._mechanisms.clear()
            self._mechanisms[key] = mechanism_and_event
        return mechanism_and_event  # not what is kept now, which another thread may have cleared

    def _laplace(self, scale: float) -> tuple[Any, Event]:
        dp = _opendp()
        steps = scale * self._grid  # exact: the grid is a power of two
        allowed = ratio_up(1, scale)
        while True:
            measurement = _integers() >> dp.m.then_laplace(scale=steps)
            if measurement.map(self._grid) <= allowed:
                return measurement, DiscreteLaplaceEvent(steps, self._grid)
            steps = math.nextafter(steps, math.inf)

    def _gaussian(self, scale: float) -> tuple[Any, Event]:
        dp = _opendp()
        steps = scale * self._grid
        event = DiscreteGaussianEvent(steps, self._grid)
        measurement = _integers() >> dp.m.then_gaussian(scale=steps)
        if measurement.map(self._grid) > rho_of(event):
            raise RuntimeError(f"OpenDP's privacy map for sigma={steps} is above the accountant's figure.")
        return measurement, event

    def _response(self, scale: float) -> tuple[Any, Event]:
        allowed = ratio_up(1, scale)
        keep = truthful_chance(allowed)
        while True:
            measurement = _opendp().m.make_randomized_response_bool(prob=keep)
            if measurement.map(1) <= allowed:
                return measurement, RandomizedResponseEvent(allowed)
            keep = math.nextafter(keep, 0.5)


def _integers() -> Any:
    # T="i64": OpenDP's default of 32 bits would saturate.
    dp = _opendp()
    return dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@release.register(SecureNoise)
def _release(noise: SecureNoise, secret: int, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if not isinstance(secret, numbers.Integral):
        raise TypeError("A live secret is an integer in grid steps: encode rewards first.")
    if mechanism == RESPONSE:
        return noise.respond(int(secret), scale)
    if scale == CARRIED:
        return noise.publish(int(secret))
    return noise.publish(int(secret) + noise.draw(scale, mechanism))


@reserve.register(SecureNoise)
def _reserve(noise: SecureNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> int:
    return noise.draw(scale, mechanism)


@uniform.register(SecureNoise)
def _uniform(noise: SecureNoise) -> float:
    return noise._random.random()


@normal.register(SecureNoise)
def _normal(noise: SecureNoise) -> float:
    return noise._random.normalvariate()


@beta.register(SecureNoise)
def _beta(noise: SecureNoise, a: float, b: float) -> float:
    return noise._random.betavariate(a, b)
