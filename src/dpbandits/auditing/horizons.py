"""How long a policy must be played before its choices depend on its noise."""

import numpy as np

from dpbandits.auditing.replay_noise import COUNTERS, RELEASES, WatchedNoise
from dpbandits.auditing.trials import Trials
from dpbandits.engine.game import BLOCKS, Game
from dpbandits.environments.given import Given
from dpbandits.mechanisms import SeededNoise
from dpbandits.policies.policy import Policy

SHORTEST = 8
LONGEST = 2**16
_TRIALS = 256
_OFTEN = 8
_DIFFERENT = 4
_SILENT = 2**14  # steps: a policy that has released nothing by then never will
_QUICK_STEPS = 2**16


def telling_horizon(policy: Policy, arms: int) -> int:
    """Return about the shortest horizon by which the policy, with equal arms, has gone several ways by its noise.

    If there is none, the first power of two by which it has gone two ways, or has released twice as often as it has
    arms; if it releases nothing, the shortest in which it can play every arm.
    """
    shortest = max(SHORTEST, 2 ** (2 * arms - 1).bit_length())
    horizon = shortest
    two_ways: int | None = None
    released: int | None = None
    while horizon <= LONGEST:
        steps: int = horizon if policy.horizon is None else min(horizon, policy.horizon)
        releases, ways = _releases(policy, arms, steps), _ways(policy, arms, steps)
        if releases >= 2 * arms and released is None:
            released = steps
        if releases and ways >= 2 and two_ways is None:
            two_ways = steps
        if releases and ways >= _DIFFERENT:
            shorter = (steps * eighths // 8 for eighths in (5, 6, 7) if steps > shortest)
            return next((less for less in shorter if _ways(policy, arms, less) >= _DIFFERENT), steps)
        if steps < horizon or (not releases and horizon >= _SILENT):
            break
        horizon *= 2
    return two_ways or released or (shortest if policy.horizon is None else min(shortest, policy.horizon))


def _ways(policy: Policy, arms: int, horizon: int) -> int:
    """Return how many sequences of arms come often; with one arm there is no choice to wait for."""
    if arms == 1:
        return _DIFFERENT
    outcomes = Trials(policy, arms, horizon, seed=0).outcomes(Given([0.0] * horizon, arms), _TRIALS)
    return int(np.count_nonzero(outcomes.counts >= _OFTEN))


def _releases(policy: Policy, arms: int, horizon: int) -> int:
    """Return how often it releases something; for very long runs of many arms as far as that is quickly seen."""
    noise = WatchedNoise(SeededNoise(0), np.empty(0), np.zeros(COUNTERS, dtype=np.int64))
    horizon = min(horizon, max(SHORTEST, _QUICK_STEPS // arms))
    Game(policy, arms, horizon, noise).play(lambda t, arm: 0.0, horizon, BLOCKS)
    return int(noise.counters[RELEASES])
