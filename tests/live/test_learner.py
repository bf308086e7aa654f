"""The learner by itself: whom it gives what, when it releases, what it refuses, and that only releases teach it."""

import dataclasses
import json
import math
import random
from typing import Any

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live.blocks import Schedule, entering_limit
from dpbandits.live.book import PastAssignment, Place
from dpbandits.live.learner import Answer, Learner, Release
from dpbandits.live.live_noise import ReleasedValue
from dpbandits.live.persistence import from_text, to_text
from dpbandits.live.records import can_answer, can_assign
from dpbandits.live.units import Visit
from dpbandits.mechanisms import SecureNoise
from dpbandits.mechanisms.state import forget, to_plain
from dpbandits.policies import Block, Policy
from dpbandits.privacy import Row
from explore_then_commit import ExploreThenCommit
from learners import NOBODY, all_of, answered, closed, handed_out, learner_for, play
from servable_policies import SERVABLE, shown
from shared_noise import SharedNoise

PLAYS = 5
ONE_BLOCK = ExploreThenCommit(epsilon=1.0, plays=PLAYS)
HASHES = {name: str(number) * 32 for number, name in enumerate("abcdef")}
every_servable_policy = pytest.mark.parametrize("policy", SERVABLE, ids=shown)


def named(unit: str, key: str | None = None) -> Visit:
    return Visit(HASHES[unit], None if key is None else HASHES[key])


def noiseless(grid_bits: int = 12) -> SharedNoise:
    noise = SharedNoise(1, grid_bits)
    noise.draw = lambda scale, mechanism: 0  # type: ignore[method-assign]
    return noise


def without_secrets(learner: Learner) -> dict[str, Any]:
    """Return all of it that two learners with the same past share: each has a tag and a key of its own."""
    everything = all_of(learner)
    return {**everything, "learner": {**everything["learner"], "tag": "", "key": ""}}


def rows_of(learner: Learner) -> list[dict[str, Any]]:
    return [row.content for row in learner.ledger if row.number]


def by_arm(learner: Learner) -> dict[int, list[dict[str, Any]]]:
    """Return the releases of every arm, in the order in which they came."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(learner):
        found.setdefault(row["arm"], []).append(row)
    return found


def share(number: int) -> float:
    """Return a reward for an assignment."""
    return number * 7 % 11 / 10


# ---- handing out


def test_first_blocks_are_given_in_turn() -> None:
    learner = learner_for(ONE_BLOCK, 3)
    choices = []
    for number in range(1, 3 * PLAYS + 1):
        choices.append(learner.choice(None))
        assert handed_out(learner) == number
    assert choices == [Place(arm, 0) for arm in (0, 1, 2)] * PLAYS
    assert learner.choice(None) == Place(0, None)  # no place is left
    assert learner.counts.assigned_to == [PLAYS] * 3


@every_servable_policy
def test_asking_for_a_choice_changes_nothing(policy: Policy) -> None:
    learner = learner_for(policy, noise=SharedNoise(1))
    play(learner, lambda n, arm: share(n), 100)
    before = all_of(learner)
    choice = learner.choice(None)
    assert [learner.choice(None) for _ in range(3)] == [choice] * 3
    assert can_assign(learner, choice.arm, choice.block, NOBODY) == choice
    assert all_of(learner) == before


def test_while_answers_are_awaited_people_get_the_leader_and_its_next_blocks() -> None:
    learner = learner_for(Phases(epsilon=50.0), 3)  # blocks of 8, 16, 32, ...
    play(learner, lambda n, arm: float(arm == 1), 24)
    choices = []
    for _ in range(200):
        choices.append(learner.choice(None))
        handed_out(learner)
    assert learner.leader() == 1
    assert {choice.arm for choice in choices} == {1}
    assert [choice.block for choice in choices] == [1] * 16 + [2] * 32 + [3] * 64 + [4] * 88


def test_whose_turn_it_is_does_not_depend_on_answers() -> None:
    """Places are given before answers are known: until all arms have had a release, arms come in turn."""
    learner = learner_for(ONE_BLOCK, 3)
    numbers = [handed_out(learner) for _ in range(3 * PLAYS)]
    for number in numbers[::3]:
        closed(learner, number, 1.0)
    assert [learner.choice(None).arm, *(play(learner, lambda n, arm: 0.0, 3))] == [0, 0, 1, 2]


def test_a_selection_is_remembered_until_it_is_closed() -> None:
    learner = learner_for(ONE_BLOCK)
    handed_out(learner)
    number = handed_out(learner, is_selection=True)
    assert learner.selection == number
    closed(learner, 1, 1.0)
    assert learner.selection == number
    closed(learner, number, 1.0)
    assert learner.selection is None


def test_a_visit_is_no_decision_of_the_policy() -> None:
    """Turns and t go on as if nobody had come."""
    learner = learner_for(ONE_BLOCK, 5, contributions=3)
    arms = []
    for person in "aababcbad":
        arms.append(learner.choice(HASHES[person]).arm)
        handed_out(learner, named(person))
    assert arms == [0, 0, 1, 0, 1, 2, 1, 0, 3]
    assert learner.counts.decisions == 4
    assert learner.counts.assigned == 9


def test_a_visit_takes_the_next_free_place_of_its_arm() -> None:
    learner = learner_for(Phases(epsilon=3.0), contributions=2)
    for unit in "abcdef":
        handed_out(learner, named(unit))
    assert [learner.choice(HASHES[unit]).arm for unit in "abcdef"] == [0, 1] * 3
    for unit in "aceb":
        assert learner.choice(HASHES[unit]) == Place(int(unit == "b"), 0)
        handed_out(learner, named(unit))
    assert learner.choice(HASHES["a"]) == Place(0, None)  # who has given both of their rewards
    assert [choice.arm for choice in map(learner.choice, (HASHES["d"], None))] == [1, 0]


@pytest.mark.parametrize("sticky", [True, False])
def test_an_assignment_outside_of_every_block_uses_up_nothing(sticky: bool) -> None:
    learner = learner_for(ONE_BLOCK, sticky=sticky)
    for _ in range(2 * PLAYS):
        handed_out(learner)
    assert learner.choice(HASHES["a"]).block is None
    early = handed_out(learner, named("a"))
    assert learner.may_enter(learner.book.person(HASHES["a"]))
    assert learner.assignment_again(named("a")) == PastAssignment(0, 0, early)  # nothing more can enter


@pytest.mark.parametrize("sticky", [True, False])
def test_an_arm_is_kept_by_whoever_has_it_and_by_whoever_can_give_no_more(sticky: bool) -> None:
    learner = learner_for(ONE_BLOCK, sticky=sticky)
    early = HASHES["a"]
    learner.hand_out(Place(1, None), Visit(early, None))
    assert learner.may_enter(learner.book.person(early))
    assert (learner.place_of(0, early) is None) is sticky
    assert learner.place_of(1, early) == Place(1, 0)
    learner.hand_out(Place(1, 0), Visit(early, None))
    assert not learner.may_enter(learner.book.person(early))
    assert learner.place_of(0, early) is None
    assert learner.place_of(1, early) == Place(1, None)  # what is left to them is what they have
    assert learner.book.person(early) == PastAssignment(1, 1, 2)


def test_a_person_enters_as_often_as_declared() -> None:
    learner = learner_for(Phases(epsilon=3.0), contributions=3)
    for entered in range(3):
        latest = learner.book.person(HASHES["a"])
        assert latest is None if entered == 0 else latest == PastAssignment(entered, 0, entered)
        assert learner.may_enter(latest)
        handed_out(learner, named("a"))
    assert not learner.may_enter(learner.book.person(HASHES["a"]))
    assert learner.may_enter(learner.book.person(HASHES["b"]))


def test_nobody_without_a_name_has_a_past() -> None:
    learner = learner_for(ONE_BLOCK)
    for arm in (0, 1, 0):
        assert learner.choice(None) == learner.place_of(arm, None) == Place(arm, 0)
        assert learner.place_of(1 - arm, None) == Place(1 - arm, 0)
        handed_out(learner)
        assert learner.assignment_again(NOBODY) is None
    assert "people" not in all_of(learner)


def test_who_gets_the_same_again() -> None:
    learner = learner_for(Phases(epsilon=3.0), contributions=2)
    assert learner.assignment_again(named("a", "e")) is None
    first = handed_out(learner, named("a", "e"))
    again = learner.assignment_again(named("a", "e"))
    assert again is not None
    assert (again.arm, again.number) == (0, first)
    assert learner.assignment_again(named("a", "f")) is None  # another visit, and one more of them may enter
    second = handed_out(learner, named("a", "f"))
    settled = learner.assignment_again(named("a"))
    assert settled == PastAssignment(2, 0, second)  # both have entered
    known = learner.assignment_again(named("a", "e"))
    assert known is not None
    assert known.number == first  # a key stands for one assignment


def test_before_people_could_ask_again_whoever_has_entered_got_a_new_assignment_for_nothing() -> None:
    """As bandits go on that began in an earlier format."""
    learner = learner_for(Phases(epsilon=3.0), contributions=1, file_format=2, sticky=False)
    handed_out(learner, named("a"))
    assert learner.assignment_again(named("a")) is None
    assert learner.choice(HASHES["a"]) == Place(0, None)


# ---- limits


def test_nothing_enters_after_the_horizon() -> None:
    noise = noiseless()
    learner = learner_for(Phases(epsilon=1.0), noise=noise, horizon=40)
    play(learner, lambda n, arm: 1.0, 100)
    assert noise.encoded <= 40
    assert learner.counts.exhausted
    assert sum(row["count"] for row in rows_of(learner)) <= 40
    assert learner.choice(None) == Place(learner.leader(), None)


def test_a_horizon_that_is_too_short_to_learn_anything_is_refused() -> None:
    with pytest.raises(dpb.InvalidInput, match="Expected horizon=9 to be at least 10: at epsilon=1 for one reward"):
        learner_for(ONE_BLOCK, horizon=9)


def test_a_schedule_ends_with_the_horizon() -> None:
    """Whether or not its policy knows."""

    class Endless(dpb.DPUCBInt):
        name = "endless too"

        def blocks(self, horizon: int) -> Any:
            return super().blocks(10**15)

    learner = learner_for(Endless(epsilon=3.0, delta=1e-6), horizon=1000)
    assert 900 < learner.schedule.beginning(10**6)[-1].last <= 1000


def test_a_noise_source_has_its_limits() -> None:
    """As many rewards as a sum can hold, and no noise that would not fit beside it."""
    fine = SecureNoise(grid_bits=30)
    assert entering_limit(math.inf, fine) == fine.capacity == 2**31
    assert learner_for(Phases(epsilon=1.0), noise=fine).counts.horizon == 2**31
    noisy = dpb.DPUCBInt(epsilon=1.0, delta=1e-6, v=1.5, series="constant", density=1e-6)
    schedule = learner_for(noisy, noise=fine).schedule
    blocks = [schedule.block(number) for number in range(3000)]
    scales = [block.scale for block in blocks if block is not None]
    assert None in blocks
    assert 0.99 * fine.largest_scale < max(scales) <= fine.largest_scale


# ---- closing


def in_order(numbers: list[int]) -> list[int]:
    return numbers


def shuffled(numbers: list[int]) -> list[int]:
    return random.Random(3).sample(numbers, len(numbers))  # noqa: S311


def backwards(numbers: list[int]) -> list[int]:
    return numbers[::-1]


@every_servable_policy
def test_the_order_of_answers_changes_no_release(policy: Policy) -> None:
    """All are assigned before anybody answers: then the n-th release of an arm is of the same rewards and the same."""
    found = []
    for order in (in_order, shuffled, backwards):
        learner = learner_for(policy, 3, SharedNoise(4))
        numbers = [handed_out(learner) for _ in range(400)]
        for number in order(numbers):
            closed(learner, number, share(number))
        found.append({arm: sorted(rows, key=lambda row: row["release"]) for arm, rows in by_arm(learner).items()})
        assert all(rows == found[-1][arm] for arm, rows in by_arm(learner).items())  # each arm's came in order
        assert learner.ledger.verify() == learner.ledger.head
    assert found[0] == found[1] == found[2]
    assert sum(map(len, found[0].values())) >= 3


def test_a_release_waits_for_its_last_answer_and_those_before_it() -> None:
    learner = learner_for(Phases(epsilon=1.0), noise=noiseless())
    numbers = [handed_out(learner) for _ in range(48)]  # two blocks of each arm: 8 and 16
    held = numbers[0]
    for number in numbers[1:]:
        assert closed(learner, number, share(number)) == [] or number % 2 == 0
    assert [(row["arm"], row["release"]) for row in rows_of(learner)] == [(1, 1), (1, 2)]
    released = closed(learner, held, share(held))
    assert [(made.arm, made.block) for made in released] == [(0, 0), (0, 1)]
    mine = [learner.source.encode(share(number)) / 4096 for number in numbers[::2]]
    assert [made.value for made in released] == [sum(mine[:8]), sum(mine[8:])]
    assert [(row["first"], row["last"], row["count"]) for row in rows_of(learner)[2:]] == [(1, 15, 8), (17, 47, 16)]


def test_sums_of_all_rewards_so_far_are_exact_whatever_comes_first() -> None:
    learner = learner_for(dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=400), noise=noiseless(10))
    numbers, arms, rewards = [], {}, {}
    for number in range(1, 401):
        arms[number] = learner.choice(None).arm
        numbers.append(handed_out(learner))
        rewards[number] = number * 37 % 1025 / 1024
        if number % 40 == 0:
            for each in shuffled(numbers[:30]):
                closed(learner, each, rewards[each])
                numbers.remove(each)
    for row in rows_of(learner):
        mine = [rewards[number] for number, arm in arms.items() if arm == row["arm"]]
        assert row["value"] == sum(mine[: row["count"]])
    assert len(rows_of(learner)) > 10


def test_what_has_no_place_enters_no_release() -> None:
    learner = learner_for(ONE_BLOCK, noise=noiseless())
    numbers = [handed_out(learner) for _ in range(2 * PLAYS + 4)]
    for number in numbers[::-1]:
        closed(learner, number, 1.0)
    assert [row["value"] for row in rows_of(learner)] == [PLAYS] * 2


def answered_as_before(learner: Learner, number: int, reward: Any, released: list[Release]) -> list[Release]:
    """Take in a reward on the grid with the values that were released then, of which the policy learns later."""
    ready = learner.ready_blocks()
    learner.answer([Answer(number, reward, None)], ready)
    return learner.release(ready, None, [ReleasedValue(made.value, made.steps) for made in released])


def test_stored_values_take_the_place_of_new_ones() -> None:
    drawn, again = (learner_for(ONE_BLOCK, noise=SharedNoise(seed)) for seed in (1, 2))
    again.source.publish = None  # type: ignore[method-assign, assignment]  # nothing is released
    for learner in (drawn, again):
        for _ in range(2 * PLAYS):
            handed_out(learner)
    for number in range(1, 2 * PLAYS + 1):
        released = answered(drawn, number, 4096)
        assert answered_as_before(again, number, 4096, released) == released
        for learner in (drawn, again):
            learner.learn(released)
    assert again.ledger.head == drawn.ledger.head
    assert again.choice(None) == drawn.choice(None)


def test_noise_of_a_release_can_be_drawn_before_it() -> None:
    noise = SharedNoise(1)
    scales: list[float] = []
    draw = noise.draw
    noise.draw = lambda scale, mechanism: scales.append(scale) or draw(scale, mechanism)  # type: ignore[func-returns-value, method-assign]
    learner = learner_for(ONE_BLOCK, noise=noise)
    for arm in (0, 0, 1):
        learner.predraw_noise(arm)
    assert scales == [1.0, 1.0]  # once for each arm
    before = without_secrets(learner)
    for _ in range(2 * PLAYS):
        closed(learner, handed_out(learner), 1.0)
    assert scales == [1.0, 1.0]
    assert len(rows_of(learner)) == 2
    learner.predraw_noise(0)  # of a block that there is not
    assert scales == [1.0, 1.0]
    assert before == without_secrets(learner_for(ONE_BLOCK))  # nothing of it is kept


def test_a_bad_block_that_is_far_away_disturbs_nobody() -> None:
    learner = learner_for(dpb.AdaPUCB(epsilon=1.0), noise=SharedNoise(1))
    play(learner, lambda n, arm: 1.0, 200)
    arm = max((0, 1), key=lambda arm: len(by_arm(learner)[arm]))
    assert len(by_arm(learner)[arm]) > 3
    filling = learner.counts.free_block(arm)
    assert filling is not None
    good = learner.schedule.beginning(filling + 2)
    spoilt = Schedule(lambda: iter([*good, Block(good[-1].last + 1, 10**6, 0.5)]))
    spoilt.least_scale = learner.schedule.least_scale
    learner.schedule = spoilt
    learner.releaser.predrawn.drop()
    learner.predraw_noise(arm)
    assert learner.releaser.predrawn.count(arm) == 2
    with pytest.raises(dpb.InvalidInput, match="to have a scale of at least"):
        spoilt.block(filling + 2)


# ---- learning


def enters(learner: Learner, number: int) -> bool:
    """Tell whether the reward of an open assignment is in a block."""
    place = learner.book.place(number)
    assert place is not None
    assert can_answer(learner, Answer(number, None, None)) is (place.block is None)
    return place.block is not None


@every_servable_policy
def test_nothing_but_a_release_changes_the_state_of_the_policy(policy: Policy) -> None:
    """Neither people who come nor answers that complete no block; and of one that does, only what was released."""
    learner = learner_for(policy, 3, SharedNoise(6))
    learnt = 0
    state = to_plain(learner.state)
    for person in range(1, 301):
        number = handed_out(learner)
        assert to_plain(learner.state) == state
        released = answered(learner, number, learner.source.encode(share(person)) if enters(learner, number) else None)
        assert to_plain(learner.state) == state  # also if its block was released: that has yet to reach the disk
        learner.learn(released)
        assert (to_plain(learner.state) != state) is bool(released)
        state = to_plain(learner.state)
        learnt += len(released)
    assert learnt == len(rows_of(learner)) >= 3
    values = {arm: [row["value"] for row in rows] for arm, rows in by_arm(learner).items()}
    assert [list(each.values) for each in learner.statistics] == [values.get(arm, []) for arm in range(3)]
    forget(learner.state)
    assert to_plain(learner.state) == state  # nothing secret had ever got into it


@every_servable_policy
def test_other_rewards_with_the_same_releases_teach_the_same(policy: Policy) -> None:
    """The released values of one learner, handed to another with other rewards."""
    one, other = (learner_for(policy, 3, SharedNoise(seed)) for seed in (1, 2))
    for person in range(300):
        assert one.choice(None) == other.choice(None)
        numbers = [handed_out(learner) for learner in (one, other)]
        assert numbers[0] == numbers[1]
        has_reward = enters(one, numbers[0])
        released = answered(one, numbers[0], person % 4096 if has_reward else None)
        other_reward = 4096 - person % 4096 if has_reward else None
        assert answered_as_before(other, numbers[1], other_reward, released) == released
        for learner in (one, other):
            learner.learn(released)
    assert to_plain(one.state) == to_plain(other.state)
    assert one.ledger.head == other.ledger.head
    assert [each.values for each in one.statistics] == [each.values for each in other.statistics]
    assert len(rows_of(one)) >= 3


def test_a_frozen_bonus_is_that_of_the_decision_after_the_release() -> None:
    """That is the next one to be handed out, whenever the answers come."""
    policy = dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=400, bonus="frozen")
    learner = learner_for(policy, noise=SharedNoise(1))
    numbers = [handed_out(learner) for _ in range(100)]
    for number in numbers[::2]:
        if closed(learner, number, 1.0):
            break
    (row,) = rows_of(learner)
    bonus = math.sqrt(2 * math.log(101) / row["count"])
    assert learner.state.means[0] == pytest.approx(row["value"] / row["count"] + bonus)


def test_a_policy_that_makes_another_release_than_the_one_that_is_due_is_refused() -> None:
    learner = learner_for(ONE_BLOCK)
    for number in [handed_out(learner) for _ in range(2 * PLAYS)][:-2]:
        closed(learner, number, 1.0)
    learner.params = learner.params._replace(scale=2.0)
    with pytest.raises(dpb.StepError, match=r"asked for a release of arm 0 with scale 2\.0, which is not due"):
        closed(learner, 2 * PLAYS - 1, 1.0)
    learner.params = learner.params._replace(plays=PLAYS + 1)
    with pytest.raises(dpb.StepError, match="did not make the release that its blocks announce"):
        closed(learner, 2 * PLAYS, 1.0)


# ---- what it refuses of a step that was made before


def begun() -> Learner:
    """Return a learner with one open assignment of `a`, and both of `b`, by keys."""
    learner = learner_for(Phases(epsilon=3.0), contributions=2)
    for visit in (named("a", "e"), named("b"), named("b", "f")):
        handed_out(learner, visit)
    return learner


@pytest.mark.parametrize(
    ("arm", "block", "visit", "is_allowed"),
    [
        (0, 0, named("a"), True),
        (1, 0, named("a"), False),  # another arm than the first
        (0, 1, named("a"), False),
        (0, None, named("a"), False),
        (0, 0, named("a", "e"), False),  # a visit that there was already
        (0, 0, named("a", "d"), True),
        (0, 0, Visit(HASHES["a"], "a name"), False),
        (1, 0, named("b"), False),  # who has given all their rewards
        (1, None, named("b"), False),
        (0, 0, named("c"), True),
        (1, 0, named("c"), True),  # what the policy would choose is not asked
        (2, 0, named("c"), False),
        (-1, 0, named("c"), False),
        (True, 0, named("c"), False),
        (0, False, named("c"), False),
        (0.0, 0, named("c"), False),
        ("0", 0, named("c"), False),
        (0, 0.0, named("c"), False),
        (0, 0, Visit("c", None), False),
        (0, 0, Visit(7, None), False),  # type: ignore[arg-type]
        (0, 0, NOBODY, False),  # where the rewards of each are counted
    ],
)
def test_only_choices_that_it_could_make_are_allowed(arm: Any, block: Any, visit: Visit, is_allowed: bool) -> None:
    learner = begun()
    before = all_of(learner)
    assert can_assign(learner, arm, block, visit) == (Place(arm, block) if is_allowed else None)
    assert all_of(learner) == before


@pytest.mark.parametrize(
    ("number", "reward", "key", "is_possible"),
    [
        (1, 0, None, True),
        (1, 4096, HASHES["e"], True),
        (1, 4097, None, False),
        (1, -1, None, False),
        (1, 1.0, None, False),
        (1, True, None, False),
        (1, None, None, False),  # it has a place, so it has a reward
        (1, 0, "a name", False),
        (1, 0, 7, False),
        (2, 0, None, False),  # closed before
        (4, 0, None, False),
        (0, 0, None, False),
        (True, 0, None, False),
        ("1", 0, None, False),
        ([1], 0, None, False),
    ],
)
def test_only_open_assignments_can_be_closed(number: Any, reward: Any, key: Any, is_possible: bool) -> None:
    learner = begun()
    closed(learner, 2, 1.0)
    before = all_of(learner)
    assert can_answer(learner, Answer(number, reward, key)) is is_possible
    assert all_of(learner) == before


def test_what_has_no_place_can_only_be_closed_without_a_reward() -> None:
    learner = learner_for(ONE_BLOCK)
    for _ in range(2 * PLAYS + 1):
        handed_out(learner)
    assert can_answer(learner, Answer(2 * PLAYS + 1, None, None))
    assert not can_answer(learner, Answer(2 * PLAYS + 1, 0, None))


# ---- moving


def shifting() -> SharedNoise:
    """Return noise by scale and arm alone: what was drawn ahead does not move, so the same comes whenever it is."""
    noise = SharedNoise(1)
    noise.draw = lambda scale, mechanism: round(1000 * scale) * (noise.arm - 1)  # type: ignore[method-assign]
    return noise


@every_servable_policy
def test_a_learner_goes_on_from_its_own_json(policy: Policy) -> None:
    """In the middle of everything: the same state, and from there on the same choices and releases."""
    whole, moving = (learner_for(policy, 3, shifting(), contributions=2) for _ in range(2))
    waiting: list[int] = []
    for person in range(300):
        if person % 30 == 7:
            before = all_of(moving)
            moving = from_text(to_text(moving), policy, shifting())
            assert all_of(moving) == before
            assert moving.selection == whole.selection
            assert [each.values for each in moving.statistics] == [each.values for each in whole.statistics]
        visit = Visit(f"{person // 2:032x}", f"{person + 2**20:032x}")
        assert whole.choice(visit.unit) == moving.choice(visit.unit)
        is_selection = person % 50 == 0
        numbers = {handed_out(learner, visit, is_selection) for learner in (whole, moving)}
        waiting += numbers
        if person % 3:
            number, key = waiting.pop(0), None if person % 4 else f"{person:032x}"
            for learner in (whole, moving):
                closed(learner, number, share(number), key)
    assert len(waiting) == 100
    assert without_secrets(whole) == without_secrets(moving)
    assert len(rows_of(whole)) >= 3


def test_releases_of_another_schedule_are_not_taken_over() -> None:
    learner = learner_for(Phases(epsilon=1.0))
    play(learner, lambda n, arm: 1.0, 40)
    snapshot = json.loads(json.dumps(learner.snapshot()))
    with pytest.raises(dpb.InvalidInput, match="Expected the ledger's releases to be those of the schedule, unlike"):
        learner_for(Phases(epsilon=2.0)).restore(snapshot, list(learner.ledger))
    more = learner_for(ONE_BLOCK)
    play(more, lambda n, arm: 1.0, 2 * PLAYS)
    twice = more.ledger.copy()
    twice.append(dict(twice[1].content))  # one more than there are blocks
    with pytest.raises(dpb.InvalidInput, match="Expected the ledger's releases to be those of the schedule, unlike"):
        learner_for(ONE_BLOCK).restore(json.loads(json.dumps(more.snapshot())), list(twice))
    with pytest.raises(dpb.InvalidInput, match="Expected the ledger's releases to be those of the schedule, unlike"):
        more.take_rows(list(twice)[-1:])


# ---- releases that were made elsewhere


Made = list[tuple[Row, int]]  # releases that were made elsewhere, and how many decisions there were


@every_servable_policy
def test_a_learner_catches_up_with_another_one(policy: Policy) -> None:
    """By rows as they are stored, and counts; then it does whatever the other one does."""
    one = learner_for(policy, 3, SharedNoise(1))
    other = learner_for(policy, 3, SharedNoise(1))
    made: Made = []
    for number in range(1, 301):
        handed_out(one)
        if number > 5:
            closed(one, number - 5, share(number))
        made += [(row, one.counts.decisions) for row in list(one.ledger)[len(other.ledger) + len(made) :]]
        if number % 50 == 0:
            other.catch_up(one.counts.snapshot(), made)
            made = []
            assert to_plain(other.state) == to_plain(one.state)
            assert other.choice(None) == one.choice(None)
            assert other.counts.snapshot() == one.counts.snapshot()
    assert other.ledger.to_jsonl() == one.ledger.to_jsonl()
    assert other.ledger.verify() == one.ledger.head
    assert other.steps == one.steps
    assert [statistic.values for statistic in other.statistics] == [statistic.values for statistic in one.statistics]
    assert len(one.ledger) > 3


@every_servable_policy
def test_two_learners_of_one_book_are_as_good_as_one(policy: Policy) -> None:
    """Each catches up before its step, as processes do that share a database, and nobody sees a difference."""
    dice, noise = random.Random(3), SharedNoise(1)  # noqa: S311
    alone = learner_for(policy, 3, SharedNoise(1), window=30.0)
    pair = [learner_for(policy, 3, noise, window=30.0) for _ in range(2)]
    pair[1].book = pair[0].book
    counts = alone.counts.snapshot()
    made: Made = []
    by_each = [0, 0]
    now = 0.0
    for _ in range(400):
        now += dice.random()
        turn = dice.randrange(2)
        learner = pair[turn]
        learner.catch_up(counts, made[len(learner.ledger) - 1 :])
        answers = [Answer(n, 4096 * (n % 2), None) for n in alone.book.open_numbers(now) if dice.random() < 0.05]
        for each in (alone, learner):
            ready = each.ready_blocks()
            each.answer(answers, ready)
            each.add_due(ready, now)
            each.learn(each.release(ready, now))
        new_rows = list(learner.ledger)[len(made) + 1 :]
        made += [(row, learner.counts.decisions) for row in new_rows]
        by_each[turn] += len(new_rows)
        choices = [each.choice(None, now) for each in (alone, learner)]
        assert choices[0] == choices[1]
        assert alone.hand_out(choices[0], NOBODY, now) == learner.hand_out(choices[1], NOBODY, now)
        counts = learner.counts.snapshot()
        assert (counts, learner.ledger.head) == (alone.counts.snapshot(), alone.ledger.head)
    assert sum(by_each) == len(alone.ledger) - 1 >= 3


def test_noise_that_was_drawn_for_a_release_from_elsewhere_is_dropped_and_no_other() -> None:
    policy = dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=500)
    one, other = (learner_for(policy, noise=SharedNoise(1)) for _ in range(2))
    for learner in (one, other):
        for _ in range(10):
            handed_out(learner)
        for arm in range(2):
            learner.predraw_noise(arm)
    before = [other.releaser.predrawn.count(arm) for arm in range(2)]
    assert min(before) > 0
    while len(one.ledger) == 1:
        closed(one, one.book.open_numbers(None)[0], 1.0)
    row = list(one.ledger)[1]
    other.catch_up(one.counts.snapshot(), [(row, 10)])
    after = [other.releaser.predrawn.count(arm) for arm in range(2)]
    assert after == [0 if arm == row.content["arm"] else before[arm] for arm in range(2)]


def test_a_learner_catches_up_with_what_fits_or_not_at_all() -> None:
    policy = dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=500)
    one, other = (learner_for(policy, noise=SharedNoise(1)) for _ in range(2))
    play(one, lambda n, arm: 1.0, 40)
    made = [(row, 5) for row in list(one.ledger)[1:]]
    counts = one.counts.snapshot()
    row, _ = made[0]
    before = all_of(other)

    def changed(old: str, new: str) -> Made:
        assert old in row.content_json
        return [(dataclasses.replace(row, content_json=row.content_json.replace(old, new)), 5), *made[1:]]

    for wrong, kind, message in (
        (made[1:], dpb.LedgerError, "Row 2 does not follow row 0"),
        ([made[0], made[0]], dpb.LedgerError, "Row 1 does not follow row 1"),
        (changed('"scale":', '"scale":1'), dpb.InvalidInput, "to be those of the schedule"),
        (changed('"release":1', '"release":7'), dpb.InvalidInput, "to be those of the schedule"),
        (made[:-1], dpb.InvalidInput, "to be those that are counted"),
        ([], dpb.InvalidInput, "to be those that are counted"),
    ):
        with pytest.raises(kind, match=message):
            other.catch_up(counts, wrong)
    with pytest.raises(dpb.InvalidInput, match="Expected entered=-1 to be counts"):
        other.catch_up({**counts, "entered": -1}, made)
    assert all_of(other) == before
    other.catch_up(counts, made)
    assert other.ledger.head == one.ledger.head


def test_where_a_book_fails_nothing_was_handed_out() -> None:
    learner = learner_for(dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=500))
    handed_out(learner)
    before = all_of(learner)

    def broken(*arguments: Any) -> None:
        raise OSError("the database is away")

    learner.book.add = broken  # type: ignore[method-assign,assignment]
    with pytest.raises(OSError, match="away"):
        handed_out(learner)
    assert all_of(learner) == before
