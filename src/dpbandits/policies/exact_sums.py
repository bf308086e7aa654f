"""Exact sums: what the yardsticks without privacy keep of every arm, and how they take in rewards."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import public, secret


class ExactSums(NamedTuple):
    """How often every arm was played, and what its rewards add up to. A policy that chooses by this is not private."""

    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, secret("arms")]
    means: Annotated[Any, secret("arms")]


@kernel
def add_rewards(exact: ExactSums, arm: int, plays: int, reward: Any) -> None:
    """Take in the rewards of `plays` plays of an arm, in one sum."""
    n = exact.counts[arm] + plays
    total = exact.sums[arm] + reward
    exact.counts[arm] = n
    exact.sums[arm] = total
    exact.means[arm] = total / n
