"""Reading numbers that carry noise: private mechanisms that nobody may accuse, and leaks that hide among them."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import pytest

import dpbandits as dpb
from dpbandits.auditing.sentences import sentence, verdict
from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import CARRIED, release, reserve
from dpbandits.mechanisms.draws import uniform
from dpbandits.mechanisms.linear import Leak, Unknown, secret_reward
from dpbandits.mechanisms.state import public, secret
from dpbandits.policies import Policy, Setup, hold, select, update
from dpbandits.policies.policy import every_step
from dpbandits.privacy import Guarantee

pytestmark = pytest.mark.slow

CLIPPED, THRESHOLD, LARGEST, SWALLOWING, SAME_NOISE, LET_OUT, LATER_LEAK, REJECTED, TWICE = range(9)
ROUNDED, CUT, BROKEN_TIE, SHOWN, FEWER, BARE = range(9, 15)
PRIVATE = {"a clipped noisy sum": CLIPPED, "AboveThreshold": THRESHOLD, "report noisy max": LARGEST}


class Params(NamedTuple):
    what: int


class State(NamedTuple):
    sums: Annotated[Any, secret("arms")]
    kept: Annotated[Any, secret("arms")]
    chosen: Annotated[Any, public("one")]


@select.register(Params)
def _select(params: Params, state: State, t: int) -> int:
    return (t - 1) % len(state.sums) if state.chosen[0] == 0 else int(state.chosen[0]) - 1


hold.register(Params)(every_step)


@update.register(Params)
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    if params.what == ROUNDED:
        reward = 1.0 if uniform(noise) < reward else 0.0
    elif params.what == CUT:
        reward = 1.0 if reward > 0.5 else 0.0
    state.sums[arm] = state.sums[arm] + reward
    if params.what >= ROUNDED:
        if params.what == FEWER and t == 9 and state.sums[0] < 3:
            return
        if params.what == BARE and t == 5:  # read in private, and then released without noise
            state.sums[0] = 1.0 if state.sums[0] > 1 else 0.0
        if params.what == BARE and t == 9:
            release(noise, state.sums[0], CARRIED)
        elif t == 9:
            one, other = release(noise, state.sums[0], 1.0), release(noise, state.sums[1], 1.0)
            if params.what in (BROKEN_TIE, SHOWN) and abs(one - other) <= (params.what == SHOWN):
                state.chosen[0] = 1 if state.sums[0] > state.sums[1] else 2
        return
    if t != 9:
        if params.what == LATER_LEAK and t == 12 and state.sums[arm] > 1:
            state.chosen[0] = 1
        return
    noisy = [total + reserve(noise, 1.0) for total in state.sums]
    if params.what in (CLIPPED, LATER_LEAK):
        release(noise, min(max(noisy[0], 0.0), 4.0) if params.what == CLIPPED else noisy[0], CARRIED)
    elif params.what == THRESHOLD:
        state.chosen[0] = 1 if noisy[0] > 2.0 + reserve(noise, 2.0) else 2
    elif params.what == LARGEST:
        state.chosen[0] = 1 if noisy[0] > noisy[1] else 2
    elif params.what == SWALLOWING:
        try:
            state.chosen[0] = 1 if noisy[0] > 0 else 2
        except Exception:  # noqa: BLE001
            state.chosen[0] = 1
    elif params.what == SAME_NOISE:  # the noise cancels, and the rewards are compared
        shared = reserve(noise, 1.0)
        state.chosen[0] = 1 if state.sums[0] + shared > state.sums[1] + shared else 2
    elif params.what == LET_OUT:
        kept = reserve(noise, 1.0)
        release(noise, kept, CARRIED)
        state.chosen[0] = 1 if state.sums[0] + kept > 1.0 else 2
    elif params.what == REJECTED:  # again until it looks possible: every look is a release
        released = -1.0
        while not 0 <= released <= 4:
            released = release(noise, state.sums[0], 1.0)
    elif params.what == TWICE:  # too much was released before something is read
        release(noise, state.sums[0], 1.0)
        release(noise, state.sums[0], 1.0)
        state.chosen[0] = 1 if noisy[0] > noisy[1] else 2


@dataclass(frozen=True)
class Reading(Policy):
    what: int
    epsilon: float = 1.0
    name = "reading"
    source = "this test"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.what), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        return Guarantee(self.epsilon, horizon=horizon, theorem="this test", proved=True)


def audited(what: int, epsilon: float = 1.0) -> dpb.auditing.ExactAudit:
    return dpb.exact_audit(Reading(what, epsilon), horizon=16)


@pytest.mark.parametrize("what", PRIVATE.values(), ids=PRIVATE)
def test_private_ways_to_read_what_carries_noise_are_not_accused(what: int) -> None:
    result = audited(what, 2.0)
    assert not result.refuted
    assert (result.leak, verdict(result)) == (None, "cannot be told")
    assert sentence(result).startswith("Cannot be told: a number that carries noise was read before its release")


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_reward_that_is_read_and_does_not_show_is_no_leak(delta: float) -> None:
    """Rounded by a coin, or cut, before it gets its noise; or read when two values are equal, which never happens."""
    for what in (ROUNDED, CUT, BROKEN_TIE):
        result = dpb.exact_audit(Reading(what), horizon=16, claim=dpb.Budget(1.0, delta))
        assert (result.leak, verdict(result)) == (None, "cannot be told")
        assert "nothing public was found that depends on it" in sentence(result)
    for what in (SHOWN, FEWER, BARE):  # in the arms, in the number of releases, in a released value
        result = dpb.exact_audit(Reading(what), horizon=16, claim=dpb.Budget(1.0, delta))
        assert (result.leak, result.refuted) == ("a secret was read without noise", True)


def test_what_cannot_be_told_cannot_be_swallowed() -> None:
    assert verdict(audited(SWALLOWING)) == "cannot be told"


@pytest.mark.parametrize(
    ("what", "leak"),
    [
        (SAME_NOISE, "a secret was read without noise"),
        (LET_OUT, "a secret was read after its noise had been let out"),
        (LATER_LEAK, "a secret was read without noise"),
    ],
    ids=["same noise", "let out", "later"],
)
def test_noise_that_protects_nobody_is_a_leak(what: int, leak: str) -> None:
    result = audited(what)
    assert (result.leak, result.refuted) == (leak, True)


@pytest.mark.parametrize("what", [REJECTED, TWICE], ids=["again until possible", "twice, then read"])
def test_what_was_released_counts_whatever_comes_after(what: int) -> None:
    """A loss above the claim is one, also where the run goes on in ways that cannot be told, or never ends."""
    result = audited(what)
    assert result.refuted
    assert verdict(result) == "exceeds the claim"
    assert result.leak is None


def test_noise_with_no_coefficient_left_is_no_noise() -> None:
    noise = TaintNoise(1)
    number = secret_reward(1, 1.0) + reserve(noise, 1.0)
    with pytest.raises(Unknown):
        bool(number)
    with pytest.raises(Unknown):
        abs(number)
    with pytest.raises(Leak):
        float(number - (number - secret_reward(1, 1.0)))
    assert number * 0 + 3 is not None


def test_released_sums_take_noise_out() -> None:
    """After N + M and M, r + 2N is as good as r. With N + M alone it is not, and N itself hides nothing."""
    noise = TaintNoise(1)
    first, second = reserve(noise, 1.0), reserve(noise, 1.0)
    number = secret_reward(1, 1.0) + 2 * first

    def is_bare(number: Any) -> bool:
        with pytest.raises(Unknown) as problem:
            bool(number)
        return noise.takes_noise_out_of(problem.value.form)

    release(noise, secret_reward(2, 1.0) / 3 + first + second, CARRIED)
    assert not is_bare(number)
    release(noise, second / 7, CARRIED)
    assert is_bare(number)
    assert not is_bare(second)  # known, and nobody's reward
