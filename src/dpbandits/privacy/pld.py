"""Numerical composition: privacy loss distributions through dp-accounting.

Every distribution is a dominating one on a common grid of losses ("connect the dots", Doroshenko et al. 2022),
so the result is never below the true epsilon. dp-accounting connects the dots and convolves; the privacy profiles
of the bounded mechanisms are given to it from here, because its own constructors are slower (1.6 ms instead of
0.3 for a Laplace event, 4 ms for a discrete Laplace one at sensitivity 2^12 and 0.7 s at 2^20, where it walks over
the integers; benchmarks/results.md) or coarser: its randomised response rounds each loss up to the grid, which at
a step of 1e-4 turns the 0.3122 of 396 releases into 0.3319. Tests compare the two.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    size,
)
from dpbandits.privacy.rounding import above

Profile = NDArray[np.float64]

# Grid steps per standard deviation of the total loss, and the least number per typical single loss: connecting
# the dots adds at most step²/4 to a variance of size², a relative 1/256 at worst and far less in practice.
_STEPS_PER_TOTAL = 1500
_STEPS_PER_EVENT = 8
# Mass that truncated tails and floating-point rounding may move, taken from delta beforehand: once for building and
# reading a distribution, per convolution, and per release, since taking a power of a distribution multiplies its error.
# The most that was ever seen: 7e-14 once and 5e-17 a release.
_ERROR_ONCE = 1e-12
_ERROR_PER_CONVOLUTION = 1e-14
_ERROR_PER_RELEASE = 1e-15
# With more distinct events than this, those within a narrow band of epsilon are counted as its largest.
_MAX_DISTINCT = 5000
_BANDS = 2000
# Distributions left from which on tails are cut off; equal releases up to which they are composed by squaring.
_TRUNCATED = 8
_SQUARED = 256


def pld_epsilon(events: Iterable[Event], delta: float) -> float:
    """Return the epsilon at `delta` of the adaptive composition of the events, or infinity if none is computed."""
    counts = _merged(Counter(events))
    if not counts:
        return 0.0
    usable_delta = delta - float_error(counts)
    if usable_delta <= 0 or any(map(_unsupported, counts)):
        return math.inf
    total = math.sqrt(sum(count * size(event) ** 2 for event, count in counts.items()))
    typical = total / math.sqrt(counts.total())
    step = min(total / _STEPS_PER_TOTAL, typical / _STEPS_PER_EVENT)
    ordered = sorted(counts.items(), key=lambda item: size(item[0]))
    composition = _composed([_repeated(_distribution(event, step), count) for event, count in ordered])
    return above(float(composition.get_epsilon_for_delta(usable_delta)))


def float_error(counts: Counter[Event]) -> float:
    """Return how much mass truncated tails and floating point may move when these events are composed."""
    return _ERROR_ONCE + _ERROR_PER_CONVOLUTION * _convolutions(counts) + _ERROR_PER_RELEASE * counts.total()


def _composed(distributions: list[Any]) -> Any:
    """Compose neighbours again and again: nearly all convolutions are short. Only the last ones cut off their tails."""
    while len(distributions) > 1:
        tail = 0.0 if len(distributions) > _TRUNCATED else 1e-15
        pairs = zip(distributions[::2], distributions[1::2], strict=False)
        rest = distributions[-1:] if len(distributions) % 2 else []
        distributions = [one.compose(other, tail_mass_truncation=tail) for one, other in pairs] + rest
    return distributions[0]


def _repeated(distribution: Any, count: int) -> Any:
    """Compose a distribution with itself. A few times is done by squaring: self_compose first takes 4 ms for bounds."""
    if count > _SQUARED:
        return distribution.self_compose(count)
    powers = [distribution]
    while 2 ** len(powers) <= count:
        powers.append(powers[-1].compose(powers[-1], tail_mass_truncation=0.0))
    powers_needed = [power for place, power in enumerate(powers) if count >> place & 1]
    return reduce(lambda one, other: one.compose(other, tail_mass_truncation=0.0), powers_needed)


def _convolutions(counts: Counter[Event]) -> int:
    """Return at least as many convolutions as are made: an event's own, and two more for its making and composing."""
    return sum(2 + _repeating(count) for count in counts.values())


def _repeating(count: int) -> int:
    """Return the convolutions of `_repeated`: the squarings, and those of the powers that are needed."""
    return 1 if count > _SQUARED else count.bit_length() - 1 + count.bit_count() - 1


def _unsupported(event: Event) -> bool:
    # Beyond these sizes e^ε overflows or 1 - e^-ε loses its digits; closed forms are as good there. A Gaussian of
    # size 30 already loses 450.
    largest = 30 if isinstance(event, GaussianEvent) else 300
    return isinstance(event, DiscreteGaussianEvent) or not 1e-6 < size(event) < largest


def _distribution(event: Event, step: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(event, GaussianEvent):
        return pld.from_gaussian_mechanism(event.sigma, event.sensitivity, value_discretization_interval=step)
    assert not isinstance(event, DiscreteGaussianEvent)
    epsilon = event.epsilon
    every_loss: Profile = np.arange(-epsilon, epsilon + step, step, dtype=np.float64)
    if isinstance(event, LaplaceEvent):
        return _connect_the_dots(every_loss, step, lambda e: laplace_profile(epsilon, e))
    if isinstance(event, DiscreteLaplaceEvent):
        losses = every_loss
        if event.sensitivity * step < 2 * epsilon:  # losses further apart than the grid
            losses = np.linspace(-epsilon, epsilon, event.sensitivity + 1, dtype=np.float64)
        return _connect_the_dots(losses, step, lambda e: discrete_laplace_profile(event, e))
    only_losses = np.array([-epsilon, epsilon])
    return _connect_the_dots(only_losses, step, lambda e: randomized_response_profile(epsilon, e))


def _connect_the_dots(losses: Profile, step: float, profile: Callable[[Profile], Profile]) -> Any:
    """Return the distribution on the grid points next to the losses that dominates the given profile."""
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    dots = np.unique(np.concatenate([np.floor(losses / step), np.ceil(losses / step)])).astype(np.int64)
    deltas = profile((dots * step).astype(np.float64))
    first, last = int(dots[0]), int(dots[-1])
    if last - first + 1 == len(dots):  # no gaps: the numerically stabler form
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, first, last, deltas)
    else:
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, dots, deltas)
    return PrivacyLossDistribution(pmf)


def laplace_profile(epsilon: float, e: Profile) -> Profile:
    """Return δ(e), the smallest delta for which the epsilon-Laplace mechanism is (e, δ)-DP; e may be negative."""
    return _profile(epsilon, e, -np.expm1((e - epsilon) / 2))


def randomized_response_profile(epsilon: float, e: Profile) -> Profile:
    """Return δ(e), the smallest delta for which epsilon-randomised response is (e, δ)-DP; e may be negative."""
    # p - e^e (1 - p) with p = 1/(1 + e^-ε)
    return _profile(epsilon, e, -np.expm1(e - epsilon) / (1 + math.exp(-epsilon)))


def discrete_laplace_profile(event: DiscreteLaplaceEvent, e: Profile) -> Profile:
    """Return δ(e), the smallest delta for which the discrete Laplace mechanism is (e, δ)-DP; e may be negative.

    The losses are ε - 2j/scale for j = 0..sensitivity. There δ(e) = 1 - exp((e - ε)/2), the profile of the
    continuous Laplace mechanism; between two losses it is linear in exp(e), as for any discrete mechanism.
    """
    epsilon, gap = event.epsilon, 2 / event.scale
    j = np.clip(np.floor((epsilon - e) / gap), 0, event.sensitivity - 1)
    upper = epsilon - j * gap
    lower = upper - gap
    weight = np.expm1(np.clip(e, lower, upper) - lower) / np.expm1(gap)
    x = (lower - epsilon) / 2
    # 1 - e^x (1 + weight (e^(gap/2) - 1)), without cancellation near the largest loss
    return _profile(epsilon, e, -(np.expm1(x) + np.exp(x) * weight * np.expm1(gap / 2)))


def _profile(epsilon: float, e: Profile, inside: Profile) -> Profile:
    """Complete a profile outside [-ε, ε], where it is the same for every epsilon-DP mechanism with these losses."""
    completed = np.where(e >= epsilon, 0.0, np.where(e <= -epsilon, -np.expm1(np.minimum(e, 0)), inside))
    return np.clip(completed, 0.0, 1.0)


def _merged(counts: Counter[Event]) -> Counter[Event]:
    """Count events of nearly equal size as the largest of them, if there are too many different ones.

    Each family is ordered: less noise, or a larger epsilon, dominates more noise, so this only raises the loss.
    """
    if len(counts) <= _MAX_DISTINCT:
        return counts
    sizes = [size(event) for event in counts]
    width = math.log(max(sizes) / min(sizes)) / _BANDS or 1.0
    bands: defaultdict[object, list[Event]] = defaultdict(list)
    for event in counts:
        family = (type(event), event.sensitivity if isinstance(event, DiscreteLaplaceEvent) else None)
        bands[family, math.floor(math.log(size(event)) / width)].append(event)
    merged: Counter[Event] = Counter()
    for band in bands.values():
        merged[max(band, key=size)] += sum(counts[event] for event in band)
    return merged
