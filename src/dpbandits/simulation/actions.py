"""count_actions: how often a policy chooses which sequence of arms when the rewards are given in advance.

Two reward sequences that differ in one entry are neighbours: the ratio of these frequencies is what differential
privacy bounds.
"""

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import _validate
from dpbandits.environments import Replay
from dpbandits.environments.base import numbers
from dpbandits.errors import InvalidInput
from dpbandits.policies.base import Policy
from dpbandits.simulation.job import Job

_MAX_SEQUENCES = 2**22
_TRIALS_AT_ONCE = 2**16


class _Script(Replay):
    """Given rewards, one per time, whatever the arm; and gaps 0, 1, 2, ..., by which regret tells the arm."""

    @property
    def gaps(self) -> NDArray[np.float64]:
        return np.arange(self.arms, dtype=np.float64)


def count_actions(policy: Policy, rewards: ArrayLike, *, arms: int, trials: int, seed: int) -> Counter[tuple[int, ...]]:
    """Play a policy many times on the same rewards and count the sequences of arms, numbered from 1.

    >>> from dpbandits import UCB
    >>> count_actions(UCB(), [0, 1, 0, 0], arms=2, trials=10, seed=0)
    Counter({(1, 2, 2, 2): 10})
    """
    rewards = numbers("rewards", rewards, 0, 1)
    arms = _validate.integer("[1, 1000]", arms=arms)
    trials = _validate.integer("[1, inf)", trials=trials)
    steps = len(rewards)
    if arms**steps > _MAX_SEQUENCES:
        raise InvalidInput(f"Expected arms={arms} and {steps} rewards to have at most {_MAX_SEQUENCES} sequences.")
    script = _Script(np.repeat(rewards[:, None], arms, axis=1), order="given")
    times = np.arange(1, steps + 1)
    job = Job(policy, script, steps, times, blocks=False)
    places = arms ** np.arange(steps - 1, -1, -1)
    counts = np.zeros(arms**steps, dtype=np.int64)
    seeds = np.random.SeedSequence(_validate.integer("[0, inf)", seed=seed))
    for first in range(0, trials, _TRIALS_AT_ONCE):
        regrets = np.empty((min(_TRIALS_AT_ONCE, trials - first), steps))
        job.play(seeds.spawn(1)[0], regrets)
        played = np.diff(regrets, axis=1, prepend=0.0).round().astype(np.int64)
        counts += np.bincount(played @ places, minlength=len(counts))
    found = np.flatnonzero(counts)
    return Counter({tuple((code // places % arms + 1).tolist()): int(counts[code]) for code in found})
