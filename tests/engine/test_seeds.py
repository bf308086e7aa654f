"""The random numbers of a policy stay the same when it is renamed: published numbers can be repeated."""

import hashlib

import pytest

import dpbandits as dpb
from dpbandits.engine.seeds import copies_before, number_of_policy, seed_of_policy
from dpbandits.policies import POLICIES, Policy

# What the numbers were first derived from. These texts never change, whatever becomes of names and settings.
KEYS: dict[str, Policy] = {
    "UCB()": dpb.UCB(),
    "KLUCB()": dpb.KLUCB(),
    "IMED()": dpb.IMED(),
    "ThompsonSampling()": dpb.ThompsonSampling(),
    "PrivateUCB(epsilon=0.5, relaxation='published', split_over_arms=True)": dpb.PrivateUCB(epsilon=0.5),
    "DPUCB(epsilon=0.5, variant='proved', counter='hybrid')": dpb.DPUCB(epsilon=0.5),
    "DPUCBBound(epsilon=0.5, variant='proved', counter='hybrid')": dpb.DPUCBBound(epsilon=0.5),
    "DPUCBInt(epsilon=0.5, delta=1e-06, v=1.1, series='y', bonus='live', accounting='tight', horizon=None, "
    "grid_bits=None, density=None)": dpb.DPUCBInt(epsilon=0.5, delta=1e-6),
    "HybridDMAB(epsilon=0.5, variant='proved', balance=0.5)": dpb.HybridDMAB(epsilon=0.5),
    "DPIMED(epsilon=0.5, index='published', growth=None, first_phase=None, caution=None)": dpb.DPIMED(epsilon=0.5),
    "DPIMED(epsilon=0.5, index='noise-aware', growth=2.0, first_phase=None, caution=0.5)": dpb.NoiseAwareIMED(
        epsilon=0.5, growth=2.0, caution=0.5
    ),
    "DPKLUCB(epsilon=0.5, index='published', growth=None, first_phase=None)": dpb.DPKLUCB(epsilon=0.5),
    "DPKLUCB(epsilon=0.5, index='noise-aware', growth=None, first_phase=3)": dpb.NoiseAwareKLUCB(
        epsilon=0.5, first_phase=3
    ),
    "AdaPUCB(epsilon=0.5, alpha=3.1)": dpb.AdaPUCB(epsilon=0.5),
    "AdaPKLUCB(epsilon=0.5, alpha=3.1)": dpb.AdaPKLUCB(epsilon=0.5),
    "LazyDPTS(epsilon=0.5)": dpb.LazyDPTS(epsilon=0.5),
    "AnytimeLazyUCB(epsilon=0.5)": dpb.AnytimeLazyUCB(epsilon=0.5),
    "DPSE(epsilon=0.5, order='blocks')": dpb.DPSE(epsilon=0.5),
    "BlockUCB(epsilon=0.5, confidence=4.0, growth=2.0, first_phase=1)": dpb.BlockUCB(epsilon=0.5),
    "AdaCUCB(epsilon=0.5, delta=1e-06, beta=3.1)": dpb.AdaCUCB(epsilon=0.5, delta=1e-6),
    "LDPUCBBernoulli(epsilon=0.5)": dpb.LDPUCBBernoulli(epsilon=0.5),
    "LDPUCBLaplace(epsilon=0.5)": dpb.LDPUCBLaplace(epsilon=0.5),
}


@pytest.mark.parametrize("text", KEYS)
def test_a_key_never_changes(text: str) -> None:
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
    assert number_of_policy(KEYS[text]) == number


def test_every_key_that_is_not_the_repr_is_written_down_here() -> None:
    renamed = {kind for kind in POLICIES.values() if kind.seed_text}
    assert renamed <= {type(policy) for policy in KEYS.values()}


def test_equal_policies_get_different_seeds_and_others_do_not_matter() -> None:
    policies = [dpb.UCB(), dpb.IMED(), dpb.UCB()]
    assert copies_before(policies) == [0, 0, 1]
    seeds = [seed_of_policy(7, policy, copy) for policy, copy in zip(policies, copies_before(policies), strict=True)]
    assert seeds[0].spawn_key == seed_of_policy(7, dpb.UCB()).spawn_key
    assert len({seed.spawn_key for seed in seeds}) == 3
