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
    """Return the first power of two by which the policy, with equal arms, has taken one of several ways by its noise.

    If there is none, the first by which it has released twice as often as it has arms; if it releases nothing, 8.
    """
    released = None
    horizon = SHORTEST
    while horizon <= LONGEST:
        asked = horizon if policy.horizon is None else min(horizon, policy.horizon)
        found = Trials(policy, arms, asked, seed=0).outcomes(Script([0.0] * asked), _TRIALS)
        releases = _releases(policy, arms, asked)
        if releases >= 2 * arms and released is None:
            released = asked
        if releases and (arms == 1 or np.count_nonzero(found.counts >= _OFTEN) >= _DIFFERENT):
            return asked
        if asked < horizon:
            break
        horizon *= 2
    shortest = SHORTEST if policy.horizon is None else min(SHORTEST, policy.horizon)
    return released or shortest


def _releases(policy: Policy, arms: int, horizon: int) -> int:
    noise = RecordingNoise(SeededNoise(0), Ledger())
    Game(policy, arms, horizon, noise).play(lambda t, arm: 0.0, horizon, "blocks")
    return len(noise.ledger)
