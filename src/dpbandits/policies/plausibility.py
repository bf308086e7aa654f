"""Plausibility: what the released phase sums of an arm say about its mean.

    learn(plausibility, kept, phases, tally, arm, value)     takes in the sum that was just released
    exponent(plausibility, kept, phases, tally, arm, mean)   -> how implausible a mean is, 0 at the estimate
    largest_plausible_mean(plausibility, kept, phases, tally, arm, level)
                                                             -> the largest mean whose exponent is at most `level`

The exponent is that of a probability, about e^-exponent: the index policies DP-IMED and DP-KLUCB work with any such
three kernels. `PooledPlausibility` here is that of their publication; plausibility_by_phase.py has the one that knows
the noises.

`PooledPlausibility` adds all released sums of an arm up to S and takes

    mean = clip(S/n, 0, 1),  exponent = n d_ε(mean, ·)                                  (Azize et al. 2025)

It forgets that S carries one noise per phase, which is right as n goes to infinity and wrong at the beginning.
"""

from typing import Annotated, Any, NamedTuple

from dpbandits._kernel import generic, kernel
from dpbandits.mechanisms.state import public
from dpbandits.policies.phases import Phases, Tally
from dpbandits.theory.divergences import private_divergence, private_divergence_inverse


@generic
def learn(plausibility: Any, kept: Any, phases: Phases, tally: Tally, arm: int, value: float) -> None:
    """Take in the released sum of the arm's last phase, and set `kept.means[arm]`."""
    raise TypeError(
        f"{type(plausibility).__name__} is not a kind of plausibility: nothing is registered for it with `learn`."
    )


@generic
def exponent(plausibility: Any, kept: Any, phases: Phases, tally: Tally, arm: int, mean: float) -> float:
    """Return the exponent of a mean, 0 if it is at most the arm's estimate."""
    raise TypeError(
        f"{type(plausibility).__name__} is not a kind of plausibility: nothing is registered for it with `exponent`."
    )


@generic
def largest_plausible_mean(plausibility: Any, kept: Any, phases: Phases, tally: Tally, arm: int, level: float) -> float:
    """Return the largest mean whose exponent is at most `level`."""
    raise TypeError(
        f"{type(plausibility).__name__} is not a kind of plausibility: nothing is registered for it with "
        "`largest_plausible_mean`."
    )


@kernel
def learn_sum(params: Any, state: Any, arm: int, value: float, t: int) -> None:
    """Keep a released sum as `params.plausibility` does."""
    learn(params.plausibility, state.kept, params.phases, state.tally, arm, value)


class PooledPlausibility(NamedTuple):
    """As published: all phases in one sum."""

    epsilon: float


class PooledSums(NamedTuple):
    """What is kept for every arm."""

    totals: Annotated[Any, public("arms")]
    means: Annotated[Any, public("arms")]


@learn.register(PooledPlausibility)
@kernel
def _learn(
    plausibility: PooledPlausibility, kept: PooledSums, phases: Phases, tally: Tally, arm: int, value: float
) -> None:
    kept.totals[arm] += value
    kept.means[arm] = min(max(kept.totals[arm] / tally.counts[arm], 0.0), 1.0)


@exponent.register(PooledPlausibility)
@kernel
def _exponent(
    plausibility: PooledPlausibility, kept: PooledSums, phases: Phases, tally: Tally, arm: int, mean: float
) -> float:
    if mean <= kept.means[arm]:
        return 0.0
    return tally.counts[arm] * private_divergence(kept.means[arm], mean, plausibility.epsilon)


@largest_plausible_mean.register(PooledPlausibility)
@kernel
def _plausible(
    plausibility: PooledPlausibility, kept: PooledSums, phases: Phases, tally: Tally, arm: int, level: float
) -> float:
    return private_divergence_inverse(kept.means[arm], level / tally.counts[arm], plausibility.epsilon)
