"""What every policy must satisfy, whatever it does, beyond what `check_policy` tells its author."""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, asdict
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import dpbandits as dpb
import oracles
from dpbandits import _kernel
from dpbandits.auditing.taint import TaintNoise
from dpbandits.engine.game import CUTS, Cut, Game
from dpbandits.mechanisms import RecordingNoise, SeededNoise
from dpbandits.mechanisms.linear import Leak, Secret, secret_reward
from dpbandits.mechanisms.recording import MECHANISM_NAMES
from dpbandits.mechanisms.state import restore, to_plain
from dpbandits.policies import POLICIES, Policy, hold, select, update
from dpbandits.policies.exact_sums import add_rewards
from dpbandits.privacy import Ledger, compose, rho_of
from dpbandits.testing import CHECKS, Subject
from every_policy import (
    ARMS,
    DELTA,
    HORIZON,
    NOT_PRIVATE,
    ONE_RELEASE,
    PRIVATE,
    SETTINGS,
    beyond,
    bits,
    every_other_policy,
    every_policy,
    every_private_policy,
    horizon_of,
    shown,
)
from expected_noises import expected_noises
from phased_moss import PhasedMOSS

pytestmark = pytest.mark.slow


def test_every_policy_is_here() -> None:
    assert {type(policy) for policy in SETTINGS} == set(POLICIES.values())
    assert [kind.name for kind in POLICIES.values()] == list(POLICIES)


# ---- privacy


@every_private_policy
@pytest.mark.parametrize("cut", CUTS)
def test_the_exact_loss_of_every_reward_is_within_the_guarantee(policy: Policy, cut: Cut) -> None:
    guarantee = policy.guarantee(horizon_of(policy))
    assert guarantee is not None
    noise = tainted(policy, beyond(policy), cut)
    if isinstance(policy, dpb.AdaCUCB):  # Gaussian noise: every reward is in one release, of this much zCDP
        assert noise.releases_once()
        rho = max(noise.rhos().values())
        assert rho <= policy.rho * (1 + 1e-9)
        assert oracles.gaussian_delta(math.sqrt(2 * rho * (1 - 1e-11)), guarantee.epsilon) <= policy.delta
        assert guarantee.epsilon <= policy.epsilon
        assert (guarantee.delta, guarantee.proved) == (policy.delta, True)
        return
    worst = max(noise.losses().values())
    if guarantee.delta == 0:
        assert worst <= guarantee.epsilon * (1 + 1e-9)
    else:  # the first reward of an arm is in all of its releases
        (schedule,) = expected_noises(policy, ARMS, HORIZON)
        assert worst <= math.fsum(event.epsilon for event in schedule) * (1 + 1e-9)  # type: ignore[union-attr]
    assert guarantee.proved


def tainted(policy: Policy, until: int, cut: Cut) -> TaintNoise:
    """Play with rewards that refuse to be read, and return the noise source that has the account."""
    noise, rewards = TaintNoise(3), bits(4)
    game = Game(policy, ARMS, horizon_of(policy), noise, object)
    game.play(lambda t, arm: secret_reward(t, rewards(t, arm)), until, cut, seed=5)
    return noise


@pytest.mark.parametrize("policy", ONE_RELEASE, ids=shown)
def test_a_policy_of_one_release_loses_exactly_epsilon(policy: Policy) -> None:
    """A reward is in one release or in none, and what it loses there is the guarantee: nothing is left over."""
    noise = tainted(policy, horizon_of(policy), "blocks")
    assert noise.releases_once()
    guarantee = policy.guarantee()
    assert guarantee is not None
    assert {pytest.approx(loss, rel=1e-12) == guarantee.epsilon for loss in noise.losses().values()} == {True}
    assert guarantee.epsilon == policy.epsilon  # type: ignore[attr-defined]


def test_adac_ucb_spends_its_budget() -> None:
    """Its noise is the smallest that is within the budget: a millionth less is outside. The accountant agrees."""
    for epsilon in (1e-6, 0.01, 0.7, 20.0, 1000.0):
        for delta in (1e-12, 1e-6, 0.1):
            policy = dpb.AdaCUCB(epsilon=epsilon, delta=delta)
            assert policy.guarantee().within(dpb.Budget(epsilon, delta))
            assert policy.guarantee().epsilon > 0
            mu = math.sqrt(2 * policy.rho)
            assert oracles.gaussian_delta(mu, epsilon) <= delta < oracles.gaussian_delta(mu * (1 + 1e-6), epsilon)
            (schedule,) = expected_noises(policy, ARMS, HORIZON)
            for event in dict.fromkeys(schedule):
                assert rho_of(event) == pytest.approx(policy.rho, rel=1e-9)
                assert compose([event], delta).epsilon <= epsilon


@pytest.mark.parametrize("policy", [p for p in SETTINGS if isinstance(p, dpb.DPUCBInt)], ids=shown)
def test_dp_ucb_int_guarantees_what_its_schedule_costs(policy: dpb.DPUCBInt) -> None:
    (schedule,) = expected_noises(policy, ARMS, HORIZON)
    composed = compose(list(schedule), policy.delta, HORIZON)
    assert policy.guarantee(HORIZON) == composed
    budget = dpb.Budget(policy.epsilon, policy.delta)
    whole = policy.guarantee(policy.horizon or math.inf)
    assert whole.within(budget)
    if policy.accounting == "tight":  # nothing is left over, as far as schedules of whole numbers allow
        assert whole.epsilon > 0.9 * policy.epsilon
    assert composed.within(budget)


@every_other_policy
@pytest.mark.parametrize("cut", CUTS)
def test_the_taint_check_finds_who_is_not_private(policy: Policy, cut: Cut) -> None:
    game = Game(policy, ARMS, HORIZON, TaintNoise(3), object)
    with pytest.raises(Leak):
        game.play(lambda t, arm: secret_reward(t, 1.0), HORIZON, cut)


@pytest.mark.parametrize(
    ("policy", "factor"),
    [
        (dpb.DPUCB(epsilon=0.7), 1),
        (dpb.DPUCB(epsilon=0.7, variant="published"), 2),
        (dpb.DPUCBBound(epsilon=0.7), 1),
        (dpb.DPUCBBound(epsilon=0.7, variant="published"), 2),
        (dpb.HybridDMAB(epsilon=0.7), 1),
        (dpb.HybridDMAB(epsilon=0.7, variant="published"), 2),
    ],
    ids=shown,
)
def test_hybrids_lose_exactly_what_they_promise(policy: Policy, factor: int) -> None:
    """The published ones lose twice what the paper claims: the claim is false, not only unproved."""
    noise = TaintNoise(1)
    rewards = bits(2)
    Game(policy, 2, HORIZON, noise, object).play(lambda t, arm: secret_reward(t, rewards(t, arm)), HORIZON)
    assert max(noise.losses().values()) == pytest.approx(0.7 * factor, rel=1e-12)
    guarantee, claim = policy.guarantee(), policy.claim()
    assert guarantee is not None
    assert (guarantee.epsilon, guarantee.proved) == (0.7 * factor, True)
    assert (claim is None) == (factor == 1)
    if claim is not None:
        assert (claim.epsilon, claim.proved) == (0.7, False)


def test_dp_ucb_int_loses_exactly_the_sum_of_its_schedule() -> None:
    policy = dpb.DPUCBInt(epsilon=3.0, delta=DELTA)
    noise = TaintNoise(1)
    Game(policy, 1, HORIZON, noise, object).play(lambda t, arm: secret_reward(t, 1.0), HORIZON, "blocks")
    times = dpb.policies.release_times(policy.interval_epsilon, 1.1, "y", horizon=HORIZON)
    assert noise.losses()[1] == pytest.approx(math.fsum(float(n) ** -0.55 for n in times), rel=1e-12)


@every_policy
def test_ledger_rows_are_a_beginning_of_the_schedule(policy: Policy) -> None:
    horizon = horizon_of(policy)
    noise = RecordingNoise(SeededNoise(3), Ledger())
    Game(policy, ARMS, horizon, noise).play(bits(4), horizon, "cut blocks", seed=6)
    by_arm: defaultdict[int, list[Drawn]] = defaultdict(list)
    for row in noise.ledger:
        if row.content["mechanism"] != "carried noise":  # that draws nothing
            by_arm[row.content["arm"]].append(drawn_by(row.content))
    assert bool(by_arm) == (policy in PRIVATE)
    for drawn in by_arm.values():
        assert is_interleaving(
            drawn, [beginning(stream, len(drawn)) for stream in expected_noises(policy, ARMS, horizon)]
        )
    # The check has power: one scale that is off is found, and so is another mechanism.
    if by_arm:
        drawn = by_arm[0]
        middle = len(drawn) // 2
        name, size = drawn[middle]
        for wrong in ((name, size * 1.0001), ("another mechanism", size)):
            drawn[middle] = wrong
            assert not is_interleaving(
                drawn, [beginning(stream, len(drawn)) for stream in expected_noises(policy, ARMS, horizon)]
            )


Drawn = tuple[str, float]  # a mechanism, and the size of its noise for what one reward changes by 1


def drawn_by(row: dict[str, Any]) -> Drawn:
    """Return what a ledger row, or an event as one, says of the noise; on a grid or not is the noise source's."""
    mechanism = row["mechanism"].removeprefix("discrete ")
    if mechanism == "randomised response":
        return mechanism, 1 / row["epsilon"]
    return mechanism, row["sigma" if mechanism == "gaussian" else "scale"] / row["sensitivity"]


def beginning(stream: Iterator[Any], most: int) -> list[Drawn]:
    return [drawn_by({"mechanism": MECHANISM_NAMES[type(event)], **asdict(event)}) for event in islice(stream, most)]


def is_interleaving(drawn: list[Drawn], streams: list[list[Drawn]]) -> bool:
    """Tell whether `drawn` mixes beginnings of the streams, each in its own order."""
    reachable = {(0,) * len(streams)}
    for noise in drawn:
        reachable = {
            (*at[:i], at[i] + 1, *at[i + 1 :])
            for at in reachable
            for i, stream in enumerate(streams)
            if at[i] < len(stream) and stream[at[i]] == noise
        }
    return bool(reachable)


def test_the_taint_runs_reach_every_line_of_every_kernel() -> None:
    """Otherwise a leak could hide in a line that they never execute."""
    kernels = {
        function.__code__
        for function in _kernel.KERNELS
        if (function.__module__ or "").startswith("dpbandits.policies")
    }
    seen: set[tuple[CodeType, int]] = set()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code not in kernels:
            return None
        seen.add((frame.f_code, frame.f_lineno))
        return trace

    rewards = bits(4)

    def secrets(t: int, arm: int) -> Secret:
        return secret_reward(t, rewards(t, arm))

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for policy in [*PRIVATE, PhasedMOSS(epsilon=1.0)]:  # which pools its phases
            for cut in CUTS:
                game = Game(policy, ARMS, horizon_of(policy), TaintNoise(3), object)
                game.play(secrets, beyond(policy), cut, seed=5)
            ties = Game(policy, ARMS, HORIZON, TaintNoise(3, lambda draw: 0.0), object)
            ties.play(lambda t, arm: secret_reward(t, 0.5), 60, "blocks")
    finally:
        sys.settrace(before)
    not_private = [type(policy.configure(ARMS, HORIZON).params) for policy in NOT_PRIVATE]
    leaking = {generic.dispatch(params).__code__ for params in not_private for generic in (select, update)}
    leaking.add(add_rewards.__code__)
    missed = sorted(
        f"{code.co_filename.split('/')[-1]}:{line}"
        for code in kernels - leaking
        for _, _, line in code.co_lines()
        if line is not None and line > code.co_firstlineno and (code, line) not in seen
        if line not in decorator_lines(code)
    )
    # Beyond the end of the tables the same formulas are evaluated, with numbers that are public anyway.
    assert {line for line in missed if not line.startswith("exploration.py")} == set()


def decorator_lines(code: CodeType) -> range:
    """Return the lines before the body: decorators and the `def` itself."""
    (function,) = (f for f in _kernel.KERNELS if f.__code__ is code)
    first = code.co_firstlineno
    source = Path(code.co_filename).read_text().splitlines()
    line = first
    while not source[line - 1].lstrip().startswith("def "):
        line += 1
    assert function.__name__ in source[line - 1]
    return range(first, line + 1)


# ---- the contract that ships


@every_policy
@pytest.mark.parametrize("check", [name for name in CHECKS if name != "symmetry"])
def test_every_policy_keeps_the_contract(policy: Policy, check: str) -> None:
    CHECKS[check](subject(policy))


# All indices of this one are 1 for so long that the order of the arms decides between equal ones.
@pytest.mark.parametrize("policy", [p for p in SETTINGS if p != dpb.AdaPKLUCB(epsilon=0.7)], ids=shown)
def test_arms_are_treated_alike(policy: Policy) -> None:
    CHECKS["symmetry"](subject(policy))


def subject(policy: Policy) -> Subject:
    return Subject(policy, ARMS, horizon_of(policy), seed=8)


@every_policy
def test_a_state_of_another_size_is_refused(policy: Policy) -> None:
    game = Game(policy, ARMS, horizon_of(policy), SeededNoise(5)).play(bits(7), 20, "blocks")
    text = json.dumps(to_plain(game.state), allow_nan=False)
    other = Game(policy, ARMS + 1, horizon_of(policy), SeededNoise(5))
    before = to_plain(other.state)
    with pytest.raises(dpb.InvalidInput, match="Expected"):
        restore(other.state, json.loads(text))
    assert to_plain(other.state) == before


# ---- errors


@every_policy
def test_bad_input_is_refused_with_its_range(policy: Policy) -> None:
    for arms, horizon in ((0, 10), (-1, 10), (2.5, 10), (3, 0), (3, 10**19), (3, "many")):
        with pytest.raises(dpb.InvalidInput, match=r"Expected (arms|horizon)="):
            policy.configure(arms, horizon)  # type: ignore[arg-type]
    with pytest.raises((FrozenInstanceError, TypeError)):
        policy.epsilon = 5.0  # type: ignore[attr-defined]


BUDGETS = [1e-6, 40.0, 800.0, 1e12]
EXTREMES: list[Policy] = [
    *(kind(epsilon=epsilon, first_phase=3) for epsilon in BUDGETS for kind in (dpb.DPIMED, dpb.NoiseAwareIMED)),
    *(kind(epsilon=epsilon, first_phase=3) for epsilon in BUDGETS for kind in (dpb.DPKLUCB, dpb.NoiseAwareKLUCB)),
    *(kind(epsilon=epsilon) for epsilon in BUDGETS for kind in (dpb.AdaPUCB, dpb.AdaPKLUCB, dpb.LazyDPTS)),
    *(kind(epsilon=epsilon) for epsilon in BUDGETS for kind in (dpb.AnytimeLazyUCB, dpb.DPSE, dpb.BlockUCB)),
    *(kind(epsilon=epsilon) for epsilon in BUDGETS for kind in (dpb.LDPUCBBernoulli, dpb.LDPUCBLaplace)),
    *(dpb.AdaCUCB(epsilon=epsilon, delta=delta) for epsilon in BUDGETS for delta in (1e-12, 0.99)),
]


def of_budget(kind: Any, epsilon: Any) -> Policy:
    """Return a policy of this kind with its defaults."""
    policy: Policy = (
        kind(epsilon=epsilon, delta=DELTA) if "delta" in kind.__dataclass_fields__ else kind(epsilon=epsilon)
    )
    return policy


@pytest.mark.parametrize("kind", [kind for kind in POLICIES.values() if "epsilon" in kind.__dataclass_fields__])  # type: ignore[attr-defined]
def test_every_private_policy_takes_epsilon_from_one_range(kind: Any) -> None:
    """And what it takes it can play, without a warning."""
    for bad in (9e-7, 0, -1, math.nan, math.inf, "1", True, None):
        with pytest.raises(dpb.InvalidInput, match=r"^Expected epsilon=.* in \[1e-06, inf\)\.$"):
            of_budget(kind, bad)
    for epsilon in (1e-6, 1e6, 1e300):
        policy = of_budget(kind, epsilon)
        guarantee = policy.guarantee(100)
        assert guarantee is not None
        assert guarantee.epsilon <= epsilon
        Game(policy, ARMS, 100, SeededNoise(1)).play(lambda t, arm: float(t % 2), 100)


@pytest.mark.parametrize("policy", EXTREMES, ids=shown)
def test_what_a_policy_accepts_it_can_play(policy: Policy) -> None:
    """The smallest and very large budgets, with rewards that are all the same: no warning, no division by zero."""
    guarantee = policy.guarantee()
    assert guarantee is not None
    assert guarantee.epsilon <= policy.epsilon  # type: ignore[attr-defined]
    for reward in (0.0, 1.0):
        Game(policy, ARMS, HORIZON, SeededNoise(1)).play(lambda t, arm, reward=reward: reward, HORIZON)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dpb.DPUCB(epsilon=0), r"Expected epsilon=0 in \[1e-06, inf\)."),
        (
            lambda: dpb.DPUCB(epsilon=1, variant="other"),  # type: ignore[arg-type]
            "Expected variant='other' to be one of proved, published.",
        ),
        (
            lambda: dpb.DPUCB(epsilon=1, counter="tree"),  # type: ignore[arg-type]
            "Expected counter='tree' to be one of hybrid, weighted.",
        ),
        (lambda: dpb.DPUCBBound(epsilon=1, variant="published", counter="weighted"), "it is what was published"),
        (
            lambda: dpb.PrivateUCB(epsilon=1, relaxation="some"),  # type: ignore[arg-type]
            "Expected relaxation='some' to be one of published, none.",
        ),
        (
            lambda: dpb.PrivateUCB(epsilon=1, split_over_arms="no"),  # type: ignore[arg-type]
            "Expected split_over_arms='no' to be True or False.",
        ),
        (lambda: dpb.HybridDMAB(epsilon=1, balance=1), r"Expected balance=1 in \(0, 1\)."),
        (lambda: dpb.DPUCBInt(epsilon=1e-150, delta=1e-6), r"Expected epsilon=1e-150 in \[1e-06, inf\)."),
        (lambda: dpb.DPUCBInt(epsilon=1, delta=0), r"Expected delta=0 in \(0, 1\)."),
        (lambda: dpb.DPUCBInt(epsilon=1, delta=1, horizon=10), r"Expected delta=1 in \[0, 1\)."),
        (lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, v=2), r"Expected v=2 in \(1, 1.5\]."),
        (
            lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, series="z"),  # type: ignore[arg-type]
            "Expected series='z' to be one of y, x, constant.",
        ),
        (
            lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, bonus="no"),  # type: ignore[arg-type]
            "Expected bonus='no' to be one of live, frozen.",
        ),
        (
            lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, accounting="x"),  # type: ignore[arg-type]
            "Expected accounting='x' to be one of tight, corollary.",
        ),
        (lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, horizon=0), "Expected horizon=0 in"),
        (
            lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, horizon=100).configure(2, 101),
            r"Expected horizon=101 in \[1, 100\], which the policy was declared for.",
        ),
    ],
)
def test_settings_are_checked_when_a_policy_is_made(make: Callable[[], Policy], message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        make()


def test_unregistered_params_are_an_error() -> None:
    for call in (
        lambda: select(3, None, 1),
        lambda: hold(3, None, 0, 1),
        lambda: update(3, None, 0, 1, 1.0, 2, None),
    ):
        with pytest.raises(TypeError, match="belongs to no policy"):
            call()
