"""Snapshots: a whole bandit in pieces that JSON can hold, each small, and a learner made of them again."""

from collections.abc import Iterator, Sequence

from dpbandits.errors import InvalidInput
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.earlier_snapshots import restore_earlier
from dpbandits.live.learner import Learner
from dpbandits.live.log import Record
from dpbandits.live.memory_book import MemoryBook
from dpbandits.live.schedule_cost import TOLERANCE, check_terms
from dpbandits.mechanisms import SecureNoise
from dpbandits.privacy import Ledger, Row

_ROWS = 500  # of the ledger in a piece


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


def is_piece_taken(learner: Learner, piece: Record) -> bool:
    """Put a piece, after those before it, into a learner that was made from the first one; tell whether it is one."""
    try:
        if "ledger" in piece:
            learner.take_rows(_rows(piece["ledger"], learner.ledger))
        else:
            _memory_book(learner).take_piece(piece)
    except Exception:  # noqa: BLE001  (a piece that somebody made up may be anything)
        return False
    return True


def settle(learner: Learner) -> None:
    """End taking pieces."""
    _memory_book(learner).settle()
    if learner.counts.released != list(map(len, learner.steps)):
        raise InvalidInput("Its snapshot is not whole: it counts other releases than its ledger has.")


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


def begun_learner(configuration: Configuration, first: Record, source: SecureNoise) -> Learner:
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
