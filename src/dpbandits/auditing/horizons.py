"""How long a policy must be played until its choices tell something."""

import numpy as np

from dpbandits.auditing.playing import Game
from dpbandits.mechanisms import RecordingNoise, SeededNoise
from dpbandits.policies.base import Policy
from dpbandits.privacy import Ledger
from dpbandits.simulation.script import Script
from dpbandits.simulation.trials import Trials

SHORTEST = 8
LONGEST = 2**16
_TRIALS = 256
_OFTEN = 8
_DIFFERENT = 4


def telling_horizon(policy: Policy, arms: int) -> int:
    """Return about the shortest horizon by which the policy, with equal arms, has gone several ways by its noise.

    If there is none, the first power of two by which it has released twice as often as it has arms; if it releases
    nothing, 8.
    """
    released = None
    horizon = SHORTEST
    while horizon <= LONGEST:
        asked = horizon if policy.horizon is None else min(horizon, policy.horizon)
        releases = _releases(policy, arms, asked)
        if releases >= 2 * arms and released is None:
            released = asked
        if releases and _ways(policy, arms, asked) >= _DIFFERENT:
            shorter = (asked * eighths // 8 for eighths in (5, 6, 7) if asked > SHORTEST)
            return next((less for less in shorter if _ways(policy, arms, less) >= _DIFFERENT), asked)
        if asked < horizon:
            break
        horizon *= 2
    shortest = SHORTEST if policy.horizon is None else min(SHORTEST, policy.horizon)
    return released or shortest


def _ways(policy: Policy, arms: int, horizon: int) -> int:
    """Return how many sequences of arms come often; with one arm there is no choice to wait for."""
    if arms == 1:
        return _DIFFERENT
    found = Trials(policy, arms, horizon, seed=0).outcomes(Script([0.0] * horizon), _TRIALS)
    return int(np.count_nonzero(found.counts >= _OFTEN))


def _releases(policy: Policy, arms: int, horizon: int) -> int:
    noise = RecordingNoise(SeededNoise(0), Ledger())
    Game(policy, arms, horizon, noise).play(lambda t, arm: 0.0, horizon, "blocks")
    return len(noise.ledger)
