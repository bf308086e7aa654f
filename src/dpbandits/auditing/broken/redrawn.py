"""A tree whose nodes get new noise whenever the sum is read. It is not private, and nobody should use it.

    s_a(t) = Σ over the nodes that make up n_a:  node + Lap(levels / ε),   drawn again at every step

With noise that is drawn once per node, this would be the binary mechanism, and ε-DP.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import LAPLACE, release
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies.exploration import Tables, inverse, inverse_root, root, tables
from dpbandits.policies.policy import Policy, Setup, every_step, hold, select, update
from dpbandits.privacy import Guarantee


class Params(NamedTuple):
    """Constants of the kernels."""

    tables: Tables
    scale: float


class State(NamedTuple):
    """What is kept for every arm: its plays, its sum as last read, and the nodes of its tree by level."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    released: Annotated[Any, public("arms")]
    nodes: Annotated[Any, secret("arms", "levels")]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.counts)
    if t <= arms:
        return t - 1
    best, highest = 0, -math.inf
    for arm in range(arms):
        n = state.counts[arm]
        index = state.released[arm] * inverse(params.tables, n) + root(params.tables, t) * inverse_root(
            params.tables, n
        )
        best = arm if index > highest else best
        highest = index if index > highest else highest
    return best


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    levels = state.nodes.shape[1]
    if state.counts[arm] + 1 >= 2**levels:
        return  # the tree is full
    level = 0
    node = reward
    while (state.counts[arm] >> level) & 1:  # two nodes of a level become one of the next
        node = node + state.nodes[arm, level]
        state.nodes[arm, level] = 0
        level += 1
    state.nodes[arm, level] = node
    state.counts[arm] += 1
    for each in range(len(state.counts)):
        total = 0.0
        for place in range(levels):
            if (state.counts[each] >> place) & 1:
                total += release(noise, state.nodes[each, place], params.scale, LAPLACE, each)  # drawn again
        state.released[each] = total


@dataclass(frozen=True, kw_only=True)
class RedrawnNodes(Policy):
    """UCB on trees with noise that is drawn at every reading."""

    name = "broken/redrawn-nodes"
    source = "made to be refuted"

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="(0, inf)")

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state."""
        levels = horizon.bit_length()
        return Setup(Params(tables(horizon), levels / self.epsilon), State, {"levels": levels})

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:
        """Return None: nothing is proved."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee that would hold if every noise were drawn once."""
        return Guarantee(self.epsilon, horizon=horizon, theorem="a mistake", proved=False)
