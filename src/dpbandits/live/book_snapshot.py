"""BookSnapshot: a book in memory as it was at one moment, written down piece by piece while steps go on.

Copying a million rows would keep a step waiting. So a piece is made of rows as they are when its turn comes, and
whatever changes a row that existed at that moment notes it first, as it was. Notes are written before the next piece:
of two rows that speak of the same thing, the first one is right.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpbandits.live.book import FORGOTTEN, PastAssignment, Place

if TYPE_CHECKING:
    from dpbandits.live.memory_book import MemoryBook, PendingBlock

Piece = dict[str, Any]  # the name of a table, and its rows as columns
TableRow = tuple[Any, ...]

ROWS = 500  # of a piece
LOOKED_AT = 5000  # numbers of assignments, of which most may be answered, for a piece


class BookSnapshot:
    """What has to be noted of a book from the moment at which this is made. It ends with its pieces."""

    def __init__(self, book: "MemoryBook") -> None:
        self._book = book
        self._newest = book.newest
        self._notes: dict[str, list[TableRow]] = {"people": [], "places": [], "blocks": []}
        self._noted_blocks: set[tuple[int, int]] = set()
        self._blocks = list(book.pending)
        # Rows are added at the end of these, and never removed.
        self._people, self._answers, self._visits = len(book.units), len(book.keyed_answers), len(book.visit_order)
        self._forgotten = list(book.forgotten)

    def note_person(self, unit: str, latest: PastAssignment) -> None:
        """Note what is remembered about a person, before that changes."""
        if latest.number <= self._newest:  # else it has changed before, or is new
            self._notes["people"].append((unit, *latest))

    def note_place(self, number: int, place: Place) -> None:
        """Note the place of an assignment, before it is answered or dropped."""
        if number <= self._newest:
            self._notes["places"].append((number, *place))

    def note_block(self, key: tuple[int, int], pending: "PendingBlock") -> None:
        """Note a block, before it changes for the first time."""
        if pending.first <= self._newest and key not in self._noted_blocks:
            self._noted_blocks.add(key)
            self._notes["blocks"].append(_block_row(key, pending))

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces. The first ones are of the moment itself, so begin at once."""
        yield {"released_sums": [int(total) for total in self._book.released_sums]}
        for table, rows in self._tables():
            yield from self._noted_pieces()
            yield _piece(table, rows)

    def _noted_pieces(self) -> Iterator[Piece]:
        """Yield what was noted; a large batch may have noted much."""
        for table, rows in self._notes.items():
            while rows:
                noted_rows = rows[:ROWS]
                del rows[:ROWS]
                yield _piece(table, noted_rows)

    def _tables(self) -> Iterator[tuple[str, list[TableRow]]]:
        """Yield the rows of every table, as they are now, but for those that have been noted and are gone."""
        book = self._book
        for start in range(0, len(self._blocks), ROWS):
            keys = self._blocks[start : start + ROWS]
            yield "blocks", [_block_row(key, book.pending[key]) for key in keys if key in book.pending]
        for start in range(book.oldest, self._newest + 1, LOOKED_AT):
            numbers = range(start, min(start + LOOKED_AT, self._newest + 1))
            open_rows = [(number, *book.places[number]) for number in numbers if number in book.places]
            if not open_rows and start == book.oldest:
                book.oldest = numbers.stop  # nobody has to look there again
            for first in range(0, len(open_rows) or 1, ROWS):
                yield "places", open_rows[first : first + ROWS]
        for rows in _full_pieces(self._known_people()):
            yield "people", rows
        for start in range(0, len(self._forgotten), ROWS):
            yield "forgotten", [(unit,) for unit in self._forgotten[start : start + ROWS]]
        for start in range(0, self._answers, ROWS):
            numbers_answered = book.keyed_answers[start : min(start + ROWS, self._answers)]
            yield "answers", [(number, book.answer_keys[number]) for number in numbers_answered]
        for rows in _full_pieces(self._known_visits()):
            yield "visits", rows

    def _known_people(self) -> Iterator[list[TableRow]]:
        """Yield people; of those who were forgotten meanwhile there is a note, the others have a table of their own."""
        book = self._book
        for start in range(0, self._people, ROWS):
            units = book.units[start : min(start + ROWS, self._people)]
            yield [(unit, *book.people[unit]) for unit in units if book.people[unit] != FORGOTTEN]

    def _known_visits(self) -> Iterator[list[TableRow]]:
        """Yield the keys of visits; those of people who were forgotten are gone."""
        book = self._book
        for start in range(0, self._visits, ROWS):
            keys = book.visit_order[start : min(start + ROWS, self._visits)]
            visits = [(key, book.visits[key]) for key in keys if key in book.visits]
            yield [(unit, key, arm, number) for key, (arm, number, unit) in visits]


def _full_pieces(found: Iterator[list[TableRow]]) -> Iterator[list[TableRow]]:
    """Yield the rows that were found, as many at a time but for the last ones; none where too few have been found yet.

    A piece with fewer would tell among whom somebody was who has been forgotten.
    """
    rows: list[TableRow] = []
    for more_rows in found:
        rows += more_rows
        full_rows = rows[:ROWS] if len(rows) >= ROWS else []
        del rows[: len(full_rows)]
        yield full_rows
    yield rows


def _block_row(key: tuple[int, int], pending: "PendingBlock") -> TableRow:
    is_full = pending.is_full
    return (*key, pending.first, pending.last, pending.until, pending.unanswered, is_full, int(pending.total))


def _piece(table: str, rows: list[TableRow]) -> Piece:
    """Return rows as columns, which are read quickest."""
    return {table: [list(column) for column in zip(*rows, strict=True)]}
