"""Noise sources that look over a policy's shoulder: what it released, and how likely that was with given rewards.

`WatchedNoise` plays as usual and writes down every released value. `ForcedNoise` plays the same run again: every
release gives the value that was written down, whatever the rewards are now, and adds up how likely it was with these.
So the likelihood ratio of two reward sequences is a function of what was released and played, and of nothing else.
"""

import math
from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, release, reserve

# What is counted, by its place in `seen`.
RELEASES = 0
EXPECTED = 1  # releases that were written down
DRAWS = 2  # random numbers that protect nobody: with them a choice need not follow from the releases
DIFFERENT = 3  # choices that the policy would not make with these rewards
IMPOSSIBLE = 4  # what was written down cannot come from these rewards
SEEN = 5
# Numbers, by their place in `known`.
DENSITY = 0  # log
PENDING = 1  # the scale of a reserved noise that has not left yet
PENDING_MECHANISM = 2
CARRIED_NOISE = 3  # the last reserved noise that left
KNOWN = 4


class WatchedNoise(NamedTuple):
    """Another source, whose releases are written down."""

    source: Any
    values: Any
    seen: Any


class ForcedNoise(NamedTuple):
    """The releases that were written down, once more. It draws nothing."""

    values: Any
    seen: Any
    known: Any


@release.register(WatchedNoise)
@kernel
def _release(noise: WatchedNoise, secret: float, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    value = release(noise.source, secret, scale, mechanism, arm)
    place = noise.seen[RELEASES]
    if place < len(noise.values):
        noise.values[place] = value
    noise.seen[RELEASES] = place + 1
    return value


@reserve.register(WatchedNoise)
@kernel
def _reserve(noise: WatchedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return reserve(noise.source, scale, mechanism, arm)


@uniform.register(WatchedNoise)
@kernel
def _uniform(noise: WatchedNoise) -> float:
    return uniform(noise.source)


@normal.register(WatchedNoise)
@kernel
def _normal(noise: WatchedNoise) -> float:
    return normal(noise.source)


@beta.register(WatchedNoise)
@kernel
def _beta(noise: WatchedNoise, a: float, b: float) -> float:
    return beta(noise.source, a, b)


@kernel
def log_density(value: float, secret: float, scale: float, mechanism: int) -> float:
    """Return the log density of a release, up to a constant of the mechanism."""
    if mechanism == RESPONSE:
        keep = 1.0 / (1.0 + math.exp(-1.0 / scale))
        chance = secret * keep + (1.0 - secret) * (1.0 - keep)
        return math.log(chance if value > 0.5 else 1.0 - chance)
    shift = abs(value - secret) / scale
    return (-0.5 * shift * shift if mechanism == GAUSSIAN else -shift) - math.log(scale)


@release.register(ForcedNoise)
@kernel
def _forced(noise: ForcedNoise, secret: float, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    place = noise.seen[RELEASES]
    noise.seen[RELEASES] = place + 1
    if place >= noise.seen[EXPECTED]:
        noise.seen[IMPOSSIBLE] = 1
        return secret
    value = noise.values[place]
    if scale != CARRIED:
        noise.known[DENSITY] += log_density(value, secret, scale, mechanism)
    elif noise.known[PENDING] > 0.0:  # a reserved noise counts when it leaves for the first time
        noise.known[DENSITY] += log_density(value, secret, noise.known[PENDING], int(noise.known[PENDING_MECHANISM]))
        noise.known[CARRIED_NOISE] = value - secret
        noise.known[PENDING] = 0.0
    elif abs(value - secret - noise.known[CARRIED_NOISE]) > 1e-9 * (1.0 + abs(value)):
        noise.seen[IMPOSSIBLE] = 1
    return value


@kernel
def score(own: ForcedNoise, other: ForcedNoise) -> float:
    """Return ln of the likelihood ratio of two forced runs. What is impossible with both is not understood here: 0.

    A run with another number of releases is impossible, and so is one with another choice, if neither run drew random
    numbers that a choice could come from.
    """
    draws = own.seen[DRAWS] + other.seen[DRAWS]
    one, two = likelihood(own, draws), likelihood(other, draws)
    return 0.0 if one == two else one - two


@kernel
def likelihood(noise: ForcedNoise, draws: int) -> float:
    """Return the log density that a forced run has added up; -inf if it is impossible."""
    is_different = noise.seen[DIFFERENT] != 0 and draws == 0
    if noise.seen[IMPOSSIBLE] != 0 or noise.seen[RELEASES] != noise.seen[EXPECTED] or is_different:
        return -math.inf
    return noise.known[DENSITY]


@reserve.register(ForcedNoise)
@kernel
def _reserved(noise: ForcedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    noise.known[PENDING] = scale
    noise.known[PENDING_MECHANISM] = mechanism
    return 0.0


@uniform.register(ForcedNoise)
@kernel
def _middle(noise: ForcedNoise) -> float:
    noise.seen[DRAWS] += 1
    return 0.5


@normal.register(ForcedNoise)
@kernel
def _zero(noise: ForcedNoise) -> float:
    noise.seen[DRAWS] += 1
    return 0.0


@beta.register(ForcedNoise)
@kernel
def _mean(noise: ForcedNoise, a: float, b: float) -> float:
    noise.seen[DRAWS] += 1
    return a / (a + b)
