"""Archive: a bandit on disk, as a journal of its steps, or as one text that moves it.

The first record of a journal is a snapshot of the fresh bandit, every other one a step. When a journal is opened the
steps are taken again, with the released values that it holds; nothing is drawn.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from dpbandits._progress import Progress
from dpbandits.errors import InvalidInput, JournalError
from dpbandits.live.configuration import Configuration, Terms, is_ours
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Choice, Learner
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy
from dpbandits.privacy import Ledger

WARNING = "Holds secrets: rewards that are in no release yet. Resume it once: a second copy would draw its noise again."
_SHOWN_EVERY = 1000  # records between two looks at the progress bar
_SAME = 1e-6  # machines round differently; what changed with a version changes more


# ---- records of steps


def assignment_record(choice: Choice, unit: str | None, is_selection: bool) -> dict[str, Any]:
    """Return the record of an assignment."""
    record: dict[str, Any] = {"assign": choice.arm, "block": choice.block}
    if unit is not None:
        record["unit"] = unit
    if is_selection:
        record["selection"] = True
    return record


def closing_record(number: int, reward: Any, released: list[float], learner: Learner) -> dict[str, Any]:
    """Return the record of a closing; the reward is None if it enters nothing."""
    record: dict[str, Any] = {"close": number, "reward": reward}
    if released:
        record |= {"released": released, "head": learner.ledger.head[1]}
    return record


def take_again(learner: Learner, record: dict[str, Any]) -> bool:
    """Take the step of a record, and tell whether it came out as it was recorded."""
    if "assign" in record:
        unit, choice = record.get("unit"), Choice(record["assign"], record["block"])
        if not learner.allows(choice, unit):
            return False
        learner.hand_out(choice, unit, record.get("selection", False))
        return True
    number, reward = record["close"], record["reward"]
    released = learner.close(number, reward, stored=record.get("released", []))
    return closing_record(number, reward, released, learner) == record


# ---- journals


def open_journal(
    path: str | os.PathLike[str], configuration: Configuration, source: SecureNoise
) -> tuple[Journal, Learner]:
    """Return the journal at `path` and the learner that it ends with; a new one is begun."""
    is_new = not Path(path).exists()
    fresh = Learner(configuration, Terms.computed(configuration), source) if is_new else None  # before a file is made
    journal = Journal(path)
    try:
        if journal.records:
            learner = _resumed(journal, configuration, source)
        else:
            learner = fresh or Learner(configuration, Terms.computed(configuration), source)
            journal.append(_snapshot(configuration, learner), durable_mark=True)
    except BaseException:
        journal.close()
        raise
    journal.records.clear()
    return journal, learner


def _resumed(journal: Journal, configuration: Configuration, source: SecureNoise) -> Learner:
    first, *steps = journal.records
    begun, given = first["configuration"], configuration.to_dict()
    for name in given:
        if begun.get(name) != given[name]:
            raise JournalError(
                f"The journal {journal.path} was begun with {name}={begun.get(name)!r}, not with {given[name]!r}."
            )
    try:
        learner = _restored(configuration, first["learner"], source)
    except InvalidInput as problem:
        raise JournalError(f"The journal {journal.path} cannot be gone on with. {problem}") from None
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
    return learner


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
    return configuration, _restored(configuration, snapshot["learner"], source)


def _sealed(snapshot: dict[str, Any]) -> dict[str, Any]:
    checksum = hashlib.sha256(json.dumps(snapshot, sort_keys=True).encode("ascii")).hexdigest()
    return {**snapshot, "checksum": checksum}


def _snapshot(configuration: Configuration, learner: Learner) -> dict[str, Any]:
    return {"configuration": configuration.to_dict(), "learner": learner.snapshot()}


def _restored(configuration: Configuration, snapshot: dict[str, Any], source: SecureNoise) -> Learner:
    """Return the learner of a snapshot, on the terms that are in its ledger."""
    terms = Terms.from_dict(configuration, Ledger.from_jsonl(snapshot["ledger"])[0].content)
    begun, now = terms.one_reward.epsilon, terms.computed_epsilon(configuration.horizon)
    # A smaller bound for one of our schedules is a tighter one. In a user's policy it may be another schedule.
    may_be_less = is_ours(configuration.policy)
    if now > begun * (1 + _SAME) or (now < begun * (1 - _SAME) and not may_be_less):
        raise InvalidInput(
            f"Expected epsilon={now}, as this version computes it for one reward, to be "
            f"{'at most ' if may_be_less else ''}{begun}, as in the beginning."
        )
    learner = Learner(configuration, terms, source)
    learner.restore(snapshot)
    return learner
