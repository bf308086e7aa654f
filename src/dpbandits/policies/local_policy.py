"""The local model: every reward is released on its own before anybody sees it; all else is made from the releases.

Privacy: whoever runs the bandit need not be trusted with the rewards. A reward is in one release, so the whole action
sequence is ε-DP at any horizon.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import public
from dpbandits.policies.exploration import Tables, inverse, inverse_root
from dpbandits.policies.policy import EPSILONS, Policy
from dpbandits.privacy import Guarantee


class LocalState(NamedTuple):
    """What is kept for every arm: what was released of its rewards, which is public."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]
    means: Annotated[Any, public("arms")]
    widths: Annotated[Any, public("arms")]  # how much √(2 ln t) counts in the index


@kernel
def learn_released(tables: Tables, breadth: float, state: LocalState, arm: int, plays: int, released: float) -> None:
    """Take in what was released of the reward of an arm, whose width is breadth/√n."""
    n = state.counts[arm] + plays
    state.sums[arm] += released
    state.counts[arm] = n
    state.means[arm] = state.sums[arm] * inverse(tables, n)
    state.widths[arm] = breadth * inverse_root(tables, n)


@dataclass(frozen=True, kw_only=True)
class LocalPolicy(Policy):
    """What local policies share: the budget of one reward, which is that of the whole action sequence."""

    theorem: ClassVar[str]

    epsilon: float

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon=EPSILONS)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee of epsilon, at any horizon."""
        return Guarantee(self.epsilon, horizon=horizon, theorem=self.theorem, proved=True)
