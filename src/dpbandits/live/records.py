"""Records of steps: what is written down of a step, and the same step taken again from that.

When a log is read the steps are taken again, with the times and the released values that it holds; nothing is drawn. A
step that does not come out as it was recorded is not followed.
"""

from functools import partial
from typing import Any

from dpbandits.errors import InvalidInput
from dpbandits.live.book import FORGOTTEN, Place
from dpbandits.live.learner import Answer, Learner, Release
from dpbandits.live.live_noise import ReleasedValue
from dpbandits.live.log import Record
from dpbandits.live.ready_blocks import ReadyBlocks
from dpbandits.live.timing import is_reading
from dpbandits.live.units import Visit, is_hash


def assignment_record(place: Place, visit: Visit, is_selection: bool) -> Record:
    """Return the record of an assignment."""
    record: Record = {"assign": place.arm, "block": place.block}
    if visit.unit is not None:
        record["unit"] = visit.unit
    if visit.key is not None:
        record["key"] = visit.key
    if is_selection:
        record["selection"] = True
    return record


def answer_record(answer: Answer) -> Record:
    """Return the record of an answer; its reward is None if it enters nothing."""
    record: Record = {"close": answer.number, "reward": answer.reward}
    if answer.key is not None:
        record["key"] = answer.key
    return record


def release_records(releases: list[Release], learner: Learner) -> list[Record]:
    """Return the record of what a step releases, if it releases anything."""
    if not releases:
        return []
    return [{"release": [[made.arm, made.value, made.steps] for made in releases], "head": learner.ledger.head[1]}]


def forgetting_record(unit: str) -> Record:
    """Return the record of a person, by their hash, who is forgotten."""
    return {"forget": unit}


def is_forgetting(record: Record) -> bool:
    """Tell whether a record is that of somebody who is forgotten."""
    return "forget" in record


def one_record(steps: list[Record], time: float | None = None) -> Record:
    """Return the record of steps that were taken together: on disk are all of them or none.

    `time` is that of the clock, where the step has set it.
    """
    record = steps[0] if len(steps) == 1 else {"batch": steps}
    return record if time is None else {**record, "time": time}


# ---- taken again


def replay(learner: Learner, record: Record) -> bool:
    """Take the steps of a record, and tell whether they came out as they were recorded."""
    now = learner.counts.now
    time = record.get("time")
    if time is not None:
        if learner.configuration.window is None or not is_reading(time) or time != learner.counts.later(time):
            return False
        now = time
    single_step = {name: value for name, value in record.items() if name != "time"}
    steps = single_step.get("batch", [single_step])
    if not steps or record != one_record(steps, time):
        return False
    ready = learner.ready_blocks()
    if not all(_replay_step(learner, step, ready, now) for step in steps):
        return False
    learner.counts.now = now
    if ready.blocks or now is None:
        return not ready.blocks  # whatever is complete is released in the same step
    return not any(map(partial(_looks_at_the_clock, learner), steps)) or not learner.book.due(now)


def _looks_at_the_clock(learner: Learner, record: Record) -> bool:
    """Tell whether all that was due had been released when this step was over."""
    return "assign" in record or "release" in record or ("close" in record and not learner.is_sealed)


def _replay_step(learner: Learner, record: Record, ready: ReadyBlocks, now: float | None) -> bool:
    if "assign" in record:
        return _replay_assignment(learner, record, now)
    if "close" in record:
        return _replay_answer(learner, record, ready, now)
    if "release" in record:
        learner.add_due(ready, now)
        stored_values = [ReleasedValue(value, steps) for _, value, steps in record["release"]]
        releases = _released_again(learner, ready, now, stored_values)
        return release_records(releases, learner) == [record]
    unit = record["forget"]
    if record != forgetting_record(unit) or not is_hash(unit) or learner.book.person(unit) in (None, FORGOTTEN):
        return False
    learner.book.forget(unit)
    return True


def _replay_assignment(learner: Learner, record: Record, now: float | None) -> bool:
    visit = Visit(record.get("unit"), record.get("key"))
    place = can_assign(learner, record["assign"], record["block"], visit, now)
    is_selection = record.get("selection") is True
    if place is None or assignment_record(place, visit, is_selection) != record:
        return False
    if is_selection and (visit != (None, None) or learner.has_selection(now)):
        return False
    learner.hand_out(place, visit, now, is_selection)
    return True


def can_assign(learner: Learner, arm: Any, block: Any, visit: Visit, now: float | None = None) -> Place | None:
    """Return the place of an assignment that was made before, if it can be made now by any choice."""
    if not all(word is None or is_hash(word) for word in visit):
        return None
    if type(arm) is not int or not (block is None or type(block) is int) or not 0 <= arm < len(learner.statistics):
        return None
    if visit.unit is None and learner.configuration.contributions > 1:
        return None
    if learner.assignment_again(visit, now) is not None:
        return None
    place = learner.place_of(arm, visit.unit, now)
    return place if place is not None and place.block == block else None


def _replay_answer(learner: Learner, record: Record, ready: ReadyBlocks, now: float | None) -> bool:
    answer = Answer(record["close"], record["reward"], record.get("key"))
    if not can_answer(learner, answer, now):
        return False
    learner.answer([answer], ready)
    if "released" not in record:
        return answer_record(answer) == record
    # In formats before 4 every answer had what it released.
    stored_values = _stored_values(record)
    releases = _released_again(learner, ready, now, stored_values)
    repetition = answer_record(answer) | {
        "released": [made.value for made in releases],
        "scales": [made.steps for made in releases],
        "head": learner.ledger.head[1],
    }
    if "scales" not in record:  # written before they were stored
        del repetition["scales"]
    return repetition == record


def can_answer(learner: Learner, answer: Answer, now: float | None = None) -> bool:
    """Tell whether an assignment is open, and a reward, in the units of the noise source, can be its own."""
    number, reward, key = answer
    if type(number) is not int or not (key is None or is_hash(key)):
        return False
    place = learner.book.place(number)
    if place is None or place.is_answered or place.is_over(now):
        return False
    if place.block is None:
        return reward is None
    return type(reward) is int and 0 <= reward <= 2**learner.source.grid_bits


def _released_again(
    learner: Learner, ready: ReadyBlocks, now: float | None, stored_values: list[ReleasedValue]
) -> list[Release]:
    if len(stored_values) != len(ready.blocks) or not all(
        type(value) is float and type(steps) in (float, type(None)) for value, steps in stored_values
    ):
        raise InvalidInput("Expected as many released values, with their scales, as there are blocks to be released.")
    releases = learner.release(ready, now, stored_values)
    learner.learn(releases)
    ready.clear()
    return releases


def _stored_values(record: Record) -> list[ReleasedValue]:
    values = record["released"]
    return [ReleasedValue(*pair) for pair in zip(values, record.get("scales", [None] * len(values)), strict=True)]
