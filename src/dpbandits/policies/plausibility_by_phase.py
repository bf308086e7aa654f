"""PlausibilityByPhase: how plausible a mean is, by every released phase sum on its own (docs/noise_aware.md).

Phase k of an arm has b_k plays and its noisy sum is B_k = b_k x_k. If the mean were z, a value as far out as B_k would
have about the probability e^-c_k(z),

    c_k(z) = b_k d_ε(x_k, z),    c(z) = Σ_k c_k(z),

where x_k may lie outside [0, 1] and d_ε(x, z) = inf_{0<=w<=1} { ε |w - x| + kl(w, z) }. The estimate is the z that
makes c least, and the exponent of a mean y is c(y) - c(estimate).

One large noise moves the sum of all phases for good. Here it moves its own term alone, which grows in a straight line:
no phase can say more than ε b_k about the mean.
"""

import math
from typing import Annotated, Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import public
from dpbandits.policies.phases import Phases, Tally
from dpbandits.policies.plausibility import exponent, largest_plausible_mean, learn

_EDGE = 1e-9  # estimates keep this distance from 0 and 1, where logarithms end
_STEPS = 60


class PlausibilityByPhase(NamedTuple):
    """Constants of the kernels."""

    epsilon: float
    share: float  # 1 - e^-ε


def plausibility_by_phase(epsilon: float) -> PlausibilityByPhase:
    """Return the constants for phases whose sums have noise of scale 1/epsilon."""
    return PlausibilityByPhase(epsilon, -math.expm1(-epsilon))


class PhaseSums(NamedTuple):
    """What is kept for every arm."""

    sums: Annotated[Any, public("arms", "phases")]  # released, phase by phase
    entropies: Annotated[Any, public("arms", "phases")]  # b_k (x ln x + (1-x) ln(1-x)): of kl, what has no z
    means: Annotated[Any, public("arms")]
    least: Annotated[Any, public("arms")]  # c at the estimate


@kernel
def cost(plausibility: PlausibilityByPhase, kept: PhaseSums, phases: Phases, tally: Tally, arm: int, z: float) -> float:
    """Return c(z), for z in (0, 1)."""
    share = plausibility.share
    # d_ε is straight for x <= low and for x >= high, and kl(x, z) between.
    low = z * (1.0 - share) / (1.0 - z * share)
    high = z / (1.0 - (1.0 - z) * share)
    below, above = -math.log1p(-z * share), -math.log1p(-(1.0 - z) * share)
    log_z, log_rest = math.log(z), math.log1p(-z)
    total = 0.0
    for k in range(tally.done[arm]):
        size = phases.sizes[k]
        x = kept.sums[arm, k] / size
        if x <= low:
            total += size * (below - plausibility.epsilon * x)
        elif x >= high:
            total += size * (above - plausibility.epsilon * (1.0 - x))
        else:
            total += kept.entropies[arm, k] - size * (x * log_z + (1.0 - x) * log_rest)
    return total


@kernel
def root_of_slope(
    plausibility: PlausibilityByPhase, kept: PhaseSums, phases: Phases, tally: Tally, arm: int, start: float
) -> float:
    """Return the z in (0, 1) at which c'(z) = 0: Newton's method, kept inside a bracket. c is convex."""
    share = plausibility.share
    lowest, highest = _EDGE, 1.0 - _EDGE
    z = min(max(start, lowest), highest)
    for _ in range(_STEPS):
        low = z * (1.0 - share) / (1.0 - z * share)
        high = z / (1.0 - (1.0 - z) * share)
        rise, fall = share / (1.0 - z * share), share / (1.0 - (1.0 - z) * share)
        slope, bend = 0.0, 0.0
        for k in range(tally.done[arm]):
            size = phases.sizes[k]
            x = kept.sums[arm, k] / size
            if x <= low:
                slope += size * rise
                bend += size * rise * rise
            elif x >= high:
                slope -= size * fall
                bend += size * fall * fall
            else:
                slope += size * (z - x) / (z * (1.0 - z))
                bend += size * (x / (z * z) + (1.0 - x) / ((1.0 - z) * (1.0 - z)))
        if slope > 0.0:
            highest = z
        else:
            lowest = z
        nearer = z - slope / bend
        if not lowest < nearer < highest:
            nearer = 0.5 * (lowest + highest)
        if abs(nearer - z) <= 1e-9 * z * (1.0 - z):
            return nearer
        z = nearer
    return z


@learn.register(PlausibilityByPhase)
@kernel
def _learn(
    plausibility: PlausibilityByPhase, kept: PhaseSums, phases: Phases, tally: Tally, arm: int, value: float
) -> None:
    k = tally.done[arm] - 1
    x = value / phases.sizes[k]
    kept.sums[arm, k] = value
    if 0.0 < x < 1.0:  # else the divergence is straight whatever z is
        kept.entropies[arm, k] = phases.sizes[k] * (x * math.log(x) + (1.0 - x) * math.log1p(-x))
    kept.means[arm] = root_of_slope(plausibility, kept, phases, tally, arm, kept.means[arm] if k > 0 else x)
    kept.least[arm] = cost(plausibility, kept, phases, tally, arm, kept.means[arm])


@exponent.register(PlausibilityByPhase)
@kernel
def _exponent(
    plausibility: PlausibilityByPhase, kept: PhaseSums, phases: Phases, tally: Tally, arm: int, mean: float
) -> float:
    if mean <= kept.means[arm]:
        return 0.0
    return max(cost(plausibility, kept, phases, tally, arm, mean) - kept.least[arm], 0.0)


@largest_plausible_mean.register(PlausibilityByPhase)
@kernel
def _plausible(
    plausibility: PlausibilityByPhase, kept: PhaseSums, phases: Phases, tally: Tally, arm: int, level: float
) -> float:
    lowest, highest = kept.means[arm], 1.0 - _EDGE
    under, over = level, cost(plausibility, kept, phases, tally, arm, highest) - kept.least[arm] - level
    if over <= 0.0:
        return highest
    # False position (Illinois): the exponent increases from the estimate on, where it is `level` too small.
    for _ in range(_STEPS):
        middle = highest - over * (highest - lowest) / (over + under)
        excess = cost(plausibility, kept, phases, tally, arm, middle) - kept.least[arm] - level
        if excess > 0.0:
            highest, over, under = middle, excess, 0.5 * under
        else:
            lowest, under, over = middle, -excess, 0.5 * over
        if abs(excess) <= 1e-6:
            break
    return middle
