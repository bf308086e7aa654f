"""Scores: what a run that was watched says about two reward sequences, one of which it was played with.

Each is a number that is large if the first sequence explains the run better. The likelihood ratio is the best of them
where it is known. The others need no density: they see noise that is not what it should be, such as noise that is never
large, since then the other rewards would take more of it than there ever is.
"""

import math
from typing import Any

from dpbandits._kernel import kernel
from dpbandits.auditing.replay_noise import (
    CLOSEST,
    DENSITY,
    DIFFERENT,
    DRAWS,
    EXPECTED,
    IMPOSSIBLE,
    LARGEST,
    RELEASES,
    SQUARES,
    UNKNOWN,
    ForcedNoise,
)

# The scores of a run, by their place.
RATIO = 0  # ln of the likelihood ratio
NEARNESS = 1  # how much less noise the first takes, in sums of squares
LARGEST_WITH_SECOND = 2  # the largest noise the second takes, in its scale
LARGEST_WITH_FIRST = 3  # minus the largest noise the first takes
CLOSEST_WITH_SECOND = 4  # one over the smallest
CLOSEST_WITH_FIRST = 5
SCORES = 6
# After them a note, in bits.
NOTE = 6
UNSCORED = 1  # releases whose likelihood is not known
DREW = 2  # random numbers were drawn, so that choices are not in the scores
COLUMNS = 7


@kernel
def write_scores(first: ForcedNoise, second: ForcedNoise, scores: Any) -> None:
    """Write the scores and the note of a run that was forced with both rewards.

    A run with another number of releases is impossible, and so is one with another choice, if neither run drew random
    numbers that a choice could come from. What is impossible with both is not understood: no likelihood ratio.
    """
    draws = first.counters[DRAWS] + second.counters[DRAWS]
    one, two = likelihood(first, draws), likelihood(second, draws)
    scores[RATIO] = 0.0 if one == two else one - two
    scores[NEARNESS] = second.measures[SQUARES] - first.measures[SQUARES]
    scores[LARGEST_WITH_SECOND] = second.measures[LARGEST]
    scores[LARGEST_WITH_FIRST] = -first.measures[LARGEST]
    scores[CLOSEST_WITH_SECOND] = second.measures[CLOSEST]
    scores[CLOSEST_WITH_FIRST] = -first.measures[CLOSEST]
    is_unscored = one == two == -math.inf or first.counters[UNKNOWN] + second.counters[UNKNOWN] > 0
    scores[NOTE] = (UNSCORED if is_unscored else 0) + (DREW if draws > 0 else 0)


@kernel
def likelihood(noise: ForcedNoise, draws: int) -> float:
    """Return the log density that a forced run has added up; -inf if it is impossible."""
    is_different = noise.counters[DIFFERENT] != 0 and draws == 0
    if noise.counters[IMPOSSIBLE] != 0 or noise.counters[RELEASES] != noise.counters[EXPECTED] or is_different:
        return -math.inf
    return noise.measures[DENSITY]  # type: ignore[no-any-return]
