"""DP-UCB-Bound as published is not ε-DP: one sequence of choices whose probability changes by e^(2ε) with one reward.

Two arms, 13 steps, all rewards zero but the fifth, which is 0 or 1. The arms played are 1,2,1,2,1,2,2,1,2,2,2,2,2. The
fifth reward is item 3 of arm 1. Its tree noise N enters the sum at 3 plays alone, and the noise N' of the next total
the sum at 4 plays alone, both of scale 1/ε. With 3 plays, arm 1 must lose at steps 6 and 7 and win at step 8: N is in
an interval [a, b]. With 4 plays it must lose from step 9 on: N' <= c. A reward of 1 moves a, b and c down by 1; where b
and c are negative, as they were in every draw for ε from 0.3 to 3, each of the two probabilities falls by e^ε. Steps 3
to 5 keep the other noises of arm 1 from making up for it: arm 1 had to win with its first two sums.

N and N' are integrated out exactly; the other noises are drawn, the same for both rewards. The event is very rare, but
pure differential privacy is about every event.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits.mechanisms import Hybrid
from dpbandits.reproduce.confidence import Interval

ARMS = (1, 2, 1, 2, 1, 2, 2, 1, 2, 2, 2, 2, 2)
CHANGED_STEP = 5

Draws = NDArray[np.float64]


def bonus(t: int, n: int, epsilon: float) -> float:
    """Return what the index adds to the mean of n rewards at decision t: √(2 ln t / n) + ν/n (Algorithm 1)."""
    error = Hybrid(epsilon=epsilon, split=False).paper_error_bound(n, float(t) ** -4)
    return math.sqrt(2 * math.log(t) / n) + error / n


def sums_of_arm_2(noises: Any) -> dict[int, Any]:
    """Return the noisy sums of zeros after 1 to 8 plays, from the eight noises in the order of drawing."""
    one, two, three, four, five, six, seven, eight = noises
    base = one + two
    later = base + four
    return {
        **{1: one, 2: base, 3: base + three, 4: later},
        **{5: later + five, 6: later + six, 7: later + six + seven, 8: later + eight},
    }


SCALES_OF_ARM_2 = (1, 1, 1, 1, 2, 2, 2, 1)  # times 1/ε


def thresholds(second: Any, others: dict[int, Any], reward: float, epsilon: float) -> tuple[Any, Any, Any]:
    """Return a, b and c: a <= N < b and N' < c play the arms from step 6 on. `second` is arm 1's sum after 2 plays."""

    def limit(t: int, n: int, m: int) -> Any:
        """The sum that arm 1 with n plays needs at step t to be as good as arm 2 with m plays."""
        return n * (others[m] / m + bonus(t, m, epsilon) - bonus(t, n, epsilon)) - second - reward

    upper = np.minimum(limit(6, 3, 2), limit(7, 3, 3))
    lower = limit(8, 3, 4)
    last = limit(9, 4, 4)
    for t in range(10, 14):
        last = np.minimum(last, limit(t, 4, t - 5))
    return lower, upper, last


def begins_so(first: Any, second: Any, others: dict[int, Any], epsilon: float) -> Any:
    """Tell whether steps 3, 4 and 5 play arms 1, 2 and 1, from arm 1's sums after 1 and 2 plays."""
    third = first >= others[1]
    fourth = second / 2 + bonus(4, 2, epsilon) < others[1] + bonus(4, 1, epsilon)
    fifth = second >= others[2]
    return third & fourth & fifth


def log_ratio(epsilon: float, draws: int, seed: int) -> tuple[Interval, float]:
    """Return ln(Pr[arms | reward 0] / Pr[arms | reward 1]), and the first of the two probabilities."""
    dice = np.random.default_rng(seed)
    others = sums_of_arm_2([dice.laplace(0, scale / epsilon, draws) for scale in SCALES_OF_ARM_2])
    first = dice.laplace(0, 1 / epsilon, draws)
    second = first + dice.laplace(0, 1 / epsilon, draws)
    begins = begins_so(first, second, others, epsilon)

    def chance(reward: float) -> Draws:
        lower, upper, last = thresholds(second, others, reward, epsilon)
        inside = np.maximum(_below(upper, epsilon) - _below(lower, epsilon), 0.0)
        return np.asarray(begins * inside * _below(last, epsilon))

    quiet, changed = chance(0.0), chance(1.0)
    ratio = math.log(quiet.mean() / changed.mean())
    # The delta method for a ratio of two means of the same draws; 99%.
    error = float(np.std(quiet / quiet.mean() - changed / changed.mean())) / math.sqrt(draws)
    return Interval(ratio, ratio - 2.5758 * error, ratio + 2.5758 * error), float(quiet.mean())


def _below(x: Draws, epsilon: float) -> Draws:
    """Return Pr[Lap(1/ε) < x]."""
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0.0) * epsilon), 1 - 0.5 * np.exp(-np.maximum(x, 0.0) * epsilon))
