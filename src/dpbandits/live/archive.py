"""Archive: a bandit on disk, as a journal of its steps, or as one text that moves it.

The first record of a journal is a snapshot of the fresh bandit, every other one a step. When a journal is opened the
steps are taken again, with the released values that it holds; nothing is drawn.
"""

import hashlib
import json
import os
from typing import Any

from dpbandits._progress import Progress
from dpbandits.errors import InvalidInput, JournalError
from dpbandits.live.configuration import Configuration
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Choice, Learner
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy

WARNING = "Holds secrets: rewards that are in no release yet. Resume it once: a second copy would draw its noise again."
_SHOWN_EVERY = 1000  # records between two looks at the progress bar


# ---- records of steps


def assigned(choice: Choice, unit: str | None, is_selection: bool) -> dict[str, Any]:
    """Return the record of an assignment."""
    record: dict[str, Any] = {"assign": choice.arm, "block": choice.block}
    if unit is not None:
        record["unit"] = unit
    if is_selection:
        record["selection"] = True
    return record


def closed(number: int, reward: Any, released: list[float]) -> dict[str, Any]:
    """Return the record of a closing; the reward is None if it enters nothing."""
    record: dict[str, Any] = {"close": number, "reward": reward}
    if released:
        record["released"] = released
    return record


def take_again(learner: Learner, record: dict[str, Any]) -> bool:
    """Take the step of a record, and tell whether it came out as it was recorded."""
    if "assign" in record:
        unit = record.get("unit")
        choice = learner.choice(unit)
        learner.hand_out(choice, unit, record.get("selection", False))
        return choice == (record["assign"], record["block"])
    released: list[float] = record.get("released", [])
    return learner.close(record["close"], record["reward"], stored=released) == released


# ---- journals


def open_journal(path: str | os.PathLike[str], configuration: Configuration, learner: Learner) -> Journal:
    """Return the journal at `path`, after bringing a fresh learner to where it ends; a new one is begun."""
    journal = Journal(path)
    try:
        if not journal.records:
            journal.append(_snapshot(configuration, learner), durable_mark=True)
        else:
            _resume(journal, configuration, learner)
    except BaseException:
        journal.close()
        raise
    journal.records.clear()
    return journal


def _resume(journal: Journal, configuration: Configuration, learner: Learner) -> None:
    first, *steps = journal.records
    begun, given = first["configuration"], configuration.to_dict()
    for name in given:
        if begun.get(name) != given[name]:
            raise JournalError(
                f"The journal {journal.path} was begun with {name}={begun.get(name)!r}, not with {given[name]!r}."
            )
    difference = _restored(learner, first)
    if difference:
        raise JournalError(f"The journal {journal.path} {difference}")
    with Progress(len(steps), "steps") as bar:
        bar.describe("resuming")
        for number, record in enumerate(steps, start=1):
            try:
                is_same = take_again(learner, record)
            except (LookupError, RuntimeError):
                is_same = False
            if not is_same:
                raise JournalError(
                    f"The journal {journal.path} cannot be followed from record {number} on: "
                    "it was written by another version of dpbandits or of the policy."
                )
            if number % _SHOWN_EVERY == 0:
                bar.advance(_SHOWN_EVERY)


# ---- one text


def to_text(configuration: Configuration, learner: Learner) -> str:
    """Return a bandit as JSON."""
    return json.dumps({"warning": WARNING, **_sealed(_snapshot(configuration, learner))}, allow_nan=False)


def from_text(text: str, policy: Policy | None, source: SecureNoise) -> tuple[Configuration, Learner]:
    """Return what `to_text` wrote."""
    try:
        plain = json.loads(text)
        snapshot = {name: plain[name] for name in ("configuration", "learner")}
        is_whole = _sealed(snapshot)["checksum"] == plain["checksum"]
    except (ValueError, KeyError, TypeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise InvalidInput("Expected a text as it was written by to_json, whole and unchanged.")
    configuration = Configuration.from_dict(snapshot["configuration"], policy)
    if configuration.grid_bits != source.grid_bits:
        raise InvalidInput(
            f"Expected noise with grid_bits={source.grid_bits} to be SecureNoise(grid_bits={configuration.grid_bits})."
        )
    learner = Learner(configuration, source)
    difference = _restored(learner, snapshot)
    if difference:
        raise InvalidInput(f"The text {difference}")
    return configuration, learner


def _sealed(snapshot: dict[str, Any]) -> dict[str, Any]:
    checksum = hashlib.sha256(json.dumps(snapshot, sort_keys=True).encode("ascii")).hexdigest()
    return {**snapshot, "checksum": checksum}


def _snapshot(configuration: Configuration, learner: Learner) -> dict[str, Any]:
    return {"configuration": configuration.to_dict(), "learner": learner.snapshot()}


def _restored(learner: Learner, snapshot: dict[str, Any]) -> str:
    """Put a snapshot into a fresh learner; return what is wrong if its guarantee is not the one computed now."""
    expected = learner.ledger[0].content["guarantee"]
    learner.restore(snapshot["learner"])
    begun = learner.ledger[0].content["guarantee"]
    if begun == expected:
        return ""
    return (
        f"was begun with epsilon={begun['epsilon']}, delta={begun['delta']}, and this version computes "
        f"epsilon={expected['epsilon']}, delta={expected['delta']}: go on with the version that began it."
    )
