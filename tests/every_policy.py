"""Every policy, with the settings that it names itself: what tests of all of them go through."""

from collections.abc import Callable

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.policies import POLICIES, PhasePolicy, Policy
from dpbandits.policies.local_policy import LocalPolicy

DELTA = 1e-6
HORIZON = 260
LONGEST = 4700  # DP-SE releases nothing before some 1500 plays of every arm
ARMS = 3
SEEDS = np.random.SeedSequence(8)

SETTINGS: list[Policy] = [policy for kind in POLICIES.values() for policy in kind.examples()]
PRIVATE = [policy for policy in SETTINGS if policy.guarantee(HORIZON) is not None]
NOT_PRIVATE = [policy for policy in SETTINGS if policy not in PRIVATE]
# Every reward is in one release, so these lose exactly what they say.
ONE_RELEASE = [
    policy
    for policy in PRIVATE
    if isinstance(policy, PhasePolicy | dpb.DPSE | LocalPolicy) and not isinstance(policy, dpb.AdaCUCB)
]


def horizon_of(policy: Policy) -> int:
    """Return how long a policy is played: until it has released something several times."""
    return LONGEST if isinstance(policy, dpb.DPSE) else HORIZON


def beyond(policy: Policy) -> int:
    """Return a later time: somebody plays on."""
    return horizon_of(policy) + 40


def shown(policy: Policy) -> str:
    return repr(policy).replace(" ", "")


every_policy = pytest.mark.parametrize("policy", SETTINGS, ids=shown)
every_private_policy = pytest.mark.parametrize("policy", PRIVATE, ids=shown)
every_other_policy = pytest.mark.parametrize("policy", NOT_PRIVATE, ids=shown)


def bits(seed: int) -> Callable[[int, int], float]:
    """Return rewards that depend on time and arm alone."""
    table = np.random.default_rng(seed).random((LONGEST + 41, ARMS)) < [0.3, 0.7, 0.5]
    return lambda t, arm: float(table[t, arm])
