"""Every policy, with several settings: what tests of all of them go through. A new one is added to `SETTINGS`."""

from collections.abc import Callable

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.policies import Policy
from dpbandits.policies.phases import PhasePolicy

DELTA = 1e-6
HORIZON = 260
LONGEST = 4700  # DP-SE releases nothing before some 1500 plays of every arm
ARMS = 3
SEEDS = np.random.SeedSequence(8)

SETTINGS: list[Policy] = [
    dpb.UCB(),
    dpb.KLUCB(),
    dpb.IMED(),
    dpb.ThompsonSampling(),
    dpb.PrivateUCB(epsilon=0.7),
    dpb.PrivateUCB(epsilon=0.7, relaxation="none", split_over_arms=False),
    dpb.DPUCB(epsilon=0.7),
    dpb.DPUCB(epsilon=0.7, variant="published"),
    dpb.DPUCB(epsilon=0.7, counter="weighted"),
    dpb.DPUCBBound(epsilon=0.7),
    dpb.DPUCBBound(epsilon=0.7, variant="published"),
    dpb.DPUCBBound(epsilon=0.7, counter="weighted"),
    dpb.DPUCBInt(epsilon=3.0, delta=DELTA),
    dpb.DPUCBInt(epsilon=3.0, delta=0.0, horizon=HORIZON),
    dpb.DPUCBInt(epsilon=9.0, delta=DELTA, bonus="frozen", accounting="corollary", series="x"),
    dpb.DPUCBInt(epsilon=3.0, delta=DELTA, series="constant", v=1.3),
    dpb.DPUCBInt(epsilon=3.0, delta=DELTA, horizon=HORIZON, grid_bits=2),
    dpb.HybridDMAB(epsilon=0.7),
    dpb.HybridDMAB(epsilon=7000.0, variant="published", balance=0.9),
    dpb.DPIMED(epsilon=0.7),
    dpb.DPIMED(epsilon=7.0, growth=1.2, first_phase=4, caution=0.5),
    dpb.NoiseAwareIMED(epsilon=0.7, first_phase=5),
    dpb.NoiseAwareIMED(epsilon=3.0, growth=1.1, caution=-2.0),
    dpb.NoiseAwareIMED(epsilon=0.1, growth=2.0, first_phase=2),
    dpb.DPKLUCB(epsilon=0.7),
    dpb.DPKLUCB(epsilon=7.0, growth=1.2, first_phase=4),
    dpb.NoiseAwareKLUCB(epsilon=0.7, first_phase=4),
    dpb.NoiseAwareKLUCB(epsilon=7.0, growth=1.1),
    dpb.AdaPUCB(epsilon=0.7),
    dpb.AdaPUCB(epsilon=7.0, alpha=0.5),
    dpb.AdaPKLUCB(epsilon=0.7),
    dpb.AdaPKLUCB(epsilon=7.0, alpha=0.5),
    dpb.LazyDPTS(epsilon=0.7),
    dpb.AnytimeLazyUCB(epsilon=0.7),
    dpb.AnytimeLazyUCB(epsilon=70.0),
    dpb.DPSE(epsilon=0.7),
    dpb.DPSE(epsilon=0.7, order="turns"),
    dpb.BlockUCB(epsilon=0.7),
    dpb.BlockUCB(epsilon=7.0, confidence=0.5, growth=1.2, first_phase=3),
    dpb.AdaCUCB(epsilon=0.7, delta=DELTA),
    dpb.AdaCUCB(epsilon=20.0, delta=DELTA, beta=0.5),
    dpb.LDPUCBBernoulli(epsilon=0.7),
    dpb.LDPUCBLaplace(epsilon=7.0),
]
PRIVATE = [policy for policy in SETTINGS if policy.guarantee(HORIZON) is not None]
NOT_PRIVATE = [policy for policy in SETTINGS if policy not in PRIVATE]
# Every reward is in one release, so these lose exactly what they say.
ONE_RELEASE = [
    policy for policy in PRIVATE if isinstance(policy, PhasePolicy | dpb.DPSE | dpb.LDPUCBBernoulli | dpb.LDPUCBLaplace)
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
