"""Noise sources that look over a policy's shoulder: what it released, and what that says about given rewards.

`WatchedNoise` plays as usual and writes down every released value. `ForcedNoise` plays the same run again: every
release gives the value that was written down, whatever the rewards are now, and adds up how likely it was with these.
So what is said about two reward sequences is a function of what was released and played, and of nothing else.

A reserved noise may be in several releases. Which ones, a run with marks tells: `reserve` gives a small number instead
of zero, and by how much a secret then differs is what is in it. Three cases are understood, and exact: a noise that
leaves alone, one that is added to what an earlier release had, and the same noise once more. Whose noise it is, and of
which arm, is not asked.
"""

import math
from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.forwarding import forward_draws
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, release, reserve
from dpbandits.mechanisms.response import response_chance

# What is counted, by its place in `counters`.
RELEASES = 0
EXPECTED = 1  # releases that were written down
DRAWS = 2  # random numbers that protect nobody: with them a choice need not follow from the releases
DIFFERENT = 3  # choices that the policy would not make with these rewards
IMPOSSIBLE = 4  # what was written down cannot come from these rewards
RESERVED = 5
IN_A_ROW = 6  # reserved noises since the last release
UNKNOWN = 7  # releases with reserved noise that is not understood: they have no density here
PENDING = 8  # reserved noises that have not left alone yet
MODE = 9
REPEATED = 10  # decisions
COUNTERS = 11
# What a forced run does, in this order. Without reserved noise the first weighs, and is all there is to do.
PLAIN, MARKED, WEIGHED = range(3)
# Numbers, by their place in `measures`.
DENSITY = 0  # log
SQUARES = 1  # of the noises it takes, in their scales
LARGEST = 2  # of them
CLOSEST = 3  # one over the smallest
SCALE = 4  # the last
_FIRST = 5  # of the pending noises: mark, scale, mechanism of each, and what it was given as
_EACH = 4
_MOST = 8
MEASURES = _FIRST + _EACH * _MOST
_BACK = 64  # releases among which an earlier one with the same noise is looked for
_PATIENCE = 8
_SAME = 1e-11


@forward_draws
class WatchedNoise(NamedTuple):
    """Another source, whose releases are written down."""

    source: Any
    values: Any
    counters: Any


class ForcedNoise(NamedTuple):
    """The releases that were written down, once more. It draws nothing.

    `marks` is what a release has of the marks, the same for both rewards, and `noises` what its noise would have been.
    """

    values: Any
    marks: Any
    noises: Any
    counters: Any
    measures: Any


@release.register(WatchedNoise)
@kernel
def _release(noise: WatchedNoise, secret: float, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    value = release(noise.source, secret, scale, mechanism, arm)
    place = noise.counters[RELEASES]
    if place < len(noise.values):
        noise.values[place] = value
    noise.counters[RELEASES] = place + 1
    return value


@reserve.register(WatchedNoise)
@kernel
def _reserve(noise: WatchedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return reserve(noise.source, scale, mechanism, arm)


@kernel
def log_density(value: float, secret: float, scale: float, mechanism: int) -> float:
    """Return the log density of a release, up to a constant of the mechanism; NaN if the scale is none."""
    if not 0.0 < scale < math.inf:
        return math.nan
    if mechanism == RESPONSE:
        chance = response_chance(secret, scale)
        return math.log(chance if value > 0.5 else 1.0 - chance)
    shift = abs(value - secret) / scale
    return (-0.5 * shift * shift if mechanism == GAUSSIAN else -shift) - math.log(scale)


@kernel
def expect(noise: ForcedNoise, releases: int, mode: int) -> None:
    """Begin a forced run with `releases` releases. Nothing of an earlier run is left in the marks of a first one."""
    noise.counters[EXPECTED] = releases
    noise.counters[MODE] = mode
    if mode == PLAIN:
        for place in range(releases):
            noise.marks[place] = math.nan  # like nothing else


@release.register(ForcedNoise)
@kernel
def _forced(noise: ForcedNoise, secret: float, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    place = noise.counters[RELEASES]
    noise.counters[RELEASES] = place + 1
    noise.counters[IN_A_ROW] = 0
    if place >= noise.counters[EXPECTED]:
        noise.counters[IMPOSSIBLE] = 1
        return secret
    value = noise.values[place]
    mode = noise.counters[MODE]
    noise.noises[place] = value - secret
    if scale != CARRIED:
        noise.measures[DENSITY] += log_density(value, secret, scale, mechanism)
        if mechanism != RESPONSE:
            _measure(noise, value - secret, scale)
        if mode == MARKED:
            noise.marks[place] = math.nan
        return value
    if mode == PLAIN:
        noise.marks[place] = secret
        _weigh(noise, place, 0.0)
    elif mode == MARKED:
        noise.marks[place] = secret - noise.marks[place]
    else:
        _weigh(noise, place, noise.marks[place])
    return value


@kernel
def _measure(noise: ForcedNoise, shift: float, scale: float) -> None:
    """Remember how much noise it takes."""
    if 0.0 < scale < math.inf:
        size = abs(shift) / scale
        noise.measures[SCALE] = scale
        noise.measures[SQUARES] += 0.5 * size * size
        noise.measures[LARGEST] = max(noise.measures[LARGEST], size)
        noise.measures[CLOSEST] = max(noise.measures[CLOSEST], 1.0 / size if size > 0.0 else math.inf)


@kernel
def _weigh(noise: ForcedNoise, place: int, mark: float) -> None:
    """Find out which reserved noise is in a release, and how likely it is."""
    carried = noise.noises[place]
    size = 1.0 + abs(noise.values[place])
    if abs(mark) <= _SAME * size:  # no noise at all
        if abs(carried) > 1e-9 * size:
            noise.counters[IMPOSSIBLE] = 1
        return
    first = max(0, place - _BACK)
    for earlier in range(place - 1, first - 1, -1):
        if abs(mark - noise.marks[earlier]) <= _SAME * size:  # the same noise once more
            if abs(carried - noise.noises[earlier]) > 1e-9 * size:
                noise.counters[IMPOSSIBLE] = 1
            return
    for pending in range(noise.counters[PENDING]):
        at = _FIRST + _EACH * pending
        if abs(mark - noise.measures[at]) <= _SAME * size:  # a noise alone
            _leave(noise, pending, carried)
            return
        for earlier in range(place - 1, first - 1, -1):
            if abs(mark - noise.marks[earlier] - noise.measures[at]) <= _SAME * size:  # a noise more than earlier
                _leave(noise, pending, carried - noise.noises[earlier])
                return
    noise.counters[UNKNOWN] += 1
    last = noise.counters[PENDING] - 1
    _measure(noise, carried, noise.measures[_FIRST + _EACH * last + 1] if last >= 0 else noise.measures[SCALE])


@kernel
def _leave(noise: ForcedNoise, pending: int, size: float) -> None:
    """A pending noise has this size, beyond what it was given as."""
    at = _FIRST + _EACH * pending
    size += noise.measures[at + 3]
    noise.measures[DENSITY] += log_density(size, 0.0, noise.measures[at + 1], int(noise.measures[at + 2]))
    _measure(noise, size, noise.measures[at + 1])
    _forget(noise, pending)


@kernel
def _forget(noise: ForcedNoise, pending: int) -> None:
    noise.counters[PENDING] -= 1
    for place in range(_FIRST + _EACH * pending, _FIRST + _EACH * noise.counters[PENDING]):
        noise.measures[place] = noise.measures[place + _EACH]


@reserve.register(ForcedNoise)
@kernel
def _reserved(noise: ForcedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    noise.counters[RESERVED] += 1
    noise.counters[IN_A_ROW] += 1
    scattered = math.sin(12.9898 * noise.counters[RESERVED]) * 43758.5453
    share = scattered - math.floor(scattered)
    offset = 0.0
    if noise.counters[IN_A_ROW] > _PATIENCE:  # who draws until a noise is to his liking gets every size in the end
        offset = -scale * math.log(1.0 - share) * (1.0 if noise.counters[RESERVED] % 2 == 0 else -1.0)
    mark = 0.01 * scale * share
    if noise.counters[PENDING] == _MOST:
        _forget(noise, 0)
    at = _FIRST + _EACH * noise.counters[PENDING]
    noise.counters[PENDING] += 1
    noise.measures[at] = mark
    noise.measures[at + 1] = scale
    noise.measures[at + 2] = mechanism
    noise.measures[at + 3] = offset
    return offset + mark if noise.counters[MODE] == MARKED else offset


@uniform.register(ForcedNoise)
@kernel
def _middle(noise: ForcedNoise) -> float:
    noise.counters[DRAWS] += 1
    return 0.5


@normal.register(ForcedNoise)
@kernel
def _zero(noise: ForcedNoise) -> float:
    noise.counters[DRAWS] += 1
    return 0.0


@beta.register(ForcedNoise)
@kernel
def _mean(noise: ForcedNoise, a: float, b: float) -> float:
    noise.counters[DRAWS] += 1
    return a / (a + b)
