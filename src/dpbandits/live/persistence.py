"""Persistence: a bandit on disk, as a log of its steps, or as one text that moves it.

A log begins with the fresh bandit, or with a snapshot of a later one in pieces; every other record is a step. When it
is read the steps are taken again, with the released values that it holds; nothing is drawn.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from dpbandits._frames import clean
from dpbandits._progress import Progress
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, JournalError
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.configuration import Configuration, Terms, read_format, read_sticky
from dpbandits.live.earlier_snapshots import restore_earlier
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Learner
from dpbandits.live.live_noise import UndrawableNoise
from dpbandits.live.log import Record
from dpbandits.live.memory_book import MemoryBook
from dpbandits.live.policy_names import policy_of
from dpbandits.live.records import replay
from dpbandits.live.schedule_cost import TOLERANCE, check_terms
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy, is_ours
from dpbandits.privacy import Ledger, Row

WARNING = "Holds secrets: rewards that are in no release yet. Resume it once: a second copy would draw its noise again."
_SHOWN_EVERY = 1000  # records between two looks at the progress bar
_ROWS = 500  # of the ledger in a piece


# ---- snapshots


def pieces_of(learner: Learner) -> Iterator[Record]:
    """Yield all of a learner and its book, as they are when the first piece is asked for, while steps go on.

    The first piece is the learner itself; each of the others is a table with some of its rows.
    """
    rows = list(learner.ledger)
    first = {
        "configuration": learner.configuration.to_dict(),
        "learner": learner.snapshot(),
        "ledger": _stored_rows(rows[:_ROWS]),
    }
    book_pieces = _memory_book(learner).pieces()
    try:
        first_of_book = next(book_pieces)  # from now on the book notes what changes
        yield first
        for start in range(_ROWS, len(rows), _ROWS):
            yield {"ledger": _stored_rows(rows[start : start + _ROWS])}
        yield first_of_book
        yield from book_pieces
    finally:
        book_pieces.close()  # type: ignore[attr-defined]


def _is_piece_taken(learner: Learner, piece: Record) -> bool:
    """Put a piece, after those before it, into a learner that was made from the first one; tell whether it is one."""
    try:
        if "ledger" in piece:
            learner.take_rows(_rows(piece["ledger"], learner.ledger))
        else:
            _memory_book(learner).take_piece(piece)
    except Exception:  # noqa: BLE001  (a piece that somebody made up may be anything)
        return False
    return True


def _settle(learner: Learner) -> None:
    """End taking pieces."""
    _memory_book(learner).settle()
    if learner.counts.released != list(map(len, learner.steps)):
        raise JournalError("Its snapshot is not whole: it counts other releases than its ledger has.")


def _stored_rows(rows: Sequence[Row]) -> list[list[str]]:
    return [[row.content_json, row.hash] for row in rows]


def _rows(stored: list[list[str]], ledger: Ledger) -> list[Row]:
    """Return the rows that come after those of a ledger, as they are stored. Their hashes are not computed again."""
    number, previous = ledger.head
    rows = []
    for content_json, row_hash in stored:
        number += 1
        rows.append(Row(number, previous, content_json, row_hash))
        previous = row_hash
    return rows


def _memory_book(learner: Learner) -> MemoryBook:
    assert isinstance(learner.book, MemoryBook), "only a book in memory is written down whole"
    return learner.book


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

    return _replayed(journal, as_asked, source)


@clean
def journal_overview(journal: AcknowledgedRecords, kind: type[Policy] | None) -> Overview:
    """Return what may be shown of the bandit whose journal this is. A policy that is not ours comes as its class.

    The steps are taken again with a source that draws nothing, and nothing is written.
    """

    def as_begun(beginning: dict[str, Any]) -> Configuration:
        return Configuration.from_dict(beginning, None if kind is None else policy_of(kind, beginning["policy"]))

    learner = _replayed(journal, as_begun, None)
    assert learner is not None, "a record was acknowledged"
    check_promise_again(learner, journal)
    return Overview.of(learner)


def _replayed(
    journal: Journal | AcknowledgedRecords,
    configured: Callable[[dict[str, Any]], Configuration],
    source: SecureNoise | None,
) -> Learner | None:
    learner = None
    is_settled = False  # once all pieces of a snapshot have come
    with Progress(journal.acknowledged, "steps") as bar:
        bar.describe("reading")
        for number, record in enumerate(journal.records()):
            if learner is None:
                learner = _first_learner(journal, record, configured, source)
                continue
            if "piece" not in record and not is_settled:
                _settle(learner)
                is_settled = True
            taken = _is_piece_taken(learner, record["piece"]) if "piece" in record else _is_replayed(learner, record)
            if not taken:
                raise JournalError(
                    f"The journal {journal.path} cannot be followed from record {number} on: "
                    "it was written by another version of dpbandits or of the policy."
                )
            if number % _SHOWN_EVERY == 0:
                bar.advance(_SHOWN_EVERY)
    if learner is not None and not is_settled:
        _settle(learner)
    return learner


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


def _first_learner(
    journal: Journal | AcknowledgedRecords,
    record: dict[str, Any],
    configured: Callable[[dict[str, Any]], Configuration],
    source: SecureNoise | None,
) -> Learner:
    """Return the learner of the first record, with noise from the source, or one that never draws."""
    problem = None
    try:
        configuration = configured(record["configuration"])
        return _restored(configuration, record, source or UndrawableNoise(configuration.grid_bits))
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


def _is_replayed(learner: Learner, record: Record) -> bool:
    try:
        return replay(learner, record)
    except Exception:  # noqa: BLE001  (a record that somebody made up may be anything)
        return False


# ---- one text


def to_text(learner: Learner) -> str:
    """Return a bandit as JSON."""
    first, *others = pieces_of(learner)
    return json.dumps({"warning": WARNING, **_with_checksum({**first, "pieces": others})}, allow_nan=False)


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
    learner = _restored(configuration, snapshot, source)
    if not all(_is_piece_taken(learner, piece) for piece in snapshot.get("pieces", [])):
        raise InvalidInput("Expected a text as it was written by to_json, whole and unchanged.")
    _settle(learner)
    learner.ledger.verify()
    return learner


def _with_checksum(snapshot: dict[str, Any]) -> dict[str, Any]:
    checksum = hashlib.sha256(json.dumps(snapshot, sort_keys=True).encode("ascii")).hexdigest()
    return {**snapshot, "checksum": checksum}


def _restored(configuration: Configuration, first: Record, source: SecureNoise) -> Learner:
    """Return the learner of the first piece of a snapshot, on the terms that are in row 0 of its ledger."""
    is_earlier = "ledger" in first["learner"]  # up to format 3 it was one piece, with the ledger as text
    rows = list(Ledger.from_jsonl(first["learner"]["ledger"])) if is_earlier else _rows(first["ledger"], Ledger())
    row_0 = rows[0].content
    terms = Terms.from_dict(configuration, row_0)
    if row_0 != {**configuration.to_dict(), **terms.to_dict(configuration.file_format)}:
        raise InvalidInput("Expected row 0 of its ledger to be its configuration and its terms.")
    check_terms(configuration, terms)
    learner = Learner(configuration, terms, source, tolerance=TOLERANCE)
    if is_earlier:
        restore_earlier(learner, first["learner"])
    else:
        learner.restore(first["learner"], rows)
    return learner


@clean
def check_promise_again(learner: Learner, journal: Journal | AcknowledgedRecords | None = None) -> None:
    """Refuse to go on if this version knows that what was promised in the beginning is not kept.

    For long schedules this takes seconds, so it is not part of reading.
    """
    configuration, terms = learner.configuration, learner.terms
    promised, computed = terms.one_reward.epsilon, terms.computed_epsilon(configuration.horizon)
    # A smaller bound for one of our schedules is a tighter one. In a user's policy it may be another schedule.
    may_be_less = is_ours(configuration.policy)
    if computed > promised * (1 + TOLERANCE) or (computed < promised * (1 - TOLERANCE) and not may_be_less):
        problem = (
            f"Expected epsilon={computed}, as this version computes it for one reward, to be "
            f"{'at most ' if may_be_less else ''}{promised}, as in the beginning."
        )
        if journal is None:
            raise InvalidInput(problem)
        raise JournalError(f"The journal {journal.path} cannot be followed. {problem}")
