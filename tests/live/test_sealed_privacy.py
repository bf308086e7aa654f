"""With a window: what a reward costs, and that with sealed timing neither its presence nor its time shows."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.live import Assignment
from dpbandits.live.timing import TIMINGS, Timing
from dpbandits.policies import Policy
from dpbandits.privacy import DiscreteLaplaceEvent, compose
from insides import learner_of
from servable_policies import HORIZON, SERVABLE, shown
from shared_noise import SharedNoise
from tainted_noise import TaintedNoise

pytestmark = pytest.mark.slow

every_servable_policy = pytest.mark.parametrize("policy", SERVABLE, ids=shown)
WINDOW = 20.0
GRID = 2**12
EVENTS = 60


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Reply:
    """What a person does: when they answer, after their assignment, and what. None if they never do."""

    delay: float | None
    reward: float


def reply(number: int) -> Reply:
    dice = random.Random(f"reply {number}")  # noqa: S311
    delay = None if dice.random() < 0.15 else dice.random() * WINDOW * 1.1  # some come too late
    return Reply(delay, float(dice.random() < 0.6))


@dataclass
class Seen:
    """Everything that anybody sees, with its time."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    rows: list[tuple[float, dict[str, Any]]] = field(default_factory=list)


def watched(
    policy: Policy, timing: Timing, replies: Callable[[int], Reply], noise: Any, crowd: int = 10**6, **options: Any
) -> Seen:
    """Play a script of arrivals; answers come when they come, by themselves or many at once.

    Where the crowd is small people come again and again, and some are forgotten.
    """
    clock, dice, seen = Clock(), random.Random("script"), Seen()  # noqa: S311
    bandit = dpb.Bandit(policy, 3, noise=noise, accept_delta=True, window=WINDOW, timing=timing, clock=clock, **options)
    learner_of(bandit).tag = "tag"
    answers: list[tuple[float, int, Assignment, float]] = []
    assigned = 0

    def look(what: object) -> None:
        for row in list(bandit.ledger)[len(seen.rows) + 1 :]:
            seen.rows.append((clock.now, dict(row.content)))
        line = f"{what} {bandit} {bandit.exhausted} {len(bandit.ledger)}"
        if len(seen.lines) % 16 == 15:  # it takes long
            line += f" {bandit.spent()}"
        seen.lines.append((clock.now, line))

    for _ in range(EVENTS):
        end = clock.now + dice.random() * 6
        arrivals = dice.choice([0, 1, 3, 12])
        due_now = sorted(entry[:2] for entry in answers if entry[0] <= end)
        by_number = {entry[1]: entry for entry in answers}
        answers = [entry for entry in answers if entry[0] > end]
        for when, number in due_now:  # each at its own time
            clock.now = max(clock.now, when)
            with suppress(dpb.WindowClosed):
                bandit.close(by_number[number][2], by_number[number][3], key=f"answer {number}")
        clock.now = end
        if arrivals == 0:
            look(bandit.release_due())
            continue
        names = [f"p{dice.randrange(crowd)}" for _ in range(arrivals)]
        people: list[str | None] = [None] * arrivals if dice.random() < 0.5 and crowd > 100 else [*names]
        if crowd <= 100 and dice.random() < 0.2:
            bandit.forget(names[0])
        given = bandit.assign_many(people)
        look([(a.id, a.arm, a.is_new) for a in given])
        for a in filter(lambda a: a.is_new, given):
            assigned += 1
            answer = replies(assigned)
            if answer.delay is not None:
                answers.append((clock.now + answer.delay, assigned, a, answer.reward))
    clock.now += WINDOW
    look(bandit.release_due())
    return seen


@pytest.mark.parametrize("timing", TIMINGS)
@every_servable_policy
def test_the_exact_loss_of_every_reward_is_within_the_guarantee(policy: Policy, timing: Timing) -> None:
    """Batches are cut at random, and most blocks are released by the clock: some of their answers never come."""
    noise = TaintedNoise(3)
    seen = watched(policy, timing, reply, noise, horizon=HORIZON)
    guarantee = policy.live(1, 12).guarantee(HORIZON)
    assert guarantee is not None
    losses = noise.taint.losses()
    worst = max(losses, key=lambda number: losses[number])
    assert len(noise.taint.releases) == len(seen.rows) >= 3
    if guarantee.delta == 0:
        assert losses[worst] <= guarantee.epsilon * (1 + 1e-12)
    else:
        scales = [
            noise.taint.scales[drawn]
            for form in noise.taint.releases
            if ("reward", worst) in form
            for kind, drawn in form
            if kind == "noise"
        ]
        assert compose([DiscreteLaplaceEvent(scale * GRID, GRID) for scale in scales], guarantee.delta).within(
            dpb.Budget(guarantee.epsilon, guarantee.delta)
        )
    factors = {form[name] for form in noise.taint.releases for name in form if name[0] == "reward"}
    assert factors == {1}


def with_other(changed: int, other: Reply) -> Callable[[int], Reply]:
    return lambda number: other if number == changed else reply(number)


CHANGED = next(number for number in range(8, 100) if reply(number).delay is not None and reply(number).delay < 10)  # type: ignore[operator]
OTHERS = {
    "its value": Reply(reply(CHANGED).delay, 1 - reply(CHANGED).reward),
    "its presence": Reply(None, 0.0),
    "its time": Reply(0.0, reply(CHANGED).reward),
    "its time, late": Reply(WINDOW * 0.999, reply(CHANGED).reward),
    "too late": Reply(WINDOW * 1.001, reply(CHANGED).reward),
}


@cache
def as_it_is(policy: int) -> Seen:
    return watched(SERVABLE[policy], "sealed", reply, SharedNoise(5), horizon=HORIZON)


@pytest.mark.parametrize("other", OTHERS)
@every_servable_policy
def test_with_sealed_timing_nothing_of_a_reward_shows_before_its_release(policy: Policy, other: str) -> None:
    """Same noise, ids and clock: all that is seen is the same until then, and that release comes at the same time."""
    one = as_it_is(SERVABLE.index(policy))
    two = watched(policy, "sealed", with_other(CHANGED, OTHERS[other]), SharedNoise(5), horizon=HORIZON)
    holding = [
        place for place, (_, row) in enumerate(one.rows) if row["first"] <= CHANGED <= row["last"] and is_in(row, one)
    ]
    first = holding[0] if holding else len(one.rows)
    assert one.rows[:first] == two.rows[:first]
    until: float = one.rows[first][0] if holding else float("inf")
    assert [line for line in one.lines if line[0] < until] == [line for line in two.lines if line[0] < until]
    if holding:
        time, row = one.rows[first]
        assert (time, row | {"value": 0}) == (two.rows[first][0], two.rows[first][1] | {"value": 0})
    if "time" in other and "too" not in other:
        assert one.lines == two.lines  # when it came makes no difference at all
        assert one.rows == two.rows


OFTEN_RELEASED = dpb.DPUCBInt(epsilon=20.0, delta=0.0, horizon=HORIZON)  # although three rewards share its budget


@pytest.mark.parametrize("policy", [OFTEN_RELEASED, SERVABLE[7], SERVABLE[10]], ids=shown)
def test_with_sealed_timing_it_does_not_show_who_answered_where_people_come_again(policy: Policy) -> None:
    """All who answer bring what counts for a missing answer: it makes no difference at all who does, and when."""

    def somebody(number: int) -> Reply:
        return Reply(None if number % 3 else WINDOW * (number % 7) / 7, 0.0)

    options: dict[str, Any] = {"horizon": HORIZON, "contributions": 3, "shares": {0: 0.3}}
    for crowd in (20, 90):
        one, nobody, everybody = (
            watched(policy, "sealed", replies, SharedNoise(5), crowd, **options)
            for replies in (somebody, lambda _: Reply(None, 0.0), lambda _: Reply(0.0, 0.0))
        )
        assert one.lines == nobody.lines == everybody.lines
        assert one.rows == nobody.rows == everybody.rows
        assert any("False" in line for _, line in one.lines)  # somebody has come again
        assert any("('', " in line for _, line in one.lines)  # and somebody was forgotten
        assert len(one.rows) > 3


def is_in(row: dict[str, Any], seen: Seen) -> bool:
    """Tell whether the changed person was given the arm of a row."""
    return any(f"('tag-{CHANGED}', {row['arm']}, True)" in line for _, line in seen.lines)


def test_with_open_timing_the_time_of_a_reward_shows() -> None:
    """The test above has power: with open timing it would fail."""
    policy = dpb.DPUCBInt(epsilon=20.0, delta=0.0, horizon=HORIZON)
    one = watched(policy, "open", reply, SharedNoise(5))
    two = watched(policy, "open", with_other(CHANGED, Reply(WINDOW * 0.999, reply(CHANGED).reward)), SharedNoise(5))
    assert [time for time, _ in one.rows] != [time for time, _ in two.rows]


@pytest.mark.parametrize("timing", TIMINGS)
def test_one_reward_can_change_what_follows(timing: Timing) -> None:
    """And it is not that nothing is ever learnt."""
    policy = dpb.DPUCBInt(epsilon=100.0, delta=0.0, horizon=HORIZON)
    base = watched(policy, timing, reply, SharedNoise(5)).lines
    for number in range(1, 30):
        other = with_other(number, Reply(reply(number).delay, 1 - reply(number).reward))
        if watched(policy, timing, other, SharedNoise(5)).lines != base:
            return
    pytest.fail("nothing of any reward shows")
