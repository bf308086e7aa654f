"""Anytime-Lazy-UCB: UCB on the mean of an arm's last epoch, with a bonus for its noise.

    index_a(t) = μ_a + √(3 ln t / n) + 3 ln t / (ε n);  the largest is played          (Hu, Huang & Mehta 2021)

Epochs of 1, 2, 4, ... plays; μ_a is the mean of the n plays of arm a's last epoch, with noise Lap(1/(ε n)). The bonus
grows at every step, so the choice may change within an epoch. Regret of order Σ ln T / min(Δ_a, ε).

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from dpbandits._kernel import kernel
from dpbandits.policies.last_phase import LastPhaseState, keep_last_phase
from dpbandits.policies.phases import PhasePolicy, Phases, doubling_epochs, finish_phase, learn_release, plays_left
from dpbandits.policies.policy import Setup, hold, select, update


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    epsilon: float


@select.register(Params)
@kernel
def _select(params: Params, state: LastPhaseState, t: int) -> int:
    tally = state.tally
    if tally.opened[0] < len(state.means):
        return tally.chosen[0]
    log_t = math.log(t)
    choice, largest = 0, -math.inf
    for arm in range(len(state.means)):
        n = state.sizes[arm]
        index = state.means[arm] + math.sqrt(3.0 * log_t / n) + 3.0 * log_t / (params.epsilon * n)
        if index > largest:
            choice, largest = arm, index
    return choice


@hold.register(Params)
@kernel
def _hold(params: Params, state: LastPhaseState, arm: int, t: int) -> int:
    plays = plays_left(params.phases, state.tally, arm)
    if plays == 1 or state.tally.opened[0] < len(state.means):
        return plays
    # With r = √ln t every index is m + A r + B r², A = √(3/n), B = 3/(εn). An arm with a shorter last epoch gains on
    # this one; it draws level where lead = a r + b r², a and b the differences of A and B: at one r > 0.
    crossing = math.inf
    n = state.sizes[arm]
    for other in range(len(state.means)):
        if other != arm and state.sizes[other] <= n:
            a = math.sqrt(3.0 / state.sizes[other]) - math.sqrt(3.0 / n)
            b = 3.0 / params.epsilon * (1.0 / state.sizes[other] - 1.0 / n)
            # So much more than the rounding of an index that no tie is decided by it; ln t is at most 42.
            largest = math.sqrt(126.0 / state.sizes[other]) + 126.0 / (params.epsilon * state.sizes[other])
            tie = 1e-14 * (abs(state.means[arm]) + abs(state.means[other]) + largest)
            lead = max(state.means[arm] - state.means[other] - tie, 0.0)
            if lead == 0.0:
                return 1
            if b > 0.0:
                crossing = min(crossing, 2.0 * lead / (a + math.sqrt(a * a + 4.0 * b * lead)))
    if crossing == math.inf:
        return plays
    safe = math.exp(min(crossing * crossing, 42.0)) * (1.0 - 1e-12)  # e^42 < 2^62, more than any horizon
    return max(1, min(plays, int(safe) - t + 1))


learn_release.register(Params)(keep_last_phase)


@update.register(Params)
@kernel
def _update(params: Params, state: LastPhaseState, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    finish_phase(params, state, arm, plays, reward, t, noise)


@dataclass(frozen=True, kw_only=True)
class AnytimeLazyUCB(PhasePolicy):
    """Anytime-Lazy-UCB: epochs that double, with forgetting, and a bonus that never rests.

    Args:
        epsilon: the budget of the whole action sequence.

    >>> print(AnytimeLazyUCB(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(AnytimeLazyUCB(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [745, 255]
    """

    name = "anytime-lazy-ucb"
    source = "Hu, Huang & Mehta 2021"
    regret = "order Σ ln T / min(Δ, ε)"

    def phase_ends(self) -> Iterator[int]:
        """Yield 1, 3, 7, 15, ...: epochs of 1, 2, 4, 8, ..."""
        return doubling_epochs()

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with a usual budget, and one with hardly any noise."""
        return cls(epsilon=0.7), cls(epsilon=70.0)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.phases(horizon), self.epsilon), LastPhaseState)
