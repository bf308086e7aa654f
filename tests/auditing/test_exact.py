"""The exact audit: what every reward loses, from the code itself."""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.auditing.broken import BROKEN
from dpbandits.auditing.exact import _adversaries as adversaries
from dpbandits.auditing.playing import Game
from dpbandits.auditing.secret import Leak, Secret, secret_reward
from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import CARRIED, GAUSSIAN, RESPONSE, release, reserve
from dpbandits.policies import POLICIES, Policy
from dpbandits.privacy import compose

DELTA = 1e-6


def shipped() -> list[Policy]:
    policies = []
    for kind in POLICIES.values():
        known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        for epsilon in (0.1, 1.0):
            given = {"epsilon": epsilon, "delta": DELTA}
            policy = kind(**{name: value for name, value in given.items() if name in known})
            if policy.guarantee(1000) is not None:
                policies.append(policy)
    return policies


# At a small epsilon this one releases nothing for ten thousand steps, which takes long in plain Python.
SHIPPED = [policy for policy in shipped() if policy != dpb.DPUCBInt(epsilon=0.1, delta=DELTA)]


@pytest.mark.parametrize("policy", SHIPPED, ids=repr)
def test_no_default_policy_loses_more_than_it_guarantees(policy: Any) -> None:
    found = dpb.exact_audit(policy)
    assert not found.refuted
    assert found.leak is None
    assert found.epsilon <= found.claim.epsilon * (1 + 1e-9) <= policy.epsilon * (1 + 1e-9)
    assert found.epsilon > 0.4 * found.claim.epsilon  # it looked at something
    assert found.losses.max() > 0


@pytest.mark.parametrize("kind", [dpb.DPUCB, dpb.DPUCBBound, dpb.HybridDMAB])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_published_hybrid_loses_twice_what_it_claims(kind: Any, epsilon: float) -> None:
    found = dpb.exact_audit(kind(epsilon=epsilon, variant="published"), horizon=64)
    assert found.refuted
    assert found.epsilon == pytest.approx(2 * epsilon, rel=1e-12)
    assert found.proved is not None
    assert found.epsilon <= found.proved.epsilon * (1 + 1e-12)


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_policy_is_refuted(name: str) -> None:
    found = dpb.exact_audit(BROKEN[name].make(1.0, DELTA))
    assert found.refuted
    leaks = {"one-arm-only", "data-dependent-time", "raw-tie-break"}
    assert (found.leak is not None) == (name in leaks)
    assert math.isinf(found.epsilon) == (name in leaks | {"shared-noise"})


def test_a_schedule_past_its_horizon_is_refuted_there_alone() -> None:
    """Up to the declared horizon it is what it says."""
    policy: Any = BROKEN["past-horizon"].make(1.0, 0.0)
    found = dpb.exact_audit(policy)
    assert (found.horizon, len(found.losses)) == (64, 128)
    right = dpb.exact_audit(dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=64))
    assert not right.refuted
    assert right.epsilon == pytest.approx(right.claim.epsilon, rel=1e-9)
    assert found.epsilon > 1.2 > right.claim.epsilon


def test_with_delta_the_accountant_composes_the_worst_reward() -> None:
    policy = dpb.DPUCBInt(epsilon=3.0, delta=DELTA)
    found = dpb.exact_audit(policy, horizon=200)
    (schedule,) = policy.schedule(2, 200)
    assert found.epsilon == pytest.approx(compose(list(schedule), DELTA).epsilon, rel=1e-9)


def test_adversaries_go_where_chance_does_not() -> None:
    """Each is a way to play of its own, and they reach arms that are played to the end, one by one and in turns."""
    played = {}
    for name, steer in adversaries(3, seed=1):
        game = Game(dpb.DPIMED(epsilon=0.1, first_phase=2), 3, 200, TaintNoise(1, steer), object)
        played[name] = tuple(game.play(lambda t, arm: secret_reward(t, 0.5), 200, "blocks").actions)
    assert len(set(played.values())) >= 5
    for arm in range(3):
        assert played[f"for arm {arm + 1}"].count(arm) > 100
    assert min(played["turns"].count(arm) for arm in range(3)) > 30


def test_runs_by_anybodys_noise_count_as_the_run_they_are() -> None:
    loud = TaintNoise(1, lambda drawn, scale, arm: 1e4 * scale)
    assert release(loud, secret_reward(1, 0.5), 2.0) == 0.5 + 2e4
    assert loud.losses() == {1: 0.5}


# ---- secrets


def test_a_secret_cannot_be_read() -> None:
    secret = secret_reward(1, 0.5)
    for read in (
        float,
        int,
        bool,
        repr,
        abs,
        round,
        np.asarray,
        lambda s: s > 0,
        lambda s: s == s,
        lambda s: [1][s],
        lambda s: s * s,
        lambda s: s**2,
    ):
        with pytest.raises((Leak, TypeError)):
            read(secret)
    with pytest.raises(TypeError):
        hash(secret)


def test_forms_add_up_exactly() -> None:
    noise = TaintNoise(1)
    total: Secret = 2 * secret_reward(1, 1.0) - secret_reward(2, 1.0) / 4 + 3
    release(noise, total, 0.5)
    release(noise, total - 2 * secret_reward(1, 1.0), 1.0)
    assert noise.losses() == {1: 4.0, 2: 0.75}
    assert {number: [event.scale for event in events] for number, events in noise.events().items()} == {  # type: ignore[union-attr]
        1: [0.25],
        2: [2.0, 4.0],
    }


def test_noise_in_several_releases() -> None:
    """N + r and N + 2r: no shift of N hides r. N + r twice: one shift hides both."""
    noise = TaintNoise(1)
    shared = reserve(noise, 2.0)
    release(noise, secret_reward(1, 1.0) + shared, CARRIED)
    release(noise, secret_reward(1, 1.0) + shared, CARRIED)
    assert noise.losses() == {1: pytest.approx(0.5)}
    release(noise, 2 * secret_reward(1, 1.0) + shared, CARRIED)
    assert noise.losses() == {1: math.inf}
    with pytest.raises(Leak, match="several releases"):
        noise.events()
    with pytest.raises(Leak, match="zCDP"):
        noise.rhos()


def test_other_mechanisms() -> None:
    noise = TaintNoise(1)
    release(noise, secret_reward(1, 1.0), 2.0, RESPONSE)
    assert noise.losses() == {1: 0.5}
    with pytest.raises(Leak, match="not one whole reward"):
        release(noise, secret_reward(1, 1.0) + secret_reward(2, 1.0), 2.0, RESPONSE)
    gauss = TaintNoise(1)
    release(gauss, secret_reward(1, 1.0), 2.0, GAUSSIAN)
    assert gauss.rhos() == {1: 0.125}
    with pytest.raises(Leak, match="no pure loss"):
        gauss.losses()
