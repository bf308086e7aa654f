"""Persistence: a bandit on disk, as a journal of its steps, or as one text that moves it.

The first record of a journal is a snapshot of the fresh bandit, every other one a step. When a journal is opened the
steps are taken again, with the released values that it holds; nothing is drawn.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpbandits._frames import clean
from dpbandits._progress import Progress
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, JournalError
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.configuration import Configuration, Terms, read_format, read_sticky
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Choice, Learner
from dpbandits.live.live_noise import ReleasedValue, UndrawableNoise
from dpbandits.live.policy_names import policy_of
from dpbandits.live.schedule_cost import TOLERANCE, check_terms
from dpbandits.live.units import Visit
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy, is_ours
from dpbandits.privacy import Ledger

WARNING = "Holds secrets: rewards that are in no release yet. Resume it once: a second copy would draw its noise again."
_SHOWN_EVERY = 1000  # records between two looks at the progress bar


# ---- records of steps


def assignment_record(choice: Choice, visit: Visit, is_selection: bool) -> dict[str, Any]:
    """Return the record of an assignment."""
    record: dict[str, Any] = {"assign": choice.arm, "block": choice.block}
    if visit.unit is not None:
        record["unit"] = visit.unit
    if visit.key is not None:
        record["key"] = visit.key
    if is_selection:
        record["selection"] = True
    return record


def closing_record(
    number: int, reward: Any, key: str | None, released: list[ReleasedValue], learner: Learner
) -> dict[str, Any]:
    """Return the record of a closing; the reward is None if it enters nothing."""
    record: dict[str, Any] = {"close": number, "reward": reward}
    if key is not None:
        record["key"] = key
    if released:
        record |= {
            "released": [draw.value for draw in released],
            "scales": [draw.steps for draw in released],
            "head": learner.ledger.head[1],
        }
    return record


def one_record(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record of steps that were taken together: on disk are all of them or none."""
    return steps[0] if len(steps) == 1 else {"batch": steps}


def replay(learner: Learner, record: dict[str, Any]) -> bool:
    """Take the steps of a record, and tell whether they came out as they were recorded."""
    steps = record.get("batch", [record])
    return bool(steps) and record == one_record(steps) and all(_replay_step(learner, step) for step in steps)


def _replay_step(learner: Learner, record: dict[str, Any]) -> bool:
    if "assign" in record:
        visit, choice = Visit(record.get("unit"), record.get("key")), Choice(record["assign"], record["block"])
        is_selection = record.get("selection") is True
        if assignment_record(choice, visit, is_selection) != record or not learner.allows(choice, visit):
            return False
        if is_selection and (visit != (None, None) or learner.selection is not None):
            return False
        learner.hand_out(choice, visit, is_selection)
        return True
    number, reward, key = record["close"], record["reward"], record.get("key")
    if not learner.can_close(number, reward, key):
        return False
    released = learner.close(number, reward, key, _stored_values(record))
    repetition = closing_record(number, reward, key, released.draws, learner)
    learner.learn(released)
    if "scales" not in record:  # written before they were stored
        repetition.pop("scales", None)
    return repetition == record


def _stored_values(record: dict[str, Any]) -> list[ReleasedValue]:
    if "released" not in record:
        return []
    values = record["released"]
    stored_values = [
        ReleasedValue(*pair) for pair in zip(values, record.get("scales", [None] * len(values)), strict=True)
    ]
    if not all(type(value) is float and type(steps) in (float, type(None)) for value, steps in stored_values):
        raise InvalidInput("Expected released values and their scales as numbers.")
    return stored_values


# ---- journals


@clean
def resumed_learner(
    journal: Journal, configuration: Configuration, source: SecureNoise, *, sticky_as_begun: bool
) -> tuple[Configuration, Learner] | None:
    """Return the learner that a journal ends with, and its configuration; None if it has yet to begin.

    With `sticky_as_begun` the journal says whether it is sticky. Nothing is written: whatever is wrong with the
    journal, it stays as it is.
    """

    def as_asked(beginning: dict[str, Any]) -> Configuration:
        request = replace(configuration, file_format=read_format(beginning))
        if sticky_as_begun:
            request = replace(request, sticky=read_sticky(beginning))
        # An earlier format has no word for it, and none of its bandits is sticky.
        _check_same_configuration(
            journal, {"sticky": False, **beginning}, {"sticky": request.sticky, **request.to_dict()}
        )
        return request

    return _replayed(journal, as_asked, source)


@clean
def journal_overview(journal: AcknowledgedRecords, kind: type[Policy] | None) -> Overview:
    """Return what may be shown of the bandit whose journal this is. A policy that is not ours comes as its class.

    The steps are taken again with a source that draws nothing, and nothing is written.
    """

    def as_begun(beginning: dict[str, Any]) -> Configuration:
        return Configuration.from_dict(beginning, None if kind is None else policy_of(kind, beginning["policy"]))

    bandit = _replayed(journal, as_begun, None)
    assert bandit is not None, "a record was acknowledged"
    return Overview.of(*bandit)


def _replayed(
    journal: Journal | AcknowledgedRecords,
    configured: Callable[[dict[str, Any]], Configuration],
    source: SecureNoise | None,
) -> tuple[Configuration, Learner] | None:
    bandit = None
    with Progress(journal.acknowledged, "steps") as bar:
        bar.describe("reading")
        for number, record in enumerate(journal.records()):
            if bandit is None:
                bandit = _first_learner(journal, record, configured, source)
            elif not _is_replayed(bandit[1], record):
                raise JournalError(
                    f"The journal {journal.path} cannot be followed from record {number} on: "
                    "it was written by another version of dpbandits or of the policy."
                )
            if number % _SHOWN_EVERY == 0:
                bar.advance(_SHOWN_EVERY)
    return bandit


@clean
def force(journal: Journal) -> None:
    """Force to disk what was read of a journal, its last record above all."""
    journal.force()


@clean
def begin_or_go_on(journal: Journal, configuration: Configuration, learner: Learner) -> None:
    """Make a journal, all of which was read, ready to be appended to; an empty one begins with the learner."""
    if journal.is_empty:
        journal.begin(_snapshot(configuration, learner))
    else:
        journal.go_on()


def _first_learner(
    journal: Journal | AcknowledgedRecords,
    record: dict[str, Any],
    configured: Callable[[dict[str, Any]], Configuration],
    source: SecureNoise | None,
) -> tuple[Configuration, Learner]:
    """Return the learner of the first record, with noise from the source, or one that never draws."""
    problem = None
    try:
        configuration = configured(record["configuration"])
        learner = _restored(configuration, record["learner"], source or UndrawableNoise(configuration.grid_bits))
        if not learner.is_fresh:
            raise InvalidInput("Its first record is not that of a fresh bandit.")
        return configuration, learner
    except JournalError:
        raise
    except InvalidInput as refusal:
        problem = str(refusal)
    except Exception:  # noqa: BLE001  (a record that somebody made up may be anything)
        problem = "Its first record is not that of a bandit."
    raise JournalError(f"The journal {journal.path} cannot be followed. {problem}")


def _check_same_configuration(journal: Journal, beginning: dict[str, Any], request: dict[str, Any]) -> None:
    for name in sorted(request.keys() | beginning.keys()):
        if beginning.get(name) != request.get(name):
            before, now = _differences(beginning.get(name), request.get(name))
            raise JournalError(
                f"The journal {journal.path} was begun with {name}={value_text(before)}, not with {value_text(now)}."
            )


def _differences(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two values; of two dicts, such as the settings of one policy, only what differs, and the name."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one, other
    names = [key for key in one.keys() | other.keys() if key == "name" or one.get(key) != other.get(key)]
    first, second = ({key: each[key] for key in each if key in names} for each in (one, other))
    return first, second


def _is_replayed(learner: Learner, record: dict[str, Any]) -> bool:
    try:
        return replay(learner, record)
    except Exception:  # noqa: BLE001  (a record that somebody made up may be anything)
        return False


# ---- one text


def to_text(configuration: Configuration, learner: Learner) -> str:
    """Return a bandit as JSON."""
    return json.dumps({"warning": WARNING, **_with_checksum(_snapshot(configuration, learner))}, allow_nan=False)


def from_text(text: str, policy: Policy | None, source: SecureNoise) -> tuple[Configuration, Learner]:
    """Return what `to_text` wrote."""
    try:
        plain = json.loads(text)
        snapshot = {name: plain[name] for name in ("configuration", "learner")}
        is_whole = _with_checksum(snapshot)["checksum"] == plain["checksum"]
    except (ValueError, KeyError, TypeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise InvalidInput("Expected a text as it was written by to_json, whole and unchanged.")
    configuration = Configuration.from_dict(snapshot["configuration"], policy)
    if configuration.grid_bits != source.grid_bits:
        raise InvalidInput(
            f"Expected noise with grid_bits={source.grid_bits} to be SecureNoise(grid_bits={configuration.grid_bits})."
        )
    return configuration, _restored(configuration, snapshot["learner"], source)


def _with_checksum(snapshot: dict[str, Any]) -> dict[str, Any]:
    checksum = hashlib.sha256(json.dumps(snapshot, sort_keys=True).encode("ascii")).hexdigest()
    return {**snapshot, "checksum": checksum}


def _snapshot(configuration: Configuration, learner: Learner) -> dict[str, Any]:
    return {"configuration": configuration.to_dict(), "learner": learner.snapshot()}


def _restored(configuration: Configuration, snapshot: dict[str, Any], source: SecureNoise) -> Learner:
    """Return the learner of a snapshot, on the terms that are in its ledger."""
    row = Ledger.from_jsonl(snapshot["ledger"])[0].content
    terms = Terms.from_dict(configuration, row)
    if row != {**configuration.to_dict(), **terms.to_dict(configuration.file_format)}:
        raise InvalidInput("Expected row 0 of its ledger to be its configuration and its terms.")
    check_terms(configuration, terms)
    promised, computed = terms.one_reward.epsilon, terms.computed_epsilon(configuration.horizon)
    # A smaller bound for one of our schedules is a tighter one. In a user's policy it may be another schedule.
    may_be_less = is_ours(configuration.policy)
    if computed > promised * (1 + TOLERANCE) or (computed < promised * (1 - TOLERANCE) and not may_be_less):
        raise InvalidInput(
            f"Expected epsilon={computed}, as this version computes it for one reward, to be "
            f"{'at most ' if may_be_less else ''}{promised}, as in the beginning."
        )
    learner = Learner(configuration, terms, source, tolerance=TOLERANCE)
    learner.restore(snapshot)
    return learner
