"""Rewards: from the user's own units to [0, 1] and back."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dpbandits import _validate
from dpbandits.errors import InvalidInput

OutOfBounds = Literal["refuse", "clip"]
OUT_OF_BOUNDS: tuple[OutOfBounds, ...] = get_args(OutOfBounds)


@dataclass(frozen=True)
class RewardScale:
    """The declared bounds of rewards, and what happens outside them.

    >>> RewardScale((1, 5)).to_unit(4)
    0.75
    >>> RewardScale().to_unit(True)
    1.0
    >>> RewardScale((1, 5)).to_unit(6)
    Traceback (most recent call last):
    dpbandits.errors.InvalidInput: Expected reward=6 in [1.0, 5.0].
    """

    bounds: tuple[float, float] = (0.0, 1.0)
    out_of_bounds: OutOfBounds = "refuse"
    default: float | None = None  # for answers that never come; None: the lower bound

    def __post_init__(self) -> None:
        try:
            low, high = self.bounds
        except (TypeError, ValueError):
            raise InvalidInput(
                f"Expected reward_bounds={_validate.value_text(self.bounds)} to be two numbers."
            ) from None
        low = _validate.real("(-inf, inf)", **{"reward_bounds[0]": low})
        high = _validate.real(f"({low}, inf)", **{"reward_bounds[1]": high})
        if not math.isfinite(high - low):
            raise InvalidInput(
                f"Expected reward_bounds={_validate.value_text(self.bounds)} to be less than 1.8e308 apart."
            )
        object.__setattr__(self, "bounds", (low, high))
        _validate.one_of(OUT_OF_BOUNDS, out_of_bounds=self.out_of_bounds)
        default = (
            low if self.default is None else _validate.real(f"[{low}, {high}]", default_reward=_plain(self.default))
        )
        object.__setattr__(self, "default", default)

    def to_unit(self, reward: float | None) -> float:
        """Return a reward as a number from [0, 1]; None is the default reward, and True, a conversion, is 1."""
        low, high = self.bounds
        reward = _plain(reward)
        if reward is None:
            value = self.default
            assert value is not None
        elif self.out_of_bounds == "clip":
            value = min(max(_validate.real("(-inf, inf)", reward=reward), low), high)
        else:
            value = _validate.real(f"[{low}, {high}]", reward=reward)
        return (value - low) / (high - low)  # at most 1: rounding is monotone

    def from_unit(self, value: float) -> float:
        """Return a number from [0, 1] in the user's units."""
        low, high = self.bounds
        return min(max(low + value * (high - low), low), high)


def _plain(reward: float | None) -> float | None:
    """Return a conversion, True or False, as a number."""
    return float(reward) if isinstance(reward, bool | np.bool_) else reward
