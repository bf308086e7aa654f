"""DP-SE: successive elimination. In every epoch all remaining arms are played equally often; bad ones are dropped.

    epoch e, arms S, D = 2^-e:   R_e = max{ 32 ln(8|S|e²/β) / D², 8 ln(4|S|e²/β) / (ε D) } + 1 plays of each
    h = √(ln(8|S|e²/β) / (2 R_e)),  c = ln(4|S|e²/β) / (ε R_e);  drop a if max μ - μ_a > 2h + 2c
                                                                                        (Sajed & Sheffet 2019)

Means are of one epoch alone, with independent noise Lap(1/(ε R_e)) for every arm. β = 1/T, so T is needed: it is the
horizon the policy is configured for. Regret of order Σ ln T / Δ_a + K ln T / ε.

Within an epoch the arms are played one after another (`order="blocks"`) or in turn (`order="turns"`). Whole epochs
cost the same, but the horizon cuts the last one: in blocks the regret then depends on where the best arm stands. With
means 0.75, 0.625, 0.5, 0.375, 0.25, ε = 1 and T = 5000, less than the first epoch, it is 703 if the best comes first,
1797 if it comes last, and 1250 in turn.

Privacy: every reward is in one released sum: ε-DP for the whole action sequence. How long an epoch is depends on which
arms earlier releases have left, so the blocks are not fixed in advance, but their noise is.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.phases import ONE_RELEASE
from dpbandits.policies.policy import EPSILONS, FOREVER, Policy, Setup, hold, select, update
from dpbandits.privacy import Guarantee, scale_for

EpochOrder = Literal["blocks", "turns"]
EPOCH_ORDERS: tuple[EpochOrder, ...] = get_args(EpochOrder)


class Params(NamedTuple):
    """Constants of the kernels."""

    scale: float
    epsilon: float
    failure: float  # β
    in_turn: bool


class State(NamedTuple):
    """The epoch, the arms that are left, and their means. Zeros are the beginning: no epoch, no arm dropped."""

    epoch: Annotated[Any, public("one", dtype=np.int64)]
    arm: Annotated[Any, public("one", dtype=np.int64)]
    plays: Annotated[Any, public("one", dtype=np.int64)]  # plays of that arm in this epoch; in turn, of every arm
    dropped: Annotated[Any, public("arms", dtype=np.int64)]
    means: Annotated[Any, public("arms")]
    totals: Annotated[Any, secret("arms")]  # of this epoch


@kernel
def arms_left(state: State) -> int:
    """Return how many arms have not been dropped."""
    left = 0
    for arm in range(len(state.dropped)):
        left += 1 - state.dropped[arm]
    return left


@kernel
def plays_of_epoch(params: Params, arms: int, epoch: int) -> int:
    """Return R_e."""
    gap = 0.5**epoch
    spread = math.log(8.0 * arms * epoch * epoch / params.failure)
    noise = math.log(4.0 * arms * epoch * epoch / params.failure)
    return int(min(max(32.0 * spread / (gap * gap), 8.0 * noise / (params.epsilon * gap)) + 1.0, 4e18))


@kernel
def next_left(state: State, arm: int) -> int:
    """Return the first arm after `arm` that is left; the number of arms if there is none."""
    arm += 1
    while arm < len(state.dropped) and state.dropped[arm] > 0:
        arm += 1
    return arm


@kernel
def drop(params: Params, state: State, plays: int) -> None:
    """End an epoch: drop every arm whose mean is clearly below the best."""
    epoch, arms = state.epoch[0] + 1, arms_left(state)
    best = -math.inf
    for arm in range(len(state.means)):
        if state.dropped[arm] == 0:
            best = max(best, state.means[arm])
    spread = math.sqrt(math.log(8.0 * arms * epoch * epoch / params.failure) / (2.0 * plays))
    noise = math.log(4.0 * arms * epoch * epoch / params.failure) / (params.epsilon * plays)
    for arm in range(len(state.means)):
        if best - state.means[arm] > 2.0 * spread + 2.0 * noise:
            state.dropped[arm] = 1


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    return state.arm[0]


@hold.register(Params)
@kernel
def _hold(params: Params, state: State, arm: int, t: int) -> int:
    arms = arms_left(state)
    if arms == 1:
        return FOREVER
    if params.in_turn:
        return 1
    return plays_of_epoch(params, arms, state.epoch[0] + 1) - state.plays[0]


@kernel
def release_mean(params: Params, state: State, arm: int, plays: int, noise: Any) -> None:
    """Release the sum of an arm in this epoch, once, and forget it."""
    state.means[arm] = release(noise, state.totals[arm], params.scale, LAPLACE, arm) / plays
    state.totals[arm] = 0


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    arms = arms_left(state)
    if arms == 1:
        return
    length = plays_of_epoch(params, arms, state.epoch[0] + 1)
    following = next_left(state, arm)
    is_last = following == len(state.dropped)
    state.totals[arm] = state.totals[arm] + reward
    if params.in_turn:
        state.arm[0] = next_left(state, -1) if is_last else following
        if not is_last:
            return
        state.plays[0] += 1
        if state.plays[0] < length:
            return
        for each in range(len(state.dropped)):
            if state.dropped[each] == 0:
                release_mean(params, state, each, length, noise)
    else:
        state.plays[0] += plays
        if state.plays[0] < length:
            return
        release_mean(params, state, arm, length, noise)
        state.arm[0] = following
    state.plays[0] = 0
    if is_last:
        drop(params, state, length)
        state.epoch[0] += 1
        state.arm[0] = next_left(state, -1)


@dataclass(frozen=True, kw_only=True)
class DPSE(Policy):
    """DP-SE: successive elimination, for a horizon that is known.

    Args:
        epsilon: the budget of the whole action sequence.
        order: of the plays in an epoch: "blocks", one arm after another, or "turns". In blocks it is far quicker to
            simulate, but regret depends on where the best arm stands.

    >>> print(DPSE(epsilon=0.5).guarantee())
    (0.5, 0)-DP in one reward at any horizon, by one release of every reward (parallel composition)
    >>> from dpbandits.engine.game import count_plays
    >>> count_plays(DPSE(epsilon=1.0), [0.9, 0.6], steps=10_000)  # arms that always give 0.9 and 0.6
    [8466, 1534]
    """

    name = "dp-se"
    source = "Sajed & Sheffet 2019"
    regret = "order Σ ln T / Δ + K ln T / ε"

    epsilon: float
    order: EpochOrder = "blocks"

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS)
        _validate.one_of(EPOCH_ORDERS, order=self.order)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return one of either order."""
        return cls(epsilon=0.7), cls(epsilon=0.7, order="turns")

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        return Setup(Params(scale_for(self.epsilon), self.epsilon, 1.0 / horizon, self.order == "turns"), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee of epsilon, at any horizon."""
        return Guarantee(self.epsilon, horizon=horizon, theorem=ONE_RELEASE, proved=True)
