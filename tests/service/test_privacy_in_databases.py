"""Through a database: nothing of a reward shows before its release, and every release is the sum of just its places.

Single rewards reach a release as whole numbers in a column, so the exact account of tests/live/test_privacy.py cannot
follow them. Instead noise is nothing, rewards are such that every set of them has another sum, and the values are
compared with the sums of what was acknowledged.
"""

import random
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

import dpbandits as dpb
from dpbandits.live.reward_scale import RewardScale
from dpbandits.live.timing import TIMINGS, Timing
from dpbandits.policies import Policy
from dpbandits.service.overviews import acknowledged_overview
from dpbandits.service.schema import assignments, experiments
from dpbandits.service.steps import Assign, ReleaseDue, Reward, Step
from dpbandits.service.store import Store
from dpbandits.service.ticker import look_for_due_blocks
from dpbandits.service.writer import Writer
from service_stores import Place, begun, configured
from shared_noise import ConstantNoise, SharedNoise

pytestmark = pytest.mark.slow

WINDOW = 10.0
POLICIES: list[Policy] = [
    dpb.NoiseAwareIMED(epsilon=9.0, first_phase=2, growth=1.4),
    dpb.DPUCBInt(epsilon=90.0, delta=0.0, horizon=400),
]


@dataclass(frozen=True)
class Reply:
    """When somebody answers after their assignment, and what; None if they never do."""

    delay: float | None
    reward: float


def reply(number: int) -> Reply:
    dice = random.Random(f"reply {number}")  # noqa: S311
    delay = None if dice.random() < 0.15 else dice.random() * WINDOW * 1.1
    return Reply(delay, float(dice.random() < 0.6))


@dataclass
class Seen:
    """Everything that is shown to anybody but those who bring rewards, with its time."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    rows: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    places: dict[int, tuple[int, int | None]] = field(default_factory=dict)  # arm and block of assignments


def watched(
    place: Place, folder: Path, policy: Policy, timing: Timing, replies: Callable[[int], Reply], ticks: float
) -> Seen:
    """Play a script: people come in crowds, answers come one by one or together, and the ticker looks now and then.

    Batches that bring nothing but rewards are taken between the time at which a block is due and the next tick.
    """
    now, dice, seen = [1e6], random.Random("script"), Seen()  # noqa: S311
    folder.mkdir()
    with ExitStack() as stack:
        store = stack.enter_context(Place(place.kind, folder).store(clock=lambda: now[0]))
        begun(store, "trial", configured(policy, 3, window=WINDOW, timing=timing, horizon=400))
        with store.database.writing() as connection:
            connection.execute(update(experiments).values(tag="tag"))
        writer = stack.enter_context(Writer(store, make_source=lambda name, bits: SharedNoise(5, bits)))

        def look(what: object) -> None:
            overview = acknowledged_overview(store, "trial")
            for row in overview.releases[len(seen.rows) :]:
                seen.rows.append((now[0], dict(row.content)))
            shown = (overview.estimates(0.9), overview.spent(), overview.exhausted, overview.assigned_to)
            seen.lines.append((now[0], f"{what} {shown} {overview.ledger.head}"))

        answers: list[tuple[float, int, str]] = []
        assigned, next_tick = 0, now[0] + ticks
        for _ in range(20):
            end = now[0] + dice.random() * 4
            while answers or next_tick <= end:
                when, number, name = min(answers, default=(float("inf"), 0, ""))
                if min(when, next_tick) > end:
                    break
                now[0] = max(now[0], min(when, next_tick))
                if next_tick <= when:
                    look(look_for_due_blocks(store, writer))
                    next_tick += ticks
                    continue
                answers.remove((when, number, name))
                with suppress(dpb.WindowClosed):
                    writer.take(Reward(name, replies(number).reward, f"answer {number}"))
            now[0] = end
            steps = [Assign("trial", f"p{dice.randrange(10**6)}") for _ in range(dice.choice([0, 1, 3, 8]))]
            given = [future.result() for future in writer.submit_many(steps)]
            look([(each.id, each.arm, each.is_new) for each in given])
            for each in given:
                assigned += 1
                answer = replies(assigned)
                if answer.delay is not None:
                    answers.append((now[0] + answer.delay, assigned, each.id))
        now[0] += WINDOW
        look(look_for_due_blocks(store, writer))
        with store.database.reading() as connection:
            found = connection.execute(select(assignments.c.number, assignments.c.arm, assignments.c.block))
            seen.places = {number: (arm, block) for number, arm, block in found}
    return seen


def with_other(changed: int, other: Reply) -> Callable[[int], Reply]:
    return lambda number: other if number == changed else reply(number)


CHANGED = next(
    number for number in range(8, 99) if (reply(number).delay or WINDOW) < WINDOW / 2 and reply(number).reward == 1.0
)
VALUE = Reply(reply(CHANGED).delay, 1 - reply(CHANGED).reward)
OTHERS = {
    "its value": VALUE,
    "its presence": Reply(None, 0.0),
    "its time": Reply(WINDOW * 0.999, reply(CHANGED).reward),
    "too late": Reply(WINDOW * 1.001, reply(CHANGED).reward),
}


def first_release_with(number: int, seen: Seen) -> int:
    """Return which of the releases is the first one that has an assignment in it."""
    arm, block = seen.places[number]
    assert block is not None
    return next(place for place, (_, row) in enumerate(seen.rows) if (row["arm"], row["release"]) == (arm, block + 1))


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_nothing_of_a_reward_shows_before_its_release(
    place: Place, tmp_path: Path, policy: Policy, timing: Timing
) -> None:
    """Same noise, ids and clock. In sealed timing also if it is missing, or comes at another time."""
    one = watched(place, tmp_path / "one", policy, timing, reply, ticks=2.0)
    first = first_release_with(CHANGED, one)
    time = one.rows[first][0]
    for name, other in OTHERS.items():
        if timing == "open" and name != "its value":
            continue
        two = watched(place, tmp_path / name, policy, timing, with_other(CHANGED, other), ticks=2.0)
        assert one.rows[:first] == two.rows[:first]
        assert [line for line in one.lines if line[0] < time] == [line for line in two.lines if line[0] < time]
        assert (time, one.rows[first][1] | {"value": 0}) == (two.rows[first][0], two.rows[first][1] | {"value": 0})
        if name == "its time":
            assert (one.lines, one.rows) == (two.lines, two.rows)
        else:
            assert one.rows[first] != two.rows[first]


def test_with_open_timing_the_presence_and_the_time_of_a_reward_show(place: Place, tmp_path: Path) -> None:
    """The test above has power."""
    one = watched(place, tmp_path / "one", POLICIES[0], "open", reply, ticks=2.0)
    first = first_release_with(CHANGED, one)
    for name in ("its presence", "its time"):
        two = watched(place, tmp_path / name, POLICIES[0], "open", with_other(CHANGED, OTHERS[name]), ticks=2.0)
        if [time for time, _ in one.rows[: first + 1]] != [time for time, _ in two.rows[: first + 1]]:
            return
    pytest.fail("neither shows")


# ---- every release is the sum of just its places

GRID_BITS = 30
DEFAULT = 0.25


def reward_of(name: str, number: int) -> float:
    """Return a reward that no few others add up to."""
    steps: int = random.Random(f"{name} {number}").randrange(2**GRID_BITS)  # noqa: S311
    return steps / (1 << GRID_BITS)


@pytest.mark.parametrize("seed", range(3))
def test_every_release_is_the_sum_of_just_the_rewards_of_its_places(place: Place, seed: int) -> None:
    """Random people, answers, batches, experiments and, on PostgreSQL, writers; everything is released in the end."""
    dice = random.Random(f"sums {seed}")  # noqa: S311
    now = [1e6]
    with ExitStack() as stack:
        stores = [stack.enter_context(place.store(clock=lambda: now[0]))]
        if not stores[0].database.is_sqlite:
            stores.append(stack.enter_context(place.store(clock=lambda: now[0])))
        settings: dict[str, dict[str, Any]] = {
            "for ever": {"policy": POLICIES[0]},
            "open": {"policy": POLICIES[0], "window": 30.0, "contributions": 2},
            "sealed": {"policy": POLICIES[1], "window": 30.0, "timing": "sealed"},
            "cumulative": {"policy": POLICIES[1], "contributions": 3, "sticky": False},
        }
        names = {name.replace(" ", "-"): options for name, options in settings.items()}
        for name, options in names.items():
            begun(stores[0], name, configured(rewards=RewardScale(default=DEFAULT), grid_bits=GRID_BITS, **options))
        writers = [
            stack.enter_context(Writer(each, make_source=lambda name, bits: ConstantNoise(bits), most_learners=3))
            for each in stores
        ]
        acknowledged: dict[tuple[str, int], float] = {}
        opened: list[tuple[str, str]] = []
        for _ in range(60):
            now[0] += dice.random() * 3
            steps: list[tuple[str, Step]] = []
            for _ in range(dice.choice([1, 4, 12])):
                name = dice.choice(list(names))
                if dice.random() < 0.5 or not opened:
                    steps.append((name, Assign(name, dice.randrange(120))))
                else:
                    name, assignment = opened.pop(dice.randrange(max(0, len(opened) - 15), len(opened)))
                    value = reward_of(name, int(assignment.split("-")[1]))
                    steps.append((name, Reward(assignment, value, f"key {assignment}")))
            if dice.random() < 0.1:
                steps.append(("sealed", ReleaseDue("sealed")))
            dice.shuffle(steps)
            cut = dice.randrange(len(steps) + 1)
            parts = [steps[:cut], steps[cut:]]
            futures: list[tuple[str, Step, Future[Any]]] = []
            for part in parts:
                taken = dice.choice(writers).submit_many([step for _, step in part])
                futures += [(name, step, future) for (name, step), future in zip(part, taken, strict=True)]
            for name, step, future in futures:
                try:
                    answer = future.result()
                except (dpb.WindowClosed, dpb.AlreadyClosed):
                    continue
                if isinstance(step, Reward):
                    number = int(step.assignment.split("-")[1])
                    acknowledged[name, number] = reward_of(name, number)
                elif isinstance(step, Assign) and answer.is_new:
                    opened.append((name, answer.id))
        now[0] += 40
        for name in names:
            dice.choice(writers).take(ReleaseDue(name))
        released = sum(check_sums(stores[0], name, acknowledged) for name in names)
    assert released >= 20


def check_sums(store: Store, name: str, acknowledged: dict[tuple[str, int], float]) -> int:
    """Compare every released value with the sum of what was acknowledged; return how many there were."""
    overview = acknowledged_overview(store, name)
    with store.database.reading() as connection:
        own = select(experiments.c.id).where(experiments.c.name == name).scalar_subquery()
        columns = (assignments.c.number, assignments.c.arm, assignments.c.block)
        places = connection.execute(select(*columns).where(assignments.c.experiment == own)).all()
    for row in overview.releases:
        content = row.content
        block = content["release"] - 1
        members = [
            number
            for number, arm, own_block in places
            if arm == content["arm"]
            and own_block is not None
            and (own_block <= block if overview.is_cumulative else own_block == block)
        ]
        assert len(members) == content["count"]
        assert content["value"] == sum(acknowledged.get((name, number), DEFAULT) for number in members)
    return len(overview.releases)
