"""The exact audit: what every reward loses, from the code itself."""

import math
import random
from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.auditing.broken import BROKEN
from dpbandits.auditing.sentences import sentence, verdict
from dpbandits.auditing.steering import adversaries
from dpbandits.auditing.taint import TaintNoise
from dpbandits.engine.game import Game
from dpbandits.mechanisms import CARRIED, GAUSSIAN, RESPONSE, release, reserve
from dpbandits.mechanisms.linear import Leak, Secret, Unknown, secret_reward
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies import POLICIES, Policy, Setup, hold, select, update
from dpbandits.policies.policy import every_step
from dpbandits.privacy import GaussianEvent, Guarantee, LaplaceEvent, compose
from expected_noises import expected_noises

pytestmark = pytest.mark.slow

DELTA = 1e-6


def shipped(epsilon: float) -> list[Policy]:
    policies = []
    for kind in POLICIES.values():
        known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        given = {"epsilon": epsilon, "delta": DELTA}
        policy = kind(**{name: value for name, value in given.items() if name in known})
        if policy.guarantee(1000) is not None:
            policies.append(policy)
    return policies


@pytest.fixture
def _few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for lines that are not reached in so few steps, or by such a policy."""
    monkeypatch.setattr("dpbandits.auditing.runs._MORE_RUNS", 0)


few_runs = pytest.mark.usefixtures("_few_runs")


def is_within_its_guarantee(policy: Any, **asked: Any) -> bool:
    result = dpb.exact_audit(policy, **asked)
    assert not result.refuted
    assert result.leak is None
    assert result.epsilon <= result.claim.epsilon * (1 + 1e-9) <= policy.epsilon * (1 + 1e-9)
    assert result.epsilon > 0.25 * result.claim.epsilon  # it looked at something
    return bool(result.losses.max() > 0)


# Every way to count phases once, in runs of all sizes. test_reached has DP-IMED and AdaP-UCB with ε = 1,
# test_exact_unusual_policies DP-UCB-Int. Trees have the same nodes at every size: tests of the counters add up their
# losses.
IN_DEPTH = (dpb.DPIMED, dpb.NoiseAwareIMED, dpb.AdaPUCB, dpb.AdaCUCB, dpb.BlockUCB, dpb.DPSE)


@pytest.mark.parametrize("policy", [each for each in shipped(0.1) if isinstance(each, IN_DEPTH)], ids=repr)
def test_no_default_policy_loses_more_than_it_guarantees(policy: Any) -> None:
    assert is_within_its_guarantee(policy)


@few_runs
@pytest.mark.parametrize("policy", [each for each in shipped(1.0) if not isinstance(each, dpb.DPSE)], ids=repr)
def test_nor_does_any_in_short_runs(policy: Any) -> None:
    """DP-SE releases nothing in these."""
    assert is_within_its_guarantee(policy, arms=3, horizon=256 if isinstance(policy, dpb.DPUCBInt) else 64)


@few_runs
@pytest.mark.parametrize(("kind", "epsilon"), [(dpb.DPUCB, 0.1), (dpb.DPUCBBound, 1.0), (dpb.HybridDMAB, 3.0)])
def test_the_published_hybrid_loses_twice_what_it_claims(kind: Any, epsilon: float) -> None:
    result = dpb.exact_audit(kind(epsilon=epsilon, variant="published"), horizon=64)
    assert result.refuted
    assert result.epsilon == pytest.approx(2 * epsilon, rel=1e-12)
    assert result.proved is not None
    assert result.epsilon <= result.proved.epsilon * (1 + 1e-12)


CANNOT_BE_TOLD = {"small-noise"}  # what is drawn until it is small is refuted by what is seen of it, see test_audit


# In how many arms, and after how many steps, the worst is found; others are found with two arms and early.
WHERE = {
    "tenth-after-1024": (2, 1024),
    "overlapping-phases": (2, 4096),
    "pooled-again": (2, 1024),
    "weak-third-arm": (3, 0),
    "dropped-unreset": (3, 0),
}


@pytest.mark.parametrize("name", sorted(set(BROKEN) - CANNOT_BE_TOLD))
def test_every_broken_policy_is_refuted(name: str) -> None:
    result = dpb.exact_audit(BROKEN[name].make(1.0, DELTA))
    assert result.refuted
    leaks = {"one-arm-only", "data-dependent-time", "raw-tie-break"}
    assert (result.leak is not None) == (name in leaks)
    assert math.isinf(result.epsilon) == (name in leaks | {"shared-noise", "kept-noise"})
    arms, after = WHERE.get(name, (result.arms if name == "second-look" else 2, 0))  # which may come anywhere
    assert result.arms == arms
    assert result.horizon > after
    assert f"({arms} arms, {result.horizon:,} steps" in sentence(result)


@few_runs
@pytest.mark.parametrize("name", ["tenth-after-1024", "dropped-unreset"])
def test_few_arms_and_steps_are_not_enough_and_it_says_so(name: str) -> None:
    result = dpb.exact_audit(BROKEN[name].make(1.0, DELTA), arms=2, horizon=256)
    assert not result.refuted
    assert "2 arms for 256 steps" in sentence(result)


@pytest.mark.parametrize("name", sorted(CANNOT_BE_TOLD))
def test_what_reads_its_noise_cannot_be_told(name: str) -> None:
    result = dpb.exact_audit(BROKEN[name].make(1.0, DELTA))
    assert not result.refuted
    assert result.leak is None
    assert result.unknown == "a number that carries noise was read before its release"


@few_runs
def test_a_schedule_past_its_horizon_is_refuted_there_alone() -> None:
    """Up to the declared horizon it is what it says."""
    policy: Any = BROKEN["past-horizon"].make(1.0, 0.0)
    result = dpb.exact_audit(policy)
    assert (result.horizon, len(result.losses)) == (64, 128)
    right = dpb.exact_audit(dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=64))
    assert not right.refuted
    assert right.epsilon == pytest.approx(right.claim.epsilon, rel=1e-9)
    assert result.epsilon > 1.2 > right.claim.epsilon


@few_runs
def test_with_delta_the_accountant_composes_the_worst_reward() -> None:
    policy = dpb.DPUCBInt(epsilon=3.0, delta=DELTA)
    result = dpb.exact_audit(policy, arms=2, horizon=200)
    (schedule,) = expected_noises(policy, 2, 200)
    assert result.epsilon == pytest.approx(compose(list(schedule), DELTA).epsilon, rel=1e-9)


def test_adversaries_go_where_chance_does_not() -> None:
    """Each is a way to play of its own, and they reach arms that are played to the end, one by one and in turns."""
    played = {}
    for name, adversary in adversaries(3).items():
        steer = adversary(3, random.Random(1), 1)  # noqa: S311
        game = Game(dpb.DPIMED(epsilon=0.1, first_phase=2), 3, 200, TaintNoise(1, steer), object)
        played[name] = tuple(game.play(lambda t, arm: secret_reward(t, 0.5), 200, "blocks").actions)
    assert len(set(played.values())) >= 5
    for arm in range(3):
        assert played[f"for arm {arm + 1}"].count(arm) > 100
    assert min(played["turns"].count(arm) for arm in range(3)) > 30


def test_runs_by_anybodys_noise_count_as_the_run_they_are() -> None:
    loud = TaintNoise(1, lambda draw: 1e4 * draw.scale)
    assert release(loud, secret_reward(1, 0.5), 2.0) == 0.5 + 2e4
    assert loud.losses() == {1: 0.5}


# ---- secrets


def test_a_secret_cannot_be_read() -> None:
    number = secret_reward(1, 0.5)
    for read in (
        float,
        int,
        bool,
        repr,
        abs,
        round,
        np.asarray,
        lambda s: s > 0,
        lambda s: s == 0,
        lambda s: [1][s],
        lambda s: s**2,
        lambda s: s % 2,
        lambda s: s // 2,
        lambda s: 1 / s,
        str,
        "{}".format,
        math.floor,
    ):
        with pytest.raises((Leak, TypeError)):
            read(number)
    with pytest.raises(TypeError):
        hash(number)
    with pytest.raises(Unknown, match="multiplied by a secret"):
        number * number


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
    with pytest.raises(Unknown, match="several releases"):
        noise.events()
    with pytest.raises(Unknown, match="zCDP"):
        noise.rhos()


def test_a_small_part_of_a_reward_is_not_overlooked() -> None:
    """Without noise of its own it is lost, however small, and a tiny coefficient with noise loses as little."""
    noise = TaintNoise(1)
    shared = reserve(noise, 1.0)
    release(noise, secret_reward(1, 1.0) + shared, CARRIED)
    release(noise, secret_reward(2, 1.0) * 1e-8, CARRIED)
    release(noise, secret_reward(3, 1.0) * 1e-8 + shared, CARRIED)
    assert noise.losses() == {1: math.inf, 2: math.inf, 3: math.inf}
    alone = TaintNoise(1)
    release(alone, secret_reward(1, 1.0), CARRIED)
    assert alone.losses() == {1: math.inf}


@pytest.mark.parametrize("scale", [0.0, -0.5, math.inf, math.nan])
def test_noise_without_a_scale_is_no_noise(scale: float) -> None:
    with pytest.raises(Leak, match="protects nobody"):
        release(TaintNoise(1), secret_reward(1, 1.0), scale)


# ---- policies that are made for these tests


class Params(NamedTuple):
    what: int


class State(NamedTuple):
    kept: Annotated[Any, secret("one")]
    seen: Annotated[Any, public("one")]


@select.register(Params)
def _select(params: Params, state: State, t: int) -> int:
    return int(state.seen[0] > 0.5)


hold.register(Params)(every_step)

UNEVEN, SWALLOWING, COMPARED, CONDITIONAL, LONGER, PAIRED = range(6)


@update.register(Params)
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    if params.what == UNEVEN:  # the first reward in one release with little noise, the second in many with more
        for _ in range({2: 1, 3: 100}.get(t, 0)):
            release(noise, reward, 1.0 if t == 2 else 10.5)
    elif params.what == SWALLOWING:
        try:
            state.seen[0] = 1.0 if reward > 0.5 else 0.0
        except Exception:  # noqa: BLE001
            state.seen[0] = 0.0
    elif params.what == COMPARED and t == 2:
        mixed = release(noise, reward, 2.0, GAUSSIAN), release(noise, 0.0, 1.0)
        state.seen[0] = mixed[0]
    elif params.what == CONDITIONAL and t == 2:  # after either answer, releases of another kind
        if release(noise, reward, 4.0, RESPONSE) > 0.5:
            release(noise, reward, 1 / 1.858, RESPONSE)
        else:
            for _ in range(5):
                release(noise, reward, 1 / 0.538, RESPONSE)
    elif params.what == LONGER:
        state.kept[0] = state.kept[0] + reward
        release(noise, state.kept[0], 100.0)
    elif params.what == PAIRED and t == 3:
        shared = reserve(noise, 1.0)
        release(noise, reward + shared, CARRIED)
        release(noise, reward + shared, CARRIED)


@dataclass(frozen=True)
class Made(Policy):
    what: int
    epsilon: float
    delta: float = 0.0
    name = "made"
    source = "this test"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.what), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        epsilon = horizon / 100 if self.what == LONGER else self.epsilon
        return Guarantee(epsilon, self.delta, horizon=horizon, theorem="this test", proved=True)


@few_runs
def test_the_worst_reward_is_worst_at_delta() -> None:
    """The first has the larger zCDP, ε²/2 = 0.5 against 0.45, and loses 1; the second loses 4.4 at 1e-6."""
    result = dpb.exact_audit(Made(UNEVEN, 1.001, 1e-6), arms=2, horizon=6)
    assert result.refuted
    assert result.worst == 2
    assert result.epsilon == pytest.approx(compose([LaplaceEvent(10.5)] * 100, 1e-6).epsilon)
    assert not dpb.exact_audit(Made(UNEVEN, 4.5, 1e-6), arms=2, horizon=6).refuted


def test_a_leak_cannot_be_swallowed() -> None:
    result = dpb.exact_audit(Made(SWALLOWING, 1.0), horizon=6)
    assert result.leak == "a secret was read without noise"
    assert result.refuted
    assert result.runs == 1
    assert np.isinf(result.losses).all()


@few_runs
def test_different_mechanisms_are_composed() -> None:
    result = dpb.exact_audit(Made(COMPARED, 3.0, 1e-6), horizon=6)
    assert not result.refuted
    assert result.epsilon == pytest.approx(compose([GaussianEvent(2.0)], 1e-6).epsilon)
    assert math.isinf(dpb.exact_audit(Made(COMPARED, 3.0), horizon=6).epsilon)  # Gaussian noise has no pure loss


@few_runs
def test_with_delta_a_reward_is_charged_with_every_way() -> None:
    """Each run composes to (2.000, 0.05); which one comes depends on the first answer, and the truth is above 2.03."""
    result = dpb.exact_audit(Made(CONDITIONAL, 2.001, 0.05), horizon=6)
    assert result.epsilon > 2.03
    assert (result.refuted, verdict(result)) == (False, "cannot be told")  # no run shows it: the charge is a bound


@few_runs
def test_a_claim_that_grows_with_the_horizon_is_held_to_it() -> None:
    result = dpb.exact_audit(Made(LONGER, 0.0), horizon=8)
    assert not result.refuted
    assert result.epsilon == pytest.approx(0.08)
    assert len(result.losses) == 8


@few_runs
def test_with_delta_noise_in_several_releases_is_charged_its_pure_loss() -> None:
    result = dpb.exact_audit(Made(PAIRED, 1.0, 1e-6), horizon=6)
    assert not result.refuted
    assert result.unknown is None
    assert result.epsilon == pytest.approx(1.0)
    weighted = dpb.exact_audit(dpb.DPUCB(epsilon=1.0, counter="weighted"), horizon=12, claim=dpb.Budget(1.0, 1e-6))
    assert not weighted.refuted


def test_what_cannot_be_told_is_no_verdict() -> None:
    @update.register(Params)
    def _respond_to_a_sum(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
        release(noise, reward + reward, 1.0, RESPONSE)

    try:
        result = dpb.exact_audit(Made(PAIRED, 1.0), horizon=6)
    finally:
        update.register(Params)(_update)
    assert not result.refuted
    assert verdict(result) == "cannot be told"
    assert sentence(result).startswith("Cannot be told: a response of something that is not one whole reward")


def test_only_policies_are_audited() -> None:
    with pytest.raises(dpb.WrongKind, match="to be a policy"):
        dpb.exact_audit("dp-ucb")  # type: ignore[arg-type]


def test_other_mechanisms() -> None:
    noise = TaintNoise(1)
    release(noise, secret_reward(1, 1.0), 2.0, RESPONSE)
    assert noise.losses() == {1: 0.5}
    with pytest.raises(Unknown, match="not one whole reward"):
        release(noise, secret_reward(1, 1.0) + secret_reward(2, 1.0), 2.0, RESPONSE)
    gauss = TaintNoise(1)
    release(gauss, secret_reward(1, 1.0), 2.0, GAUSSIAN)
    assert gauss.rhos() == {1: 0.125}
    with pytest.raises(Unknown, match="no pure loss"):
        gauss.losses()
