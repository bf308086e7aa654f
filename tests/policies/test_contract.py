"""What every policy must satisfy, whatever it does. A new policy is added to POLICIES and to `SETTINGS` here."""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from distributions import same_distribution
from dpbandits import _kernel
from dpbandits.mechanisms import RecordingNoise, SeededNoise
from dpbandits.mechanisms.state import restore, to_plain
from dpbandits.policies import POLICIES, Policy, hold, select, update
from dpbandits.privacy import Ledger, compose
from dpbandits.simulation.job import Job
from playing import CUTS, Game
from taint import Leak, Secret, TaintNoise, secret_reward

DELTA = 1e-6
HORIZON = 260
BEYOND = HORIZON + 40  # somebody plays on
ARMS = 3

SETTINGS: list[Policy] = [
    dpb.UCB(),
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
]
PRIVATE = [policy for policy in SETTINGS if policy.guarantee(HORIZON) is not None]


def shown(policy: Policy) -> str:
    return repr(policy).replace(" ", "")


every_policy = pytest.mark.parametrize("policy", SETTINGS, ids=shown)
every_private_policy = pytest.mark.parametrize("policy", PRIVATE, ids=shown)


def bits(seed: int) -> Callable[[int, int], float]:
    """Return rewards that depend on time and arm alone."""
    table = np.random.default_rng(seed).random((BEYOND + 1, ARMS)) < [0.3, 0.7, 0.5]
    return lambda t, arm: float(table[t, arm])


def test_every_policy_is_here() -> None:
    assert {type(policy) for policy in SETTINGS} == set(POLICIES.values())
    assert [kind.name for kind in POLICIES.values()] == list(POLICIES)


# ---- privacy


@every_private_policy
@pytest.mark.parametrize("cut", CUTS)
def test_the_exact_loss_of_every_reward_is_within_the_guarantee(policy: Policy, cut: str) -> None:
    guarantee = policy.guarantee(HORIZON)
    assert guarantee is not None
    noise = TaintNoise(3)
    rewards = bits(4)
    game = Game(policy, ARMS, HORIZON, noise, object)
    game.play(lambda t, arm: secret_reward(t, rewards(t, arm)), BEYOND, cut, seed=5)
    worst = max(noise.losses().values())
    if guarantee.delta == 0:
        assert worst <= guarantee.epsilon * (1 + 1e-9)
    else:  # the first reward of an arm is in all of its releases
        (schedule,) = policy.schedule(ARMS, HORIZON)
        assert worst <= math.fsum(event.epsilon for event in schedule) * (1 + 1e-9)  # type: ignore[union-attr]
    assert guarantee.certified


@pytest.mark.parametrize("policy", [p for p in SETTINGS if isinstance(p, dpb.DPUCBInt)], ids=shown)
def test_dp_ucb_int_guarantees_what_its_schedule_costs(policy: dpb.DPUCBInt) -> None:
    (schedule,) = policy.schedule(ARMS, HORIZON)
    composed = compose(list(schedule), policy.delta, HORIZON)
    assert policy.guarantee(HORIZON) == composed
    budget = dpb.Budget(policy.epsilon, policy.delta)
    whole = policy.guarantee(policy.horizon or math.inf)
    assert whole.within(budget)
    if policy.accounting == "tight":  # nothing is left over, as far as schedules of whole numbers allow
        assert whole.epsilon > 0.9 * policy.epsilon
    assert composed.within(budget)


@pytest.mark.parametrize("cut", CUTS)
def test_the_taint_check_finds_that_ucb_is_not_private(cut: str) -> None:
    game = Game(dpb.UCB(), ARMS, HORIZON, TaintNoise(3), object)
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
def test_hybrids_lose_exactly_what_they_certify(policy: Policy, factor: int) -> None:
    """The published ones lose twice what the paper claims: the claim is false, not only unproved."""
    noise = TaintNoise(1)
    rewards = bits(2)
    Game(policy, 2, HORIZON, noise, object).play(lambda t, arm: secret_reward(t, rewards(t, arm)), HORIZON)
    assert max(noise.losses().values()) == pytest.approx(0.7 * factor, rel=1e-12)
    guarantee, claim = policy.guarantee(), policy.claim()
    assert guarantee is not None
    assert (guarantee.epsilon, guarantee.certified) == (0.7 * factor, True)
    assert (claim is None) == (factor == 1)
    if claim is not None:
        assert (claim.epsilon, claim.certified) == (0.7, False)


def test_dp_ucb_int_loses_exactly_the_sum_of_its_schedule() -> None:
    policy = dpb.DPUCBInt(epsilon=3.0, delta=DELTA)
    noise = TaintNoise(1)
    Game(policy, 1, HORIZON, noise, object).play(lambda t, arm: secret_reward(t, 1.0), HORIZON, "blocks")
    times = dpb.privacy.release_times(policy.interval_epsilon, 1.1, "y", horizon=HORIZON)
    assert noise.losses()[1] == pytest.approx(math.fsum(float(n) ** -0.55 for n in times), rel=1e-12)


@every_policy
def test_ledger_rows_are_a_beginning_of_the_schedule(policy: Policy) -> None:
    noise = RecordingNoise(SeededNoise(3), Ledger())
    Game(policy, ARMS, HORIZON, noise).play(bits(4), HORIZON, "cut blocks", seed=6)
    by_arm: defaultdict[int, list[float]] = defaultdict(list)
    for row in noise.ledger:
        if "scale" in row.content:  # a carried release draws nothing
            by_arm[row.content["arm"]].append(row.content["scale"] / row.content["sensitivity"])
    assert bool(by_arm) == (policy in PRIVATE)
    for drawn in by_arm.values():
        assert is_interleaving(drawn, [scales(stream, len(drawn)) for stream in policy.schedule(ARMS, HORIZON)])
    # The check has power: one scale that is off is found.
    if by_arm:
        drawn = by_arm[0]
        drawn[len(drawn) // 2] *= 1.0001
        assert not is_interleaving(drawn, [scales(stream, len(drawn)) for stream in policy.schedule(ARMS, HORIZON)])


def scales(stream: Iterator[Any], most: int) -> list[float]:
    return [event.scale / event.sensitivity for event in islice(stream, most)]


def is_interleaving(drawn: list[float], streams: list[list[float]]) -> bool:
    """Tell whether `drawn` mixes beginnings of the streams, each in its own order."""
    reachable = {(0,) * len(streams)}
    for scale in drawn:
        reachable = {
            (*at[:i], at[i] + 1, *at[i + 1 :])
            for at in reachable
            for i, stream in enumerate(streams)
            if at[i] < len(stream) and stream[at[i]] == scale
        }
    return bool(reachable)


def test_the_taint_runs_reach_every_line_of_every_kernel() -> None:
    """Otherwise a leak could hide in a line that they never execute."""
    kernels = {
        function.__code__ for function in _kernel.KERNELS if function.__module__.startswith("dpbandits.policies")
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
        for policy in PRIVATE:
            for cut in CUTS:
                game = Game(policy, ARMS, HORIZON, TaintNoise(3), object)
                game.play(secrets, BEYOND, cut, seed=5)
    finally:
        sys.settrace(before)
    of_ucb = {select.dispatch(dpb.policies.ucb.Params), update.dispatch(dpb.policies.ucb.Params)}
    missed = sorted(
        f"{code.co_filename.split('/')[-1]}:{line}"
        for code in kernels - {function.__code__ for function in of_ucb}
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


# ---- one definition


@every_policy
@pytest.mark.parametrize("blocks", [True, False], ids=["blocks", "steps"])
def test_compiled_and_plain_are_the_same_trajectory(policy: Policy, blocks: bool) -> None:
    from dpbandits.simulation import loop

    environment = dpb.Bernoulli([0.31, 0.7, 0.52])
    every_step = np.arange(1, HORIZON + 1)
    job = Job(policy, environment, HORIZON, every_step, blocks=blocks)
    compiled = np.empty((3, HORIZON))
    job.play(np.random.SeedSequence(8), compiled)
    game = Game(policy, ARMS, HORIZON, SeededNoise(np.random.SeedSequence(8)))
    for row in compiled:
        plain, switches = np.empty(HORIZON), np.zeros(1, dtype=np.int64)
        loop.clear(game.state)
        longest = 2**62 if blocks else 1
        setup: tuple[Any, Any, Any, Any, Any] = (
            game.params,
            game.state,
            environment.configure(),
            environment.gaps,
            game.noise,
        )
        loop.play(*setup, HORIZON, longest, every_step, plain, switches, np.zeros(1))
        assert plain.tolist() == row.tolist()
        assert switches[0] == np.count_nonzero(np.diff(np.diff(plain, prepend=0.0).round(6)))


@every_policy
def test_hold_is_a_promise(policy: Policy) -> None:
    """Within a block `select` says the same at every step, though nobody asks it there."""
    game = Game(policy, ARMS, HORIZON, SeededNoise(2))
    rewards = bits(1)
    while game.t <= HORIZON:
        t = game.t
        arm = int(select(game.params, game.state, t))
        plays = min(int(hold(game.params, game.state, arm, t)), HORIZON - t + 1)
        assert plays >= 1
        assert {int(select(game.params, game.state, later)) for later in range(t, t + plays)} == {arm}
        game.t += plays
        total = sum(rewards(later, arm) for later in range(t, t + plays))
        update(game.params, game.state, arm, plays, total, game.t, game.noise)


@every_policy
def test_blocks_and_steps_have_the_same_distribution(policy: Policy) -> None:
    """Kolmogorov-Smirnov on 4000 runs each, false-alarm rate 1e-4; bit for bit where every block is a single play."""
    environment = dpb.Bernoulli([0.3, 0.8, 0.5])
    has_blocks = isinstance(policy, dpb.DPUCBInt)
    played = {}
    for blocks in (True, False):
        job = Job(policy, environment, HORIZON, np.array([50, HORIZON]), blocks=blocks)
        played[blocks] = np.empty((4000 if has_blocks else 50, 2))
        job.play(np.random.SeedSequence(2 if has_blocks and blocks else 1), played[blocks])
    if has_blocks:
        assert not np.array_equal(played[True], played[False])
        for column in range(2):
            assert same_distribution(played[True][:, column], played[False][:, column])
    else:
        assert np.array_equal(played[True], played[False])


def test_the_test_of_distributions_has_power() -> None:
    """Slightly more noise (v = 1.2 instead of 1.1) is told apart by the same test."""
    samples = []
    for v, seed in ((1.1, 1), (1.2, 2)):
        job = Job(
            dpb.DPUCBInt(epsilon=3.0, delta=DELTA, v=v), dpb.Bernoulli([0.3, 0.8, 0.5]), HORIZON, np.array([HORIZON])
        )
        regrets = np.empty((4000, 1))
        job.play(np.random.SeedSequence(seed), regrets)
        samples.append(regrets[:, 0])
    assert not same_distribution(*samples)


@every_policy
def test_a_state_survives_json_in_the_middle_of_a_run(policy: Policy) -> None:
    rewards = bits(7)
    whole = Game(policy, ARMS, HORIZON, SeededNoise(5)).play(rewards, HORIZON, "blocks")
    half = Game(policy, ARMS, HORIZON, SeededNoise(5)).play(
        rewards, whole.blocks[len(whole.blocks) // 2][0] - 1, "blocks"
    )
    text = json.dumps(to_plain(half.state), allow_nan=False)
    resumed = Game(policy, ARMS, HORIZON, half.noise)  # the generator goes on where it was
    restore(resumed.state, json.loads(text))
    resumed.t = half.t
    resumed.play(rewards, HORIZON, "blocks")
    assert half.actions + resumed.actions == whole.actions
    assert to_plain(resumed.state) == to_plain(whole.state)
    other = Game(policy, ARMS + 1, HORIZON, SeededNoise(5))
    before = to_plain(other.state)
    with pytest.raises(dpb.InvalidInput, match="Expected"):
        restore(other.state, json.loads(text))
    assert to_plain(other.state) == before


@every_policy
def test_arms_are_treated_alike(policy: Policy) -> None:
    """The same arms in another order give the same distribution of regret (ties apart): KS at 1e-4 on 3000 runs."""
    samples = []
    for means, seed in (([0.25, 0.75, 0.5], 3), ([0.75, 0.5, 0.25], 4)):
        job = Job(policy, dpb.Bernoulli(means), HORIZON, np.array([HORIZON]))
        regrets = np.empty((3000, 1))
        job.play(np.random.SeedSequence(seed), regrets)
        samples.append(regrets[:, 0])
    assert same_distribution(*samples)


# ---- errors


@every_policy
def test_bad_input_is_refused_with_its_range(policy: Policy) -> None:
    for arms, horizon in ((0, 10), (-1, 10), (2.5, 10), (3, 0), (3, 10**19), (3, "many")):
        with pytest.raises(dpb.InvalidInput, match=r"Expected (arms|horizon)="):
            policy.configure(arms, horizon)  # type: ignore[arg-type]
    with pytest.raises((FrozenInstanceError, TypeError)):
        policy.epsilon = 5.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dpb.DPUCB(epsilon=0), r"Expected epsilon=0 in \(0, inf\)."),
        (lambda: dpb.DPUCB(epsilon=float("nan")), r"Expected epsilon=nan in \(0, inf\)."),
        (lambda: dpb.DPUCB(epsilon=1, variant="other"), "Expected variant='other' to be one of proved, published."),
        (lambda: dpb.DPUCB(epsilon=1, counter="tree"), "Expected counter='tree' to be one of hybrid, weighted."),
        (lambda: dpb.DPUCBBound(epsilon=1, variant="published", counter="weighted"), "it is what was published"),
        (
            lambda: dpb.PrivateUCB(epsilon=1, relaxation="some"),
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
        (lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, series="z"), "Expected series='z' to be one of y, x, constant."),
        (lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, bonus="no"), "Expected bonus='no' to be one of live, frozen."),
        (
            lambda: dpb.DPUCBInt(epsilon=1, delta=1e-6, accounting="x"),
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
