"""Persistence: a bandit on disk, as a log of its steps, or as one text that moves it.

A log begins with the fresh bandit, or with a snapshot of a later one in pieces; every other record is a step. When it
is read the steps are taken again, with the released values that it holds; nothing is drawn.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from dpbandits._frames import clean
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, JournalError, LedgerError
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.configuration import Configuration, read_format, read_sticky
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.journal import Journal
from dpbandits.live.journal_format import lines_in
from dpbandits.live.learner import Learner
from dpbandits.live.log import Record
from dpbandits.live.names_on_disk import policy_of
from dpbandits.live.reading import read_log
from dpbandits.live.records import is_forgetting
from dpbandits.live.schedule_cost import promise_problem
from dpbandits.live.shares import named_shares
from dpbandits.live.snapshots import begun_learner, is_piece_taken, pieces_of, settle
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy

WARNING = "Holds secrets: rewards that are in no release yet. Resume it once: a second copy would draw its noise again."


# ---- logs


@clean
def resumed_learner(
    journal: Journal, configuration: Configuration, source: SecureNoise, *, sticky_as_begun: bool
) -> Learner | None:
    """Return the learner that a journal ends with; None if it has yet to begin.

    With `sticky_as_begun` the journal says whether it is sticky. Nothing is written: whatever is wrong with the
    journal, it stays as it is.
    """

    def as_asked(beginning: dict[str, Any]) -> Configuration:
        request = replace(configuration, file_format=read_format(beginning))
        if sticky_as_begun:
            request = replace(request, sticky=read_sticky(beginning))
        # Earlier formats have no words for some of it: what their bandits are, and what is asked for.
        earlier = {"sticky": False, "window": None, "timing": "open", "shares": None}
        asked = {name: getattr(request, name) for name in earlier}
        _check_same_configuration(journal, {**earlier, **beginning}, {**asked, **request.to_dict()})
        return request

    records = _with_forgetting_noted(journal)
    return read_log(records, f"journal {journal.path}", partial(lines_in, journal.places[0]), as_asked, source)


def _with_forgetting_noted(journal: Journal) -> Iterator[Record]:
    """Yield the records of a journal; one that still has what was forgotten is asked for a snapshot."""
    for record in journal.records():
        if is_forgetting(record):
            journal.ask_for_snapshot()
        yield record


@clean
def journal_overview(journal: AcknowledgedRecords, kind: type[Policy] | None) -> Overview:
    """Return what may be shown of the bandit whose journal this is. A policy that is not ours comes as its class.

    The steps are taken again with a source that draws nothing, and nothing is written.
    """

    def as_begun(beginning: dict[str, Any]) -> Configuration:
        return Configuration.from_dict(beginning, None if kind is None else policy_of(kind, beginning["policy"]))

    learner = read_log(
        journal.records(), f"journal {journal.path}", partial(lines_in, journal.places[0]), as_begun, None
    )
    assert learner is not None, "a record was acknowledged"
    check_what_was_read(learner, journal)
    return Overview.of(learner)


@clean
def force(journal: Journal) -> None:
    """Force to disk what was read of a journal, its last record above all."""
    journal.force()


@clean
def begin_or_go_on(journal: Journal, learner: Learner) -> None:
    """Make a journal, all of which was read, ready to be appended to; an empty one begins with the learner."""
    if journal.is_empty:
        first, *_ = pieces_of(learner)  # the book of a fresh one is empty
        journal.begin(first)
    else:
        journal.go_on()


def _check_same_configuration(journal: Journal, beginning: dict[str, Any], request: dict[str, Any]) -> None:
    for name in sorted(request.keys() | beginning.keys()):
        if beginning.get(name) != request.get(name):
            before, now = _differences(beginning.get(name), request.get(name))
            if name == "shares":
                before, now = (each and named_shares(each, request["arms"]) for each in (before, now))
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


# ---- one text


def to_text(learner: Learner) -> str:
    """Return a bandit as JSON."""
    first, *others = pieces_of(learner)
    pieces = [piece for piece in others if any(piece.values())]  # where one is empty, somebody may have been forgotten
    return json.dumps({"warning": WARNING, **_with_checksum({**first, "pieces": pieces})}, allow_nan=False)


def from_text(text: str, policy: Policy | None, source: SecureNoise) -> Learner:
    """Return what `to_text` wrote."""
    try:
        plain = json.loads(text)
        snapshot = {name: plain[name] for name in plain.keys() - {"warning", "checksum"}}
        is_whole = _with_checksum(snapshot)["checksum"] == plain["checksum"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise InvalidInput("Expected a text as it was written by to_json, whole and unchanged.")
    configuration = Configuration.from_dict(snapshot["configuration"], policy)
    if configuration.grid_bits != source.grid_bits:
        raise InvalidInput(
            f"Expected noise with grid_bits={source.grid_bits} to be SecureNoise(grid_bits={configuration.grid_bits})."
        )
    learner = begun_learner(configuration, snapshot, source)
    if not all(is_piece_taken(learner, piece) for piece in snapshot.get("pieces", [])):
        raise InvalidInput("Expected a text as it was written by to_json, whole and unchanged.")
    settle(learner)
    return learner


def _with_checksum(snapshot: dict[str, Any]) -> dict[str, Any]:
    checksum = hashlib.sha256(json.dumps(snapshot, sort_keys=True).encode("ascii")).hexdigest()
    return {**snapshot, "checksum": checksum}


@clean
def check_what_was_read(learner: Learner, journal: Journal | AcknowledgedRecords | None = None) -> None:
    """Refuse to go on from a broken ledger, or if this version knows that what row 0 promises is not kept.

    For long schedules this takes seconds, so it is not part of reading.
    """
    problem = _broken_chain(learner) or promise_problem(learner.configuration, learner.terms)
    if not problem:
        return
    if journal is None:
        raise InvalidInput(problem)
    raise JournalError(f"The journal {journal.path} cannot be followed. {problem}")


def _broken_chain(learner: Learner) -> str:
    """Say at which row the ledger is broken: rows that are stored are not hashed when they are read."""
    try:
        learner.ledger.verify()
    except LedgerError as problem:
        return f"Its ledger is broken. {problem}"
    return ""
