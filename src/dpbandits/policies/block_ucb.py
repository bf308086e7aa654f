"""Block-UCB: UCB on disjoint geometric blocks, with the width of rewards and noises together.

    index_a(t) = S_a / n + w(n, k, t)
    w(n, k, t) = min over 0 < h < nε of [h²/(8n) - k ln(1 - (h/(nε))²) + c ln t] / h

S_a is the sum of arm a's n rewards in k blocks, each with noise Lap(1/ε). w is the Chernoff bound of rewards
(Hoeffding) and noises at once: for fixed n and k the mean is off by more on one side with probability at most t^-c.
c = 4 matches UCB1; smaller c is empirical. The arm is chosen at the end of a block.

Privacy: every reward is in one released sum (phases.py): ε-DP for the whole action sequence at any horizon.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import public
from dpbandits.policies.phases import PhasePolicy, Phases, Tally, geometric_ends, phase_choice
from dpbandits.policies.policy import MAX_HORIZON, Setup


class Params(NamedTuple):
    """Constants of the kernels."""

    phases: Phases
    epsilon: float
    confidence: float


class State(NamedTuple):
    """Where the arms stand, the sums of their released blocks, and what is known about their indices."""

    tally: Tally
    totals: Annotated[Any, public("arms")]
    intercepts: Annotated[Any, public("arms")]  # a line above the index, as a function of c ln t
    slopes: Annotated[Any, public("arms")]
    levels: Annotated[Any, public("arms")]  # the c ln t at which the line touches the index


@kernel
def chernoff_tilt(n: float, noises: float, epsilon: float, level: float) -> tuple[float, float]:
    """Return v = (h/(nε))² and ln(1 - v) where the width is least, for level > 0 and at least one noise."""
    # There A v + k (2 (r - 1) - ln r) = level, with A = nε²/8 and r = 1/(1 - v). The left side increases, and ln r is
    # below each of its tangents: with one in its place v is a square root, and it comes down to the answer from above.
    a = n * epsilon * epsilon / 8.0
    rest = 1.0 / (1.0 + level / (a + 2.0 * noises))  # 1/r where the tangent touches
    log_rest = math.log(rest)
    for _ in range(60):
        slope = noises * (2.0 - rest)
        target = level - noises * (log_rest + 1.0 - rest)
        total = a + slope + target
        v = 2.0 * target / (total + math.sqrt(total * total - 4.0 * a * target))
        before, log_before = rest, log_rest
        rest, log_rest = 1.0 - v, math.log1p(-v)
        excess = noises * (before / rest - 1.0 + log_rest - log_before)  # what the tangent is above ln r
        if not excess > 1e-5 * level:  # the width is flat around its least value: it is exact to about 1e-10
            break
    return v, log_rest


@kernel
def touch(params: Params, state: State, arm: int, level: float) -> None:
    """Draw the line of an arm that touches its index at this level.

    For a fixed h, mean + [h²/(8n) - k ln(1 - (h/(nε))²) + level] / h is a straight line in the level; the index is the
    least of all these lines.
    """
    n, noises, epsilon = float(state.tally.counts[arm]), float(state.tally.done[arm]), params.epsilon
    v, log_rest = chernoff_tilt(n, noises, epsilon, level)
    slope = 1.0 / (math.sqrt(v) * n * epsilon)
    fixed = n * epsilon * epsilon * v / 8.0 - noises * log_rest
    state.intercepts[arm] = state.totals[arm] / n + fixed * slope
    state.slopes[arm] = slope
    state.levels[arm] = level


@kernel
def _learn(params: Params, state: State, arm: int, value: float, t: int) -> None:
    state.totals[arm] += value
    touch(params, state, arm, params.confidence * math.log(t))


@phase_choice(Params, learn=_learn)
@kernel
def _choose(params: Params, state: State, arm: int, t: int) -> int:
    level = params.confidence * math.log(t)
    while True:  # who has the highest line has the largest index, if the line touches it now
        choice, highest = 0, -math.inf
        for other in range(len(state.totals)):
            line = state.intercepts[other] + state.slopes[other] * level
            if line > highest:
                choice, highest = other, line
        if state.levels[choice] == level:
            return choice
        touch(params, state, choice, level)


@dataclass(frozen=True, kw_only=True)
class BlockUCB(PhasePolicy):
    """Block-UCB: every reward is used for ever and released once.

    Args:
        epsilon: the budget of the whole action sequence.
        confidence: c of the width; 4 is the counterpart of UCB1.
        growth: how much longer an arm has been played at the end of a block than at the end of the one before.
        first_phase: how many plays the first block of every arm has.

    >>> print(BlockUCB(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(BlockUCB(epsilon=1.0), [0.9, 0.6], steps=1000)  # arms that always give 0.9 and 0.6
    [872, 128]
    """

    name = "block-ucb"
    source = "this project; blocks as in the logarithmic mechanism (Chan, Shi & Song 2011)"

    confidence: float = 4.0
    growth: float = 2.0
    first_phase: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.real_fields(self, confidence="(0, 1000]", growth="[1.01, 100]")
        _validate.integer_fields(self, first_phase=f"[1, {MAX_HORIZON}]")

    def phase_ends(self) -> Iterator[int]:
        """Yield the first block, and from then on counts that grow by at least the factor `growth`."""
        return geometric_ends(self.first_phase, self.growth)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one with the usual blocks, and one with short ones and little caution."""
        return cls(epsilon=0.7), cls(epsilon=7.0, confidence=0.5, growth=1.2, first_phase=3)

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(self.phases(horizon), self.epsilon, self.confidence), State)
