"""Witnesses: single runs that show a loss, by the exact ratio of two densities.

What a reward loses is a sum over its releases, and all of it is really lost only if every noise lies on the side where
its density changes most. Where a later release depends on the values of earlier ones, that side may be out of reach:
the sum is an upper bound. But the rewards are read in releases alone, so a run with the same released values goes the
same way with any rewards, and ln f(o | r) - ln f(o | r') at these very values is a fact. If it is above ε, no pure
claim of ε is true.
"""

import math
import random
from collections.abc import Callable

from dpbandits.auditing.shifts import groups_of, unique_shifts
from dpbandits.auditing.steering import Draw, Steering
from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import GAUSSIAN, RESPONSE

Shifts = dict[int, float]  # by how much every noise moves
_NUDGE = 1e-10  # of a scale


def shifts_for(noise: TaintNoise, number: int) -> Shifts | None:
    """Return how the noises of a run move, if its releases stay and a reward grows by 1.

    None if that leaves a choice, so that more than one noise explains a release. A noise that moves by infinity stands
    for a reward that nothing hides.
    """
    shifts: Shifts = {}
    for rows in groups_of(noise.noises):
        change = [(row, factor) for row in rows for other, factor in noise.rewards[row] if other == number]
        if not change:
            continue
        noises = sorted({each for row in rows for each, _ in noise.noises[row]})
        if not all(noise.noises[row] for row in rows):
            return {0: math.inf}
        solutions = unique_shifts([(row, noise.noises[row]) for row in rows], noises, [change])
        if solutions is None:
            return None
        shifts |= dict(zip(noises, solutions[0].tolist(), strict=True))
    return shifts


def density_ratio(noise: TaintNoise, shifts: Shifts, change: int) -> float:
    """Return the log density of a run's releases less their log density if the reward had changed by `change`."""
    if math.inf in shifts.values():
        return math.inf
    return math.fsum(_part(noise, number, change * shift) for number, shift in shifts.items())


def _part(noise: TaintNoise, number: int, shift: float) -> float:
    """(|z + s| - |z|) / b for Laplace noise z; ((z + s)² - z²) / 2σ² for Gaussian noise. Neither loses digits."""
    value, scale = noise.values[number], noise.scales[number]
    if noise.mechanisms[number] == GAUSSIAN:
        return shift * (2 * value + shift) / (2 * scale**2)
    away = abs(shift)
    back = min(max(-math.copysign(value, value * shift), 0.0), away)  # how far it comes towards 0
    return (away - 2 * back) / scale


def repeat_steering(noise: TaintNoise, dice: random.Random, placement: Callable[[int, float], float]) -> Steering:
    """Return a steering that repeats what a run released, up to a nudge, where `placement` does not move a noise.

    The nudge is for runs that only go their way if two values are equal to the last digit, which never happens.
    """

    def steer(draw: Draw) -> float:
        if draw.number >= len(noise.values):
            return draw.noise
        released = noise.values[draw.number] + noise.totals[draw.number]
        if noise.mechanisms[draw.number] == RESPONSE:
            return draw.total + placement(draw.number, released - draw.total) - 0.5
        return placement(draw.number, released + _NUDGE * draw.scale * dice.uniform(-1, 1) - draw.total)

    return steer


def on_one_side(noise: TaintNoise, shifts: Shifts, side: int) -> Callable[[int, float], float]:
    """Return where noises must be so that all that move do so away from 0 (side 1), or all towards it (-1)."""

    def placement(number: int, value: float) -> float:
        shift = shifts.get(number, 0.0)
        if not 0 < abs(shift) < math.inf:
            return value
        along = value * math.copysign(1.0, shift)
        least_size = 0.0 if side > 0 else abs(shift)
        if along * side >= least_size:
            return value
        return math.copysign(least_size + noise.scales[number], side * shift)

    return placement
