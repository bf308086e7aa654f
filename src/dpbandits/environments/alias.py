"""Binomial numbers from tables: two array reads and one uniform number per power of two in the number of trials.

n trials are split into groups of 2^j, one for each set bit of n, and Walker's alias method draws the successes of a
group: pick an outcome with equal chances, keep it with its own probability, or else take its alias. Blocks of a few
hundred plays, which DP-UCB-Int has by the million, cost less than by rejection, the less the fewer bits are set
(benchmarks/results.md).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import uniform

GROUPS = 10  # up to 2^10 - 1 trials
_WIDTH = sum(2**j + 1 for j in range(GROUPS))


class AliasTables(NamedTuple):
    """For every arm, the tables of 1, 2, 4, ... trials in a row: chance to keep an outcome, and its alias."""

    keep: Any
    other: Any


@kernel
def from_tables(tables: AliasTables, arm: int, trials: int, noise: Any) -> int:
    """Return how many of fewer than 2^10 trials succeed."""
    successes = 0
    start = 0
    size = 1
    while size <= trials:
        if trials & size:
            scaled = uniform(noise) * (size + 1)
            outcome = int(scaled)
            entry = start + outcome
            successes += outcome if scaled - outcome < tables.keep[arm, entry] else tables.other[arm, entry]
        start += size + 1
        size *= 2
    return successes


def alias_tables(probabilities: NDArray[np.float64]) -> AliasTables:
    """Return the tables of Bernoulli arms with these probabilities."""
    keep = np.ones((len(probabilities), _WIDTH))
    other = np.zeros((len(probabilities), _WIDTH), dtype=np.int64)
    for arm, p in enumerate(probabilities):
        masses = np.array([1.0 - p, p])
        start = 0
        for _ in range(GROUPS):
            end = start + len(masses)
            keep[arm, start:end], other[arm, start:end] = _alias(masses)
            start = end
            masses = np.convolve(masses, masses)  # twice as many trials
    return AliasTables(keep, other)


def _alias(masses: NDArray[np.float64]) -> tuple[list[float], list[int]]:
    """Return Vose's tables of a distribution: outcomes with too much mass fill up those with too little."""
    keep = (masses * (len(masses) / masses.sum())).tolist()
    other = list(range(len(keep)))
    poor = [i for i, mass in enumerate(keep) if mass < 1.0]
    rich = [i for i, mass in enumerate(keep) if mass >= 1.0]
    while poor and rich:
        taker, giver = poor.pop(), rich[-1]
        other[taker] = giver
        keep[giver] -= 1.0 - keep[taker]
        if keep[giver] < 1.0:
            poor.append(rich.pop())
    for rest in poor + rich:  # full, up to rounding
        keep[rest] = 1.0
    return keep, other
