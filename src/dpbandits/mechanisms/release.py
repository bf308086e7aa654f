"""release: the one door from secret to public.

    reward r_t  ->  secret sums  ->  [ release ]  ->  released statistics  ->  select  ->  arm a_t

A kernel hands a secret sum and the scale of its noise to `release` and gets back a public number. The noise
source decides what happens inside: secure noise on an integer grid (live), a seeded generator (simulation, plain
or compiled), a recorder, or whatever else is registered for a new type. Scales are in units of one reward, which
moves a sum by at most 1; live, the secret itself is an integer on the noise source's grid.

Some counters reuse one noise in several releases. They draw it with `reserve`, keep it among their secrets, and
let it leave only inside a sum: `release(noise, secret + reserved, CARRIED)`.

Formal guarantee: releasing a sum that one reward moves by at most 1 costs that reward 1/scale in pure epsilon
(LAPLACE, and RESPONSE for a single reward), or 1/(2 scale²) in zCDP (GAUSSIAN). A CARRIED release has the cost of
the noise inside it, see docs/counters.md.
"""

import math
from typing import Any, Protocol

from numpy.typing import DTypeLike

from dpbandits._kernel import generic
from dpbandits.errors import InvalidInput
from dpbandits.privacy import Event

# Which noise: plain integers, so that kernels compile.
LAPLACE = 0
GAUSSIAN = 1
RESPONSE = 2  # randomised response of one reward in [0, 1]; the released value is 0.0 or 1.0, epsilon = 1/scale

# In place of a scale: the secret already carries reserved noise, nothing is added. Not a number that a formula for
# scales could ever give by mistake.
CARRIED = -math.inf


@generic
def release(noise: Any, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    """Return the secret with fresh noise of the given scale: a public number. `arm` is for the record only."""
    raise TypeError(f"{type(noise).__name__} is not a noise source: nothing is registered for it with `release`.")


@generic
def reserve(noise: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Any:
    """Return noise that stays secret until it leaves inside a CARRIED release. `arm` is for the record only."""
    raise TypeError(f"{type(noise).__name__} is not a noise source: nothing is registered for it with `reserve`.")


def validated_mechanism(mechanism: int) -> int:
    """Return the mechanism if it is one."""
    if mechanism not in (LAPLACE, GAUSSIAN, RESPONSE):
        raise InvalidInput(f"Expected mechanism={mechanism!r} to be LAPLACE, GAUSSIAN or RESPONSE.")
    return mechanism


class NoiseSource(Protocol):
    """What the plain-Python side needs to know about a noise source, besides its `release` and `reserve`."""

    @property
    def secret_dtype(self) -> DTypeLike:
        """How secret numbers are stored: float64 in simulation, int64 on the live grid."""

    @property
    def capacity(self) -> int:
        """How many rewards one sum can hold exactly."""

    @property
    def largest_scale(self) -> float:
        """The largest scale of noise that can be drawn faithfully."""

    @property
    def rounding(self) -> float:
        """The most that `encode` changes a reward."""

    @property
    def is_exact(self) -> bool:
        """Whether the noise has exactly the distribution that the theorems assume, and nobody can repeat it."""

    def encode(self, reward: float) -> float:
        """Return a reward from [0, 1] in the units of the secret sums."""

    def event(self, scale: float, mechanism: int = LAPLACE) -> Event:
        """Return what releasing a sum with this scale is to the accountant."""
