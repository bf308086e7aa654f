"""Policies that are right in unusual ways, or wrong late: what the exact account may say of them."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.auditing.sentences import sentence, verdict
from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import LAPLACE, release
from dpbandits.mechanisms.draws import uniform
from dpbandits.mechanisms.linear import secret_reward
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies import Policy, Setup, hold, select, update
from dpbandits.policies.policy import every_step
from dpbandits.privacy import Guarantee, LaplaceEvent, scale_for

pytestmark = pytest.mark.slow


class Params(NamedTuple):
    scale: float
    every: int  # plays of an arm between two releases
    kept: float  # the chance that a reward enters
    factor: float  # of the sum, when another reward enters
    is_reset: bool


class State(NamedTuple):
    counts: Annotated[Any, public("arms", dtype=np.int64)]
    means: Annotated[Any, public("arms")]
    sums: Annotated[Any, secret("arms")]


@select.register(Params)
def _select(params: Params, state: State, t: int) -> int:
    first = params.every * len(state.counts)
    return (t - 1) % len(state.counts) if t <= first else int(np.argmax(state.means))


hold.register(Params)(every_step)


@update.register(Params)
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    if params.kept == 1 or uniform(noise) < params.kept:
        state.sums[arm] = params.factor * state.sums[arm] + reward
    if state.counts[arm] % params.every == 0:
        state.means[arm] = release(noise, state.sums[arm], params.scale, LAPLACE, arm) / state.counts[arm]
        if params.is_reset:
            state.sums[arm] = 0.0


@dataclass(frozen=True)
class Unusual(Policy):
    params: Params
    horizon: int | None = None
    epsilon: float = 1.0
    name = "unusual"
    source = "this test"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(self.params, State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        return Guarantee(self.epsilon, horizon=horizon, theorem="this test", proved=True)


@pytest.fixture(autouse=True)
def _few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each policy takes one way through `_update`: nobody waits for the lines of the others."""
    monkeypatch.setattr("dpbandits.auditing.runs._MORE_RUNS", 0)


@pytest.mark.parametrize("kept", [0.9, 0.7])
def test_a_coin_that_leaves_rewards_out_is_not_taken_for_a_schedule(kept: float) -> None:
    """Released with ln(1 + (e - 1) / q), and left out with a chance of 1 - q: 1-DP, though all seem to be released."""
    inner = math.log1p(math.expm1(1.0) / kept)
    result = dpb.exact_audit(Unusual(Params(1 / inner, 16, kept, 1.0, is_reset=True)))
    assert (result.refuted, verdict(result)) == (False, "cannot be told")
    certain = dpb.exact_audit(Unusual(Params(1 / inner, 16, 1.0, 1.0, is_reset=True)))  # the same without the coin
    assert certain.refuted


def test_rewards_that_are_forgotten() -> None:
    """1 + 1/2 + 1/4 + ... = 2. After a thousand plays a coefficient is smaller than any float."""
    right = dpb.exact_audit(Unusual(Params(2.0, 1, 1.0, 0.5, is_reset=False)), arms=1, horizon=48)
    assert verdict(right) == "within the claim"
    assert right.epsilon == pytest.approx(1.0, rel=1e-9)
    assert dpb.exact_audit(Unusual(Params(1.9, 1, 1.0, 0.5, is_reset=False)), arms=1, horizon=8).refuted
    noise = TaintNoise(1)
    release(noise, 2.0**-600 * (2.0**-600 * secret_reward(1, 1.0)), 1.0)
    assert noise.losses()[1] == 0.0
    (event,) = noise.events()[1]
    assert isinstance(event, LaplaceEvent)
    assert event.epsilon <= 1e-100
    assert noise.beginnings(1)[1][0][0] >= 1e100


def test_coefficients_that_grow_too_long_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of factors such as 0.9 is exact, and 53 bits longer with each."""
    monkeypatch.setattr("dpbandits.mechanisms.linear._LONGEST", 53 * 20)
    policy = Unusual(Params(10.0, 1, 1.0, 0.9, is_reset=False))
    assert verdict(dpb.exact_audit(policy, arms=1, horizon=16)) == "within the claim"
    result = dpb.exact_audit(policy, arms=1, horizon=32)
    assert verdict(result) == "cannot be told"
    assert "too long to be kept exactly" in sentence(result)


def test_runs_go_to_the_horizon_that_a_policy_is_declared_for() -> None:
    """A sum of all rewards so far after every tenth of the horizon: noise for nine releases, and there are ten."""
    wrong = Unusual(Params(scale_for(1.0, 9), 300, 1.0, 1.0, is_reset=False), horizon=3000)
    result = dpb.exact_audit(wrong)
    assert (result.refuted, result.arms, result.horizon) == (True, 2, 3000)
    far = Unusual(Params(scale_for(1.0, 9), 3000, 1.0, 1.0, is_reset=False), horizon=30_000)
    assert "No run reached the 30,000 steps that it is declared for." in sentence(dpb.exact_audit(far, arms=2))


def test_claims_of_several_horizons_are_told_apart() -> None:
    """DP-UCB-Int without a horizon claims more for longer runs."""
    said = sentence(dpb.exact_audit(dpb.DPUCBInt(epsilon=1.0, delta=1e-6), arms=2))
    assert "no reward loses more than 0.192346 in 256 steps (0.192346 is claimed) and 0.610818 in 150,000 steps" in said
