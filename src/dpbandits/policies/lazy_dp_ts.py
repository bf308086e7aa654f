"""Lazy-DP-TS: Thompson sampling from the mean of an arm's last epoch, raised by what its noise may hide.

    θ_a ~ Beta(x n + 1, (1 - x) n + 1),  x = clip(μ_a + 3 ln t / (ε n), 0, 1);  the largest is played
                                                                                              (Hu & Hegde 2022)

Epochs of 1, 2, 4, ... plays; μ_a is the mean of the n plays of arm a's last epoch, with noise Lap(1/(ε n)). New θ are
drawn for every decision. Regret of order Σ ln T / min(Δ_a, ε).

Privacy: every reward is in one released sum (phases.py), and θ is drawn from releases alone: ε-DP for the whole action
sequence at any horizon.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import beta
from dpbandits.policies.last_phase import LastPhaseState, keep_last_phase
from dpbandits.policies.phases import PhasePolicy, Phases, chosen_arm, doubling_epochs, finish_phase, learn_release
from dpbandits.policies.policy import Setup, every_step, hold, not_live, select, update


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    epsilon: float


select.register(Params)(chosen_arm)
hold.register(Params)(every_step)
learn_release.register(Params)(keep_last_phase)


@update.register(Params)
@kernel
def _update(params: Params, state: LastPhaseState, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    finish_phase(params, state, arm, plays, reward, t, noise)
    if state.tally.opened[0] < len(state.means):
        return
    raised = 3.0 * math.log(t) / params.epsilon
    choice, largest = 0, -1.0
    for other in range(len(state.means)):
        n = state.sizes[other]
        x = min(max(state.means[other] + raised / n, 0.0), 1.0)
        sample = beta(noise, x * n + 1.0, (1.0 - x) * n + 1.0)
        if sample > largest:
            choice, largest = other, sample
    state.tally.chosen[0] = choice


@dataclass(frozen=True, kw_only=True)
class LazyDPTS(PhasePolicy):
    """Lazy-DP-TS: private Thompson sampling.

    Args:
        epsilon: the budget of the whole action sequence.

    >>> print(LazyDPTS(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(LazyDPTS(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [873, 127]
    """

    name = "lazy-dp-ts"
    source = "Hu & Hegde 2022"
    regret = "order Σ ln T / min(Δ, ε)"

    def phase_ends(self) -> Iterator[int]:
        """Yield 1, 3, 7, 15, ...: epochs of 1, 2, 4, 8, ..."""
        return doubling_epochs()

    def live(self, contributions: int, grid_bits: int) -> Self:
        """Refuse: choices are drawn anew at every step, and could not be repeated after a restart."""
        raise not_live(self, "it draws its choices at random")

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.phases(horizon), self.epsilon), LastPhaseState)
