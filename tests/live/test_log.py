"""The contract of a log: what was appended comes back, and a learner is brought to where its records end."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.errors import JournalError
from dpbandits.live.assignments import id_of
from dpbandits.live.closings import checked_closings
from dpbandits.live.configuration import Configuration
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Learner
from dpbandits.live.log import Log, Record
from dpbandits.live.logged_steps import LoggedSteps
from dpbandits.live.reading import read_log
from dpbandits.live.snapshots import pieces_of
from dpbandits.live.step_lock import StepLock
from dpbandits.live.timing import TIMINGS
from dpbandits.live.units import Visit
from learners import all_of, learner_for
from shared_noise import SharedNoise


class ListLog:
    """A log in memory, as text."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def records(self) -> Iterator[Record]:
        return map(json.loads, self.lines)

    def append(
        self, record: Record, *, durable_mark: bool = False, before_mark: Callable[[], None] | None = None
    ) -> None:
        if before_mark is not None:
            before_mark()
        self.lines.append(json.dumps(record))


def list_logs() -> Callable[[], Log]:
    lines: list[str] = []
    return lambda: ListLog(lines)


def journals(folder: Path) -> Callable[[], Log]:
    def opened() -> Journal:
        journal = Journal(folder / "journal")
        if journal.acknowledged == 0:
            assert list(journal.records()) == []
            journal.begin({"configuration": None})
        else:
            list(journal.records())
            journal.go_on()
        return journal

    return opened


@pytest.fixture(params=["list", "journal"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Log]:
    return list_logs() if request.param == "list" else journals(tmp_path)


def test_what_was_appended_comes_back_in_order(opened: Callable[[], Log], tmp_path: Path) -> None:
    log, called = opened(), []
    records: list[Record] = [{"close": number, "reward": None, "é": [1.5, "\n"]} for number in range(5)]
    for record in records:
        log.append(record, durable_mark=record["close"] % 2 == 0, before_mark=lambda: called.append(1))
    assert len(called) == 5
    if isinstance(log, Journal):
        log.close()
    kept = log if isinstance(log, ListLog) else Journal(tmp_path / "journal")
    assert [record for record in kept.records() if record != {"configuration": None}] == records


def test_a_learner_goes_on_from_any_log() -> None:
    """Steps, their releases and a snapshot, in a log of somebody else's."""
    policy = dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=500)
    learner = learner_for(policy, noise=SharedNoise(1))
    log = ListLog([])
    log.append(next(pieces_of(learner)))
    steps = LoggedSteps(learner, log, None, None, StepLock(lambda: None))
    for number in range(1, 101):
        steps.assign([Visit(f"{number:032x}", None)], None, False)
        if number > 5:
            answer = id_of(learner.tag, number - 5), number % 2, f"key {number}"
            steps.close(checked_closings([answer], learner, None), None)
    assert len(learner.ledger) > 5
    assert all_of(learner_of(log.records())) == all_of(learner)
    snapshot = [next(pieces := pieces_of(learner)), *({"piece": piece} for piece in pieces)]
    assert all_of(learner_of(iter(json.loads(json.dumps(snapshot))))) == all_of(learner)
    log.lines[50] = log.lines[50].replace("assign", "close", 1)
    with pytest.raises(JournalError, match="The list cannot be followed from record 50 on"):
        learner_of(log.records())


def learner_of(records: Iterator[Record]) -> Learner:
    """Return the learner that a log ends with."""

    def as_begun(plain: dict[str, Any]) -> Configuration:
        return Configuration.from_dict(plain)

    learner = read_log(records, "list", lambda: 10, as_begun, SharedNoise(1))
    assert learner is not None
    return learner


@pytest.fixture(params=TIMINGS)
def timed_records(request: pytest.FixtureRequest) -> list[Record]:
    """Return the records of steps with a window of 30 seconds, one a second; every other answer comes."""
    policy = dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=500)
    learner = learner_for(policy, noise=SharedNoise(1), window=30.0, timing=request.param)
    log, time = ListLog([]), 0.0
    log.append(next(pieces_of(learner)))
    steps = LoggedSteps(learner, log, None, lambda: time, StepLock(lambda: None))
    for number in range(1, 101):
        time += 1.0
        steps.assign([Visit(None, None)], steps.now(), False)
        if number > 5 and number % 2:
            answer = id_of(learner.tag, number - 5), 1.0
            steps.close(checked_closings([answer], learner, steps.now()), steps.now())
    records = list(log.records())
    assert all_of(learner_of(iter(records))) == all_of(learner)
    return records


def spoilt(records: list[Record], kind: str, **changes: Any) -> tuple[list[Record], int]:
    """Return the records with the last one of a kind changed, or without it where nothing is said; and its number."""
    number = max(n for n, record in enumerate(records) if kind in record)
    new = [{**records[number], **changes}] if changes else []
    return [*records[:number], *new, *records[number + 1 :]], number


def test_a_step_without_the_release_that_was_due_is_not_followed(timed_records: list[Record]) -> None:
    """It would be drawn once more."""
    records, number = spoilt(timed_records, "release")
    assert records[number].keys() == {"assign", "block"}
    records[number] |= {"time": timed_records[number]["time"]}
    with pytest.raises(JournalError, match=f"cannot be followed from record {number} on"):
        learner_of(iter(records))


@pytest.mark.parametrize("time", [1.0, 98.0, math.nan, "99", 2e12])
def test_a_step_at_a_time_that_cannot_be_its_own_is_not_followed(timed_records: list[Record], time: Any) -> None:
    records, number = spoilt(timed_records, "assign", time=time)
    with pytest.raises(JournalError, match=f"cannot be followed from record {number} on"):
        learner_of(iter(records))


def test_an_answer_after_its_window_is_not_followed(timed_records: list[Record]) -> None:
    records, number = spoilt(timed_records, "close", close=2)  # nobody has answered it
    with pytest.raises(JournalError, match=f"cannot be followed from record {number} on"):
        learner_of(iter(records))


def test_a_snapshot_that_is_not_whole_is_not_followed(timed_records: list[Record]) -> None:
    learner = learner_of(iter(timed_records))
    first, *others = json.loads(json.dumps(list(pieces_of(learner))))
    rows = first["ledger"]
    snapshot = [first, *({"piece": piece} for piece in others)]
    assert all_of(learner_of(iter(snapshot))) == all_of(learner)
    with pytest.raises(JournalError, match="counts other releases than its ledger has"):
        learner_of(iter([{**first, "ledger": rows[:-1]}, *snapshot[1:]]))
