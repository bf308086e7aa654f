"""Every check of the contract finds the one mistake it is for, and a stranger's policies pass them all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import kernel
from dpbandits.errors import BrokenContract
from dpbandits.mechanisms import LAPLACE, public, release, secret
from dpbandits.policies import FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.privacy import scale_for
from dpbandits.testing import CHECKS, Subject, check_policy
from phased_greedy import PhasedGreedy
from phased_moss import PhasedMOSS

pytestmark = pytest.mark.slow

PLAYS = 20
MISTAKES = ("none", "leak", "hold", "memory", "unannounced", "compiled", "steps", "first", "range", "half")
NONE, LEAK, HOLD, MEMORY, UNANNOUNCED, COMPILED, STEPS, FIRST, RANGE, HALF = range(len(MISTAKES))


class Params(NamedTuple):
    mistake: int
    scale: float
    memory: Any  # where a policy must keep nothing


class State(NamedTuple):
    counts: Annotated[Any, public("arms", dtype=np.int64)]
    means: Annotated[Any, public("arms")]
    sums: Annotated[Any, secret("arms")]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    arms = len(state.counts)
    if t <= PLAYS * arms:
        return (t - 1) // PLAYS
    if params.mistake == FIRST:
        return 0
    if params.mistake == RANGE and state.counts[0] == PLAYS:
        return int(state.counts[arms])  # one too far: an error in Python, any number compiled
    if params.mistake == COMPILED and (t << 62) < 0:  # compiled it overflows
        return 1
    if params.mistake == MEMORY and params.memory[0] > 0.0:
        return int(t) % arms
    if params.mistake == HOLD:
        return int(t) % arms
    if params.mistake == LEAK:
        return int(state.sums[0] < state.sums[1])
    best = 0
    for arm in range(1, arms):
        best = arm if state.means[arm] > state.means[best] else best
    return best


@hold.register(Params)
@kernel
def _hold(params: Params, state: State, arm: int, t: int) -> int:
    if t <= PLAYS * len(state.counts):
        return int(PLAYS - (t - 1) % PLAYS)
    return 1 if params.mistake in (COMPILED, MEMORY, LEAK) else FOREVER


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    state.sums[arm] += reward
    if params.mistake == MEMORY and t == 130:
        params.memory[0] = 1.0
    if state.counts[arm] == PLAYS:
        scale = params.scale / 2 if params.mistake == HALF else params.scale
        value = release(noise, state.sums[arm], scale, LAPLACE, arm) / PLAYS
        if params.mistake == STEPS and plays == 1:
            value = -value  # the mean of an arm that was played step by step
        state.means[arm] = value


@dataclass(frozen=True, kw_only=True)
class Mistaken(Policy):
    name = "mistaken"
    source = "a test"

    epsilon: float = 1.0
    mistake: str = "none"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(MISTAKES.index(self.mistake), scale_for(self.epsilon), np.zeros(1)), State)

    def guarantee(self, horizon: float = np.inf) -> dpb.Guarantee:
        return dpb.Guarantee(self.epsilon, horizon=horizon, theorem="one release of each reward", proved=True)

    def blocks(self, horizon: int) -> Iterator[Block]:
        scale = scale_for(self.epsilon) * (2 if self.mistake == "unannounced" else 1)
        return iter([Block(1, PLAYS, scale)] if horizon >= PLAYS else [])


@pytest.mark.parametrize(
    ("mistake", "check", "message"),
    [
        ("range", "plain Python", "index 3 is out of bounds"),
        ("leak", "taint", "a reward became public without noise, played in"),
        ("half", "taint", r"a reward loses 2, more than the guarantee of \(1, 0\)-DP"),
        ("hold", "hold", r"`hold` promises \d+ plays of arm \d from t = 61 on, and at 62 `select` says"),
        ("memory", "JSON", "it writes into its Params, which are constants"),
        ("unannounced", "ledger", "with other noise than `blocks` announces"),
        ("compiled", "compiled twin", "its compiled kernels play other arms than plain Python does, in"),
        ("steps", "blocks and steps", r"regret at t = \d+ has another distribution in blocks than in steps"),
        ("first", "symmetry", "regret after 260 steps depends on the order of the arms"),
    ],
)
def test_a_mistake_is_found_by_its_check(mistake: str, check: str, message: str) -> None:
    with pytest.raises(BrokenContract, match=rf"{message}.*\(check: {check}\)"):
        check_policy(Mistaken(mistake=mistake), skip=[name for name in CHECKS if name != check])
    CHECKS[check](Subject(Mistaken(), 3, 260))


class TableParams(NamedTuple):
    reached: Any  # one entry for each number of plays


class CountState(NamedTuple):
    counts: Annotated[Any, public("arms", dtype=np.int64)]
    sums: Annotated[Any, public("arms")]


ELSEWHERE = {"rewards": 0.0}


@select.register(TableParams)
@kernel
def _best_arm(params: TableParams, state: CountState, t: int) -> int:
    arms = len(state.counts)
    if t <= arms:
        return t - 1
    best = 0
    for arm in range(arms):
        if state.sums[arm] / state.counts[arm] > state.sums[best] / state.counts[best]:
            best = arm
    return best if params.reached[state.counts[best]] >= 0 else int(ELSEWHERE["rewards"] > 25.0)


@hold.register(TableParams)
@kernel
def _one_step(params: TableParams, state: CountState, arm: int, t: int) -> int:
    return 1


@update.register(TableParams)
@kernel
def _add(params: TableParams, state: CountState, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    state.sums[arm] += reward
    ELSEWHERE["rewards"] = reward if t == 2 else ELSEWHERE["rewards"] + reward


@dataclass(frozen=True, kw_only=True)
class Table(Policy):
    name = "table"
    source = "a test"

    size: int
    sign: float = 1.0

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(TableParams(np.full(horizon + self.size, self.sign)), CountState)


def only(check: str) -> list[str]:
    return [name for name in CHECKS if name != check]


def test_an_index_that_is_out_of_range_near_the_horizon_is_found() -> None:
    """Only where one arm gets nearly all plays."""
    check_policy(Table(size=100), skip=only("plain Python"))
    with pytest.raises(BrokenContract, match="raises IndexError: index 240 is out of bounds") as raised:
        check_policy(Table(size=-20), skip=only("plain Python"))
    assert isinstance(raised.value.__cause__, IndexError)


def test_what_is_kept_outside_of_the_state_is_found() -> None:
    with pytest.raises(BrokenContract, match="with its state through JSON at t = "):
        check_policy(Table(size=100, sign=-1.0), skip=only("JSON"))


@dataclass(frozen=True, kw_only=True)
class Announced(Mistaken):
    """Announces other blocks than it makes, in number and in scale."""

    times: int = 1

    def blocks(self, horizon: int) -> Iterator[Block]:
        size = PLAYS
        for number in range(self.times):
            yield Block(1 + number * size, (number + 1) * size, scale_for(self.epsilon))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (0, r"after \d+ plays `blocks` announces 0 releases of arm 0, and there were 1"),
        (3, r"after \d+ plays `blocks` announces [23] releases of arm \d, and there were 1"),
        (10**9, r"`blocks\(260\)` announces releases after that many rewards of an arm"),
    ],
)
def test_releases_that_are_not_announced_or_not_made_are_found(times: int, message: str) -> None:
    with pytest.raises(BrokenContract, match=message):
        check_policy(Announced(times=times), skip=only("ledger"))


@pytest.mark.parametrize(
    ("policy", "horizon", "told"),
    [
        (dpb.recommended(epsilon=0.1), 260, "3000 runs of each of two orders, 1,920 steps"),
        (dpb.DPUCBInt(epsilon=0.1, delta=1e-6), 260, "cannot be told: arms take turns for all of 260 steps"),
        (dpb.DPSE(epsilon=0.1), 260, "cannot be told: arms take turns for too much of 4,000 steps"),
        (dpb.UCB(), 1, "3000 runs of each of two orders, 12 steps"),
        (
            dpb.DPIMED(epsilon=0.7, first_phase=10_000),
            260,
            "cannot be told: arms take turns for too much of 4,000 steps",
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_right_policy_is_not_accused_of_preferring_a_place(policy: Policy, horizon: int, told: str) -> None:
    assert check_policy(policy, horizon=horizon, skip=only("symmetry")) == {"symmetry": told}


def test_checks_that_are_skipped_must_exist() -> None:
    with pytest.raises(dpb.InvalidInput, match="Expected skip='taints' to be one of plain Python, taint, hold"):
        check_policy(dpb.UCB(), skip=["taints"])


@pytest.mark.parametrize("policy", [PhasedMOSS(epsilon=1.0), PhasedGreedy(epsilon=1.0)], ids=lambda p: p.name)
def test_a_policy_in_phases_passes_and_runs_everywhere(policy: Policy) -> None:
    seen = check_policy(policy)
    assert list(seen) == list(CHECKS)
    assert seen["taint"] == "no reward loses more than 1, which is the guarantee"
    best = dpb.recommended(epsilon=1.0)
    result = dpb.simulate([policy, best], dpb.Bernoulli([0.9, 0.1]), horizon=1000, runs=50, seed=1)
    assert result.final_regret(policy.name).min() < 100
    assert not dpb.audit(policy, trials=20_000, seed=1).refuted
    bandit = dpb.Bandit(policy, ["A", "B"])
    for _ in range(50):
        bandit.close(bandit.assign(), reward=1.0)
    assert bandit.spent().epsilon == pytest.approx(1.0)


def test_check_policy_refuses_what_is_no_policy_and_sizes_out_of_range() -> None:
    with pytest.raises(dpb.errors.WrongKind, match="Expected policy=3 to be a policy"):
        check_policy(3)  # type: ignore[arg-type]
    with pytest.raises(dpb.InvalidInput, match=r"Expected arms=1 in \[2, 1000\]"):
        check_policy(dpb.UCB(), arms=1)
    with pytest.raises(dpb.InvalidInput, match=r"Expected horizon=0 in \[1, 1000000\]"):
        check_policy(dpb.UCB(), horizon=0)
