"""What is certain and what is only a bound: correct policies that add up to more than they claim, and wrong ones."""

import math
import random
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import pytest

import dpbandits as dpb
from dpbandits.auditing.hidden_rewards import FEW, HiddenRewards
from dpbandits.auditing.replay_noise import log_density
from dpbandits.auditing.sentences import sentence, verdict
from dpbandits.auditing.taint import TaintNoise
from dpbandits.auditing.witness import density_ratio, shifts_for
from dpbandits.mechanisms import CARRIED, GAUSSIAN, RESPONSE, release, reserve
from dpbandits.mechanisms.draws import uniform
from dpbandits.mechanisms.linear import Unknown, secret_reward
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies import Policy, Setup, hold, select, update
from dpbandits.policies.policy import every_step
from dpbandits.privacy import (
    Event,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    RandomizedResponseEvent,
    compose,
    epsilon_below,
)

pytestmark = pytest.mark.slow

WINDOW, EQUAL, RARE, EITHER, SAME_TWICE, COIN, TENTH, LARGEST, RESET, RARE_LEAK = range(10)
MANY = 40


class Params(NamedTuple):
    what: int
    low: float
    high: float


class State(NamedTuple):
    sums: Annotated[Any, secret("arms")]
    kept: Annotated[Any, secret("arms")]
    seen: Annotated[Any, public("arms")]


@select.register(Params)
def _select(params: Params, state: State, t: int) -> int:
    return (t - 1) % len(state.seen)


hold.register(Params)(every_step)


@update.register(Params)
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    what = params.what
    if what in (WINDOW, EQUAL, RARE):  # a second look at values in a window
        first = release(noise, reward, 1.0, arm=arm)
        if params.low <= first <= params.high:
            release(noise, reward, 1.0, arm=arm)
    elif what in (EITHER, SAME_TWICE):  # after the first, many releases with this noise or with a little more
        if t == 2:
            state.seen[0] = release(noise, reward, 1000.0, arm=arm)
        elif t <= 8:
            for _ in range(MANY):
                if what == EITHER:
                    release(noise, reward, params.low if state.seen[0] > 0.5 else params.high, arm=arm)
                else:
                    once = reward + reserve(noise, params.low, arm=arm)
                    release(noise, once, CARRIED, arm=arm)
                    release(noise, once, CARRIED, arm=arm)
    elif what == COIN:  # seen by nobody: half of the rewards are left out
        if uniform(noise) < 0.5:
            release(noise, reward, 1.0, arm=arm)
    elif what == TENTH:  # one reward has a tenth of the noise; others share theirs
        if t == 2:
            state.kept[0] = reward + reserve(noise, 1.0, arm=arm)
        if t <= 3:
            state.seen[arm] = release(noise, state.kept[0], CARRIED, arm=arm)
        if t > 2:
            is_weak = t == params.low and abs(state.seen[0]) < 50
            state.seen[arm] = release(noise, reward, 0.1 if is_weak else 1.0, arm=arm)
    elif what == LARGEST:
        state.sums[arm] = state.sums[arm] + reward
        if t == 9:
            noisy = [total + reserve(noise, 2.0) for total in state.sums]
            best = 0
            for each in range(len(noisy)):
                best = each if noisy[each] > noisy[best] else best
            state.seen[0] = best
    elif what == RESET:
        state.sums[arm] = state.sums[arm] + reward
        state.seen[arm] = release(noise, state.sums[arm], 1.0, arm=arm)
        state.sums[arm] = state.sums[arm] - state.sums[arm]
        if state.sums[arm] != 0 or float(0 * reward) != 0:
            raise AssertionError
    elif what == RARE_LEAK and release(noise, reward, 1.0, arm=arm) > params.high and reward > 0:
        state.seen[0] = 1.0


@dataclass(frozen=True)
class Adaptive(Policy):
    what: int
    epsilon: float
    delta: float = 0.0
    low: float = 0.0
    high: float = 0.0
    name = "adaptive"
    source = "this test"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.what, self.low, self.high), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        return Guarantee(self.epsilon, self.delta, horizon=horizon, theorem="this test", proved=True)


@pytest.fixture(autouse=True)
def _few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each policy takes one way through `_update`: nobody waits for the lines of the others."""
    monkeypatch.setattr("dpbandits.auditing.runs._MORE_RUNS", 0)


TRUE = compose([LaplaceEvent(10.0)] * MANY, 1e-6).epsilon  # 2.732, while the losses add up to 4

CORRECT = {
    "a second look from 0.45 to 0.55": Adaptive(WINDOW, 1.1, low=0.45, high=0.55),
    "a second look at one value": Adaptive(EQUAL, 1.0, low=0.0, high=0.0),
    "a second look rarer than delta": Adaptive(RARE, 1.0, 1e-6, low=100.0, high=math.inf),
    "one of two schedules": Adaptive(EITHER, TRUE, 1e-6, low=10.0, high=10.001),
    "the same value twice": Adaptive(SAME_TWICE, TRUE, 1e-6, low=10.0),
    "a coin that nobody sees": Adaptive(COIN, 0.7),  # ln(1 + (e - 1) / 2) = 0.62
    "a leak rarer than delta": Adaptive(RARE_LEAK, 1.0, 1e-6, high=100.0),
}
WRONG = {
    "a second look from 0 to 1": Adaptive(WINDOW, 1.5, low=-0.5, high=0.5),
    "a second look far out": Adaptive(RARE, 1.0, low=100.0, high=math.inf),
    "two schedules with too little noise": Adaptive(EITHER, 0.5, 0.0, low=10.0, high=10.001),
    "fixed releases": Adaptive(EITHER, TRUE * 0.99, 1e-6, low=10.0, high=10.0),
    "a leak that comes at times": Adaptive(RARE_LEAK, 1.0, 1e-6, high=1.0),
    "a leak far out": Adaptive(RARE_LEAK, 1.0, high=100.0),
}


@pytest.mark.parametrize("policy", CORRECT.values(), ids=CORRECT)
def test_a_bound_above_the_claim_is_no_refutation(policy: Policy) -> None:
    result = dpb.exact_audit(policy, arms=2, horizon=12)
    assert (result.refuted, verdict(result)) == (False, "cannot be told")
    assert result.epsilon > result.claim.epsilon
    assert result.shown.epsilon <= result.claim.epsilon
    if policy.what != RARE_LEAK:  # type: ignore[attr-defined]
        assert "That is an upper bound" in sentence(result)


@pytest.mark.parametrize("policy", WRONG.values(), ids=WRONG)
def test_wrong_ones_nearby_are_refuted(policy: Policy) -> None:
    result = dpb.exact_audit(policy, arms=2, horizon=12)
    assert (result.refuted, verdict(result)) == (True, "exceeds the claim")
    assert result.claim.epsilon < result.shown.epsilon <= result.epsilon


def test_every_reward_of_a_short_run_is_followed() -> None:
    """Number 103 has a tenth of the noise unless values are extreme, in a policy that shares a noise."""
    for weak in (104, 151, 202):
        result = dpb.exact_audit(Adaptive(TENTH, 1.0, low=weak), arms=2, horizon=256)
        assert result.refuted
        assert result.shown.reward == weak - 1
        assert result.shown.epsilon == pytest.approx(10.0)
    right = dpb.exact_audit(Adaptive(TENTH, 1.0), arms=2)
    assert not right.refuted
    short, long = right.parts
    assert short.followed == short.steps == 256
    assert 100 < long.followed < long.steps
    assert f"{long.followed:,} of {long.steps:,} (2 arms)" in sentence(right)


def test_constants_may_be_read() -> None:
    """A noisy number is compared with itself, a sum is taken from itself: nothing secret is in the difference."""
    largest = dpb.exact_audit(Adaptive(LARGEST, 1.0), horizon=16)
    assert (largest.leak, verdict(largest)) == (None, "cannot be told")
    reset = dpb.exact_audit(Adaptive(RESET, 1.0), horizon=16)
    assert (reset.leak, verdict(reset)) == (None, "within the claim")
    number = secret_reward(1, 0.7) + reserve(TaintNoise(1), 1.0)
    assert number == number
    assert not number > number
    assert repr(0 * number + 2.5) == "2.5"
    assert max(number - number, 1.0) == 1.0


def test_rewards_that_nobody_follows_do_not_cancel() -> None:
    """After a + N is out, whoever reads b + N reads b - a."""
    hidden_rewards = HiddenRewards(2, 10_000, random.Random(1), FEW)  # noqa: S311
    one, other = hidden_rewards(7001, 0, 1), hidden_rewards(7003, 1, 1)
    assert hidden_rewards.until == {}
    noise = TaintNoise(1)
    shared = reserve(noise, 1.0)
    release(noise, one + shared, CARRIED)
    assert noise.losses() == {}
    with pytest.raises(Unknown) as problem:
        bool(other + shared > 0)
    assert noise.takes_noise_out_of(problem.value.form)


def test_the_ratio_is_that_of_the_densities() -> None:
    """Against log densities by name: three mechanisms, and a noise in two releases whose difference is another."""
    noise = TaintNoise(5)
    reward = secret_reward(1, 1.0)
    values = [
        release(noise, reward, 0.7),
        release(noise, reward * 2, 3.0, GAUSSIAN),
        release(noise, reward, 0.5, RESPONSE),
    ]
    settings = [(1.0, 0.7, 0), (2.0, 3.0, GAUSSIAN), (1.0, 0.5, RESPONSE)]
    shared, own = reserve(noise, 2.0), reserve(noise, 0.9)
    once = release(noise, reward + shared, CARRIED)
    twice = release(noise, 3 * reward + shared + own, CARRIED)

    def density(reward: float) -> float:
        alone = (
            log_density(value, reward * unit, scale, kind)
            for value, (unit, scale, kind) in zip(values, settings, strict=True)
        )
        return sum(alone) + log_density(once, reward, 2.0, 0) + log_density(twice - once, 2 * reward, 0.9, 0)

    shifts = shifts_for(noise, 1)
    assert shifts is not None
    assert density_ratio(noise, shifts, -1) == pytest.approx(density(1.0) - density(0.0), rel=1e-9)
    hidden_rewards = TaintNoise(1)  # two noises in one release: no single way
    release(hidden_rewards, reward + reserve(hidden_rewards, 1.0) + reserve(hidden_rewards, 1.0), CARRIED)
    assert shifts_for(hidden_rewards, 1) is None


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.05])
@pytest.mark.parametrize(
    "events",
    [
        [LaplaceEvent(10.0)] * MANY,
        [LaplaceEvent(1.0)],
        [GaussianEvent(2.0)] * 3,
        [RandomizedResponseEvent(0.5)] * 5 + [LaplaceEvent(3.0)] * 2,
    ],
    ids=["many", "one", "gaussian", "mixed"],
)
def test_what_is_lost_at_least_is_just_below_what_is_lost_at_most(events: list[Event], delta: float) -> None:
    above = compose(events, delta).epsilon
    assert above * 0.99 < epsilon_below(events, delta) <= above
