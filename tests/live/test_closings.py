"""Closings that come again, and batches: acknowledged, refused, or taken in as a whole."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live.journal import Journal
from dpbandits.policies import Policy
from explore_then_commit import ExploreThenCommit
from insides import state_of
from servable_policies import SERVABLE, shown
from shared_noise import SharedNoise

PLAYS = 5
POLICY = ExploreThenCommit(epsilon=1.0, plays=PLAYS)


def fresh(**options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], **options)


# ---- keys


def test_a_repetition_with_the_same_key_is_acknowledged_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = fresh(journal=path)
    first, second = bandit.assign(), bandit.assign()
    assert first.id is not None
    bandit.close(first, 1.0, key="answer 1")
    before, content = state_of(bandit), path.read_bytes()
    for reward in (1.0, 0.0, 0.5, None):  # a repetition is known by its key alone
        bandit.close(first.id, reward, key="answer 1")
    assert (state_of(bandit), path.read_bytes()) == (before, content)
    bandit.close(second, 0.5, key="answer 1")  # of another assignment it is another key
    assert bandit.open_assignments() == []


@pytest.mark.parametrize("first_key", [None, "one"])
@pytest.mark.parametrize("second_key", [None, "two"])
@pytest.mark.parametrize("reward", [1.0, 0.0, None])
def test_any_other_closing_of_a_closed_assignment_is_refused_whatever_its_value(
    first_key: str | None, second_key: str | None, reward: float | None
) -> None:
    """Whether the value is the same makes no difference: else closing again would tell what it was."""
    said = set()
    for first in (0.0, 1.0):
        bandit = fresh()
        assignment = bandit.assign()
        bandit.close(assignment, first, key=first_key)
        before = state_of(bandit)
        with pytest.raises(dpb.AlreadyClosed) as refused:
            bandit.close(assignment, reward, key=second_key)
        assert isinstance(refused.value, dpb.InvalidInput)
        assert assignment.id is not None
        said.add(str(refused.value).replace(assignment.id, "ID"))
        assert state_of(bandit) == before
    assert said == {"Expected assignment='ID' to be open: it was closed before."}


def test_a_bad_reward_is_refused_also_with_a_key_that_is_known() -> None:
    bandit = fresh()
    assignment = bandit.assign()
    bandit.close(assignment, 1.0, key="k")
    with pytest.raises(dpb.InvalidInput, match="Expected reward=2"):
        bandit.close(assignment, 2, key="k")


def test_keys_survive_on_disk_as_hashes(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = fresh(journal=path)
    assignments = [bandit.assign() for _ in range(2 * PLAYS)]
    for number, assignment in enumerate(assignments):
        bandit.close(assignment, 1.0, key=f"reply {number}")
    bandit.detach()
    assert b"reply" not in path.read_bytes()
    again = fresh(journal=path)
    for number, assignment in enumerate(assignments):
        again.close(assignment, 0.0, key=f"reply {number}")
        with pytest.raises(dpb.AlreadyClosed):
            again.close(assignment, 0.0, key=f"reply {number + 1}")
    moved = fresh()
    assignment = moved.assign()
    moved.close(assignment, 1.0, key="reply")
    text = moved.to_json()
    assert "reply" not in text
    moved = dpb.Bandit.from_json(text, policy=POLICY)
    moved.close(assignment, 1.0, key="reply")
    other = fresh()
    other.close(other.assign(), 1.0, key="reply")
    hashes = [state_of(bandit)["answers"] for bandit in (moved, other)]
    assert [(numbers, len(keys)) for numbers, keys in hashes] == [([1], 1)] * 2
    assert hashes[0] != hashes[1]  # hashed with a secret of its own


def test_a_key_is_text() -> None:
    bandit = fresh()
    assignment = bandit.assign()
    for bad in (7, "", b"key", ["key"], "k" * 20_000):
        with pytest.raises(dpb.InvalidInput, match=r"Expected key=.* to be text of 1 to 10000 characters\."):
            bandit.close(assignment, 1.0, key=bad)  # type: ignore[arg-type]
    assert bandit.open_assignments() == [assignment]


# ---- conversions


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_a_conversion_is_a_reward(kind: Any) -> None:
    bandit = fresh(noise=exact())
    for number in range(2 * PLAYS):
        bandit.update(bandit.select(), reward=kind(number % 4 == 0))
    assert [row.content["value"] for row in bandit.ledger if row.number] == [3.0, 0.0]
    stars = fresh(reward_bounds=(1, 5))
    stars.update(stars.select(), True)
    with pytest.raises(dpb.InvalidInput, match=r"Expected reward=0\.0 in \[1\.0, 5\.0\]\."):
        stars.update(stars.select(), False)


def exact() -> SharedNoise:
    noise = SharedNoise(1)
    noise.draw = lambda scale, mechanism: 0  # type: ignore[method-assign]
    return noise


# ---- batches


@pytest.mark.parametrize("policy", SERVABLE, ids=shown)
def test_batches_are_what_single_steps_are(policy: Policy, tmp_path: Path) -> None:
    """The same arms, the same rows, the same state, after every batch and after reopening."""
    options: dict[str, Any] = {"accept_delta": True, "contributions": 2}
    one = dpb.Bandit(policy, 3, noise=SharedNoise(7), **options)
    many = dpb.Bandit(policy, 3, noise=SharedNoise(7), journal=tmp_path / "journal", **options)
    dice = random.Random(3)  # noqa: S311
    waiting: list[tuple[Any, Any]] = []
    for _ in range(12):
        people = [dice.randrange(200) for _ in range(dice.randrange(40))]
        together = many.assign_many(people)
        alone = [one.assign(unit=person) for person in people]
        assert [a.arm for a in together] == [a.arm for a in alone]
        assert [a.is_new for a in together] == [a.is_new for a in alone]
        waiting += [pair for pair in zip(alone, together, strict=True) if pair[0].is_new]
        dice.shuffle(waiting)
        cut = dice.randrange(len(waiting) + 1)
        answered, waiting = waiting[:cut], waiting[cut:]
        rewards = [dice.choice([None, 0.0, 0.5, True]) for _ in answered]
        for (first, _), reward in zip(answered, rewards, strict=True):
            one.close(first, reward)
        many.close_many([(second.id, reward) for (_, second), reward in zip(answered, rewards, strict=True)])
        assert [row.content for row in one.ledger] == [row.content for row in many.ledger]
    assert without_hashes(one) == without_hashes(many)
    kept = state_of(many)
    many.detach()
    assert state_of(dpb.Bandit(policy, 3, journal=tmp_path / "journal", **options)) == kept


def without_hashes(bandit: dpb.Bandit) -> dict[str, Any]:
    """Return all of it that does not depend on a tag and a key of its own."""
    state = state_of(bandit)
    names, *past = state["people"]
    assert len(names) > 10
    return {**state, "learner": {**state["learner"], "tag": "", "key": ""}, "people": past}


def test_a_batch_is_one_record_with_its_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    bandit = fresh(journal=path)
    written: list[dict[str, Any]] = []
    append = Journal.append

    def appended(self: Journal, record: dict[str, Any], *, durable_mark: bool = False, before_mark: Any = None) -> None:
        written.append({**record, "durable": durable_mark})
        append(self, record, durable_mark=durable_mark, before_mark=before_mark)

    monkeypatch.setattr(Journal, "append", appended)
    assignments = bandit.assign_many([None] * (2 * PLAYS))
    assert [len(record["batch"]) for record in written] == [10]
    bandit.close_many((assignment, 1.0) for assignment in assignments)
    assert (len(written), written[1]["durable"]) == (2, True)
    *closings, released = written[1]["batch"]
    assert [step["close"] for step in closings] == list(range(1, 11))
    assert [arm for arm, _, _ in released["release"]] == [0, 1]
    assert path.read_bytes().count(b"\n") == 3
    bandit.assign_many([])
    bandit.close_many([])
    assert len(written) == 2
    bandit.assign_many(["one"])
    assert written[2].keys() == {"assign", "block", "unit", "durable"}  # as a single step


def test_a_batch_is_on_disk_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = fresh(journal=path)
    assignments = bandit.assign_many([None] * (2 * PLAYS))
    begun = path.read_bytes()
    mark = Path(f"{path}.mark").read_bytes()
    bandit.close_many([(assignment, 1.0) for assignment in assignments])
    bandit.detach()
    content = path.read_bytes()
    for torn in (len(begun), len(begun) + 1, (len(begun) + len(content)) // 2, len(content) - 1):
        path.write_bytes(content[:torn])
        Path(f"{path}.mark").write_bytes(mark)
        again = fresh(journal=path)
        assert again.open_assignments() == assignments
        assert len(again.ledger) == 1
        again.detach()


@pytest.mark.parametrize(
    ("answers", "kind", "message"),
    [
        (lambda a: [(a[0], 1.0), (a[1], 2.0)], dpb.InvalidInput, r"^Answer 2 of 2: Expected reward=2\.0 in "),
        (
            lambda a: [(a[0], 1.0), (a[0], 1.0)],
            dpb.InvalidInput,
            "^Answer 2 of 2: Expected assignment=.* once in a batch, not twice",
        ),
        (lambda a: [(a[0], 1.0, "k"), (a[0], 1.0, "l")], dpb.InvalidInput, "^Answer 2 of 2"),
        (lambda a: [(a[1], 1.0), (a[2], 1.0)], dpb.AlreadyClosed, "^Answer 2 of 2"),  # closed before
        (lambda a: [(a[1], 1.0), ("x-1", 1.0)], dpb.InvalidInput, "^Answer 2 of 2: .* to be one of this bandit"),
        (lambda a: [(a[1], 1.0), a[0]], dpb.InvalidInput, "^Answer 2 of 2: Expected an answer to be "),
        (lambda a: [(a[1], 1.0), (a[0],)], dpb.InvalidInput, "^Answer 2 of 2: Expected an answer to be "),
        (lambda a: [(a[0], 1.0, 7)], dpb.InvalidInput, "^Expected key=7 to be text"),
        (lambda a: "ab", dpb.InvalidInput, "^Expected answers='ab' to be a list"),
        (lambda a: 7, dpb.InvalidInput, "^Expected answers=7 to be a list"),
    ],
)
def test_a_batch_with_one_bad_answer_changes_nothing(answers: Any, kind: Any, message: str) -> None:
    bandit = fresh()
    assignments = bandit.assign_many(["p", "q", "r"])
    bandit.close(assignments[2], 1.0)
    before = state_of(bandit)
    with pytest.raises(kind, match=message) as refused:
        bandit.close_many(answers(assignments))
    assert type(refused.value) is kind
    assert state_of(bandit) == before


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ("abc", "Expected units='abc' to be a list"),
        (None, "Expected units=None to be a list"),
        (["a", 1.5], r"Expected unit=1\.5 to be text or a whole number"),
        (["a", ""], "Expected unit='' to be text of 1 to 10000 characters or a whole number of up to 4300 digits"),
    ],
)
def test_a_batch_with_one_bad_person_changes_nothing(people: Any, message: str) -> None:
    bandit = fresh()
    with pytest.raises(dpb.InvalidInput, match=message):
        bandit.assign_many(people)
    assert bandit.to_pandas()["assigned"].sum() == 0
    assert bandit.open_assignments() == []


def test_repetitions_in_a_batch_are_acknowledged() -> None:
    bandit = fresh(noise=exact())
    assignments = bandit.assign_many([None] * (2 * PLAYS))
    bandit.close(assignments[0], 1.0, key="0")
    answers = [(assignment, 1.0, str(number)) for number, assignment in enumerate(assignments)]
    bandit.close_many([*answers, answers[3], (assignments[5], 0.0, "5")])
    assert [row.content["value"] for row in bandit.ledger if row.number] == [5.0, 5.0]
    bandit.close_many(answers)
    assert len(bandit.ledger) == 3


def test_a_person_twice_in_one_batch_gets_one_assignment() -> None:
    bandit = fresh()
    first, other, again = bandit.assign_many(["p", "q", "p"])
    assert first == again != other
    assert [first.is_new, other.is_new, again.is_new] == [True, True, False]


def test_a_step_of_a_batch_that_is_not_as_recorded_is_not_followed(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [{"assign": 0, "block": 0}, {"assign": 1, "block": 0}]
    records: list[dict[str, Any]] = [
        {"batch": []},
        {"batch": steps[:1]},  # a single step is written as itself
        {"batch": [{"batch": steps}, steps[0]]},
        {"batch": [*steps, {"close": 3, "reward": 0}]},
        {"batch": steps, "more": 1},
        {"batch": {"assign": 0, "block": 0}},
        {"batch": "ab"},
        {"batch": [steps[0], {"assign": 1, "block": 1}]},
    ]
    for place, bad in enumerate(records):
        path = tmp_path / f"{place}.journal"
        bandit = fresh(journal=path)
        bandit.detach()
        journal = Journal(path)
        assert len(list(journal.records())) == 1
        journal.force()
        journal.go_on()
        journal.append(bad)
        journal.close()
        with pytest.raises(dpb.JournalError, match="cannot be followed from record 1 on"):
            fresh(journal=path)


def test_a_batch_that_releases_asks_its_witness_once() -> None:
    asked: list[tuple[int, str]] = []

    def witness(number: int, digest: str) -> bool:
        asked.append((number, digest))
        return True

    bandit = dpb.Bandit(Phases(epsilon=1.0), 2, witness=witness)
    assignments = bandit.assign_many([None] * 48)  # each arm's first and second block
    bandit.close_many([(assignment, 1.0) for assignment in assignments])
    assert len(bandit.ledger) == 5
    assert [number for number, _ in asked] == [0, 4]
    assert asked[-1] == bandit.ledger.head


def test_what_is_passed_may_not_call_back_in_the_middle() -> None:
    """A generator is read before the step begins, and may do what it likes."""
    bandit = fresh()
    first, second = bandit.assign_many(bandit.assign(unit=name).id for name in "pq")[:2]
    assert (first.arm, second.arm) == ("A", "B")  # after p and q themselves

    def answers() -> Any:
        for assignment in bandit.open_assignments():
            yield assignment, 1.0

    bandit.close_many(answers())
    assert bandit.open_assignments() == []
