"""Releases as data: what was done, with its pure loss if it has one. The accountants of this room do the rest.

An event names the mechanism, its noise and the most that one reward can move the released value. Neighbours
differ by replacing one reward, so the sensitivity of a sum of rewards in [0, 1] is 1 (2^k on a grid of 2^k).
Losses are kept within [1e-100, 1e100], where their squares are floats too.
"""

import numbers
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.privacy.rounding import ratio_up


@dataclass(frozen=True)
class LaplaceEvent:
    """A value plus continuous Laplace noise with density exp(-|x| / scale) / (2 scale).

    Args:
        scale: of the noise, in units of the released value.
        sensitivity: how far one reward moves the value at most; 1 for a sum of rewards in [0, 1].

    >>> LaplaceEvent(scale=4.0).epsilon
    0.25
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        _validate.real_fields(self, scale="(0, inf)", sensitivity="(0, inf)")
        _validate.real("[1e-100, 1e100]", **{"sensitivity/scale": self.sensitivity / self.scale})

    @cached_property
    def epsilon(self) -> float:
        """The pure loss, rounded up."""
        return ratio_up(self.sensitivity, self.scale)


@dataclass(frozen=True)
class DiscreteLaplaceEvent:
    """An integer plus discrete Laplace noise, Pr[z] proportional to exp(-|z| / scale) on the integers.

    Args:
        scale: of the noise, in steps of the grid.
        sensitivity: how many steps one reward moves the integer at most.
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _validate.real_fields(self, scale="(0, inf)")
        _validate.integer_fields(self, sensitivity="[1, 4611686018427387904]")
        _validate.real("[1e-100, 1e100]", **{"sensitivity/scale": self.sensitivity / self.scale})

    @cached_property
    def epsilon(self) -> float:
        """The pure loss, rounded up."""
        return ratio_up(self.sensitivity, self.scale)


@dataclass(frozen=True)
class GaussianEvent:
    """A value plus normal noise of standard deviation `sigma`.

    Args:
        sigma: the standard deviation of the noise, in units of the released value.
        sensitivity: how far one reward moves the value at most; 1 for a sum of rewards in [0, 1].
    """

    sigma: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        _validate.real_fields(self, sigma="(0, inf)", sensitivity="(0, inf)")
        _validate.real("[1e-100, 1e100]", **{"sensitivity/sigma": self.sensitivity / self.sigma})


@dataclass(frozen=True)
class DiscreteGaussianEvent:
    """An integer plus discrete Gaussian noise, Pr[z] proportional to exp(-z^2 / (2 sigma^2)) on the integers.

    It has the zCDP of the continuous Gaussian (Canonne, Kamath & Steinke 2020, Thm 4), but not its whole
    privacy profile, so it is a class of its own.

    Args:
        sigma: the scale of the noise, in steps of the grid.
        sensitivity: how many steps one reward moves the integer at most.
    """

    sigma: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _validate.real_fields(self, sigma="(0, inf)")
        _validate.integer_fields(self, sensitivity="[1, 4611686018427387904]")
        _validate.real("[1e-100, 1e100]", **{"sensitivity/sigma": self.sensitivity / self.sigma})


@dataclass(frozen=True)
class RandomizedResponseEvent:
    """One bit, kept with probability e^epsilon / (1 + e^epsilon) and flipped otherwise.

    Args:
        epsilon: what the bit costs.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="[1e-100, 1e100]")


@dataclass(frozen=True)
class PureEvent:
    """Any epsilon-DP mechanism. Nothing more is assumed, so its worst case, randomised response, is counted.

    Args:
        epsilon: what the mechanism costs.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="[1e-100, 1e100]")


PureDPEvent: TypeAlias = LaplaceEvent | DiscreteLaplaceEvent | RandomizedResponseEvent | PureEvent
GaussEvent: TypeAlias = GaussianEvent | DiscreteGaussianEvent
Event: TypeAlias = PureDPEvent | GaussEvent


def as_event(event: Event | float) -> Event:
    """Return the event itself; a bare number is the epsilon of an arbitrary pure mechanism."""
    if isinstance(event, Event):
        return event
    if not isinstance(event, numbers.Real):
        raise InvalidInput(
            f"Expected event={_validate.value_text(event)} to be a release, such as LaplaceEvent(scale), or a number, "
            "the epsilon of any pure mechanism."
        )
    return PureEvent(event)


def size(event: Event) -> float:
    """Return the standard deviation of the event's privacy loss, about: epsilon, or sensitivity / sigma."""
    if isinstance(event, GaussEvent):
        return event.sensitivity / event.sigma
    return event.epsilon
