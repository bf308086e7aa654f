"""MemoryBook: the book of a `Bandit`, in dictionaries.

What it holds can be written down piece by piece while steps go on (live/book_snapshot.py).
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from dpbandits.errors import StepError
from dpbandits.live.book import FORGOTTEN, BlockKey, BlockSum, PastAssignment, Place
from dpbandits.live.book_snapshot import BookSnapshot, Piece, TableRow
from dpbandits.live.units import Visit

_DROPPED = 64  # past assignments that a look at the clock lets go of, besides two for every new one


@dataclass(slots=True)
class PendingBlock:
    """A block that is being filled and answered. The sum is secret."""

    first: int  # the numbers of its first and last assignment
    last: int
    until: float | None  # when the window of its last assignment is over
    unanswered: int
    is_full: bool
    total: Any = field(repr=False)


class MemoryBook:
    """Assignments, people and sums in flight, in memory.

    Args:
        arms: how many there are.
        is_cumulative: whether a release is of all rewards of its arm so far.
    """

    def __init__(self, arms: int, is_cumulative: bool) -> None:
        self._is_cumulative = is_cumulative
        # Of every arm, all that was released: the beginning of its next sum, where sums are of all rewards so far.
        self.released_sums: list[Any] = [0] * arms
        self.pending: dict[BlockKey, PendingBlock] = {}
        self._filled: deque[tuple[float, int, int]] = deque()  # full blocks by the end of their windows
        self._latest_places: list[Place | None] = [None] * arms
        self.places: dict[int, Place] = {}  # by number: all that are open and, with windows, those not over
        self.answer_keys: dict[int, str] = {}
        self.keyed_answers: list[int] = []  # the numbers of those with a key, in the order in which they came
        # Of every person, what PastAssignment has. The garbage collector passes over plain tuples of plain values; a
        # million NamedTuples would make it stop a step for a fifth of a second.
        self.people: dict[str, TableRow] = {}
        self.units: list[str] = []  # in the order in which they came
        self.forgotten: list[str] = []  # sorted, so that the order does not tell when they came
        self.visits: dict[str, TableRow] = {}  # by key: arm, number, person
        self.visit_keys: dict[str, list[str]] = {}  # of every person who has any
        self.visit_order: list[str] = []
        self.oldest = 1  # no place is older
        self.newest = 0
        self._newest_seen = 0  # by the latest look at the clock
        self._snapshot: BookSnapshot | None = None

    # ---- people

    def person(self, unit: str) -> PastAssignment | None:
        """Return what is remembered about a person: None if nothing, FORGOTTEN if they were forgotten."""
        row = self.people.get(unit)
        return None if row is None else PastAssignment(*row)

    def visit(self, visit: Visit) -> PastAssignment | None:
        """Return the assignment of a visit that has a key; None if it is new."""
        assert visit.key is not None
        row = self.visits.get(visit.key)
        return None if row is None else PastAssignment(0, *row[:2])

    def forget(self, unit: str) -> None:
        """Cut every link between a person and their assignments. That they were here is kept."""
        if self.people[unit] == FORGOTTEN:
            return
        self._note_person(unit)
        self.people[unit] = tuple(FORGOTTEN)
        insort(self.forgotten, unit)
        for key in self.visit_keys.pop(unit, ()):
            del self.visits[key]

    # ---- assignments

    def add(self, number: int, place: Place, visit: Visit, entered: int, fills: bool) -> None:
        """Keep a new assignment."""
        arm, block, until, _ = place
        unit, key = visit
        if unit is not None:
            if unit in self.people:
                self._note_person(unit)
            else:
                self.units.append(unit)
            self.people[unit] = (entered, arm, number)
        if key is not None:
            self._keep_visit(unit, key, arm, number)
        if not self.places:
            self.oldest = number
        self.newest = number
        # Of places that are the same, such as those of a block without windows, one is kept.
        latest_place = self._latest_places[arm]
        if latest_place != place:
            latest_place = self._latest_places[arm] = place
        self.places[number] = latest_place
        if block is None:
            return
        pending = self.pending.get((arm, block))
        if pending is None:
            self.pending[arm, block] = PendingBlock(number, number, until, 1, fills, 0)
        else:
            if self._snapshot is not None:
                self._snapshot.note_block((arm, block), pending)
            pending.last = number
            pending.until = until
            pending.unanswered += 1
            pending.is_full = fills
        if fills and until is not None:
            self._filled.append((until, arm, block))

    def place(self, number: int) -> Place | None:
        """Return the place of an assignment; None once nothing can be answered any more."""
        return self.places.get(number)

    def answer_key(self, number: int) -> str | None:
        """Return the key with which an assignment was answered."""
        return self.answer_keys.get(number)

    def answer(self, number: int, reward: Any, key: str | None) -> Place:
        """Add the reward of an open assignment to its block (None where it has none), and return its place."""
        place = self.places[number]
        if self._snapshot is not None:
            self._snapshot.note_place(number, place)
        arm, block, until, _ = place
        if until is None:
            del self.places[number]
        else:
            self.places[number] = place._replace(is_answered=True)
        if key is not None:
            self.answer_keys[number] = key
            self.keyed_answers.append(number)
        if block is not None:
            pending = self.pending[arm, block]
            if self._snapshot is not None:
                self._snapshot.note_block((arm, block), pending)
            pending.total = pending.total + reward
            pending.unanswered -= 1
        return place

    def open_numbers(self, now: float | None) -> Sequence[int]:
        """Return the assignments that can still be answered, oldest first."""
        return [number for number, place in self.places.items() if not place.is_answered and not place.is_over(now)]

    # ---- blocks

    def has_all_answers(self, arm: int, block: int) -> bool:
        """Tell whether every assignment of a full block was answered."""
        return self.pending[arm, block].unanswered == 0

    def due(self, now: float) -> Sequence[BlockKey]:
        """Return the full blocks whose windows are over, in the order in which they were filled."""
        self._drop_past(now)
        filled = self._filled
        while filled and filled[0][1:] not in self.pending:  # released before
            filled.popleft()
        if not filled or filled[0][0] > now:
            return ()
        is_over = takewhile(lambda entry: entry[0] <= now, filled)
        return [(arm, block) for _, arm, block in is_over if (arm, block) in self.pending]

    def awaited_arms(self) -> Iterable[int]:
        """Return the arms that have assignments in blocks."""
        return {arm for arm, _ in self.pending}

    def take_out(self, arm: int, block: int, missing: Any) -> BlockSum:
        """Take out the arm's next full block; an assignment without an answer counts as the reward `missing`."""
        pending = self.pending[arm, block]
        if self._snapshot is not None:
            self._snapshot.note_block((arm, block), pending)
        del self.pending[arm, block]
        total = pending.total
        if pending.unanswered:
            total = total + pending.unanswered * missing
        if self._is_cumulative:
            total = self.released_sums[arm] = self.released_sums[arm] + total
        return BlockSum(pending.first, pending.last, total)

    def _drop_past(self, now: float) -> None:
        """Let go of assignments whose windows are over, oldest first, a few at a time but faster than new ones come."""
        most = _DROPPED + 2 * (self.newest - self._newest_seen)
        self._newest_seen = self.newest
        for _ in range(most):
            if not self.places:
                return
            place = self.places.get(self.oldest)
            if place is not None:
                if place.until is None or place.until > now:
                    return
                if self._snapshot is not None:
                    self._snapshot.note_place(self.oldest, place)
                del self.places[self.oldest]
            self.oldest += 1

    # ---- written down

    def pieces(self) -> Iterator[Piece]:
        """Yield all of it, as it is when the first piece is asked for, in pieces that JSON can hold.

        Steps may go on between two of them. Of rows that speak of the same thing the first one is right. What changes
        is noted for one moment at a time: where pieces of another one are asked for, these end with an error.
        """
        snapshot = self._snapshot = BookSnapshot(self)
        try:
            for piece in snapshot.pieces():
                if self._snapshot is not snapshot:
                    raise StepError("Another snapshot was begun before this one had all its pieces.")
                yield piece
        finally:
            if self._snapshot is snapshot:
                self._snapshot = None

    def take_piece(self, piece: Piece) -> None:
        """Put a piece into a book that began empty, after all pieces before it."""
        take: dict[str, Callable[..., None]] = {
            "released_sums": self._take_released_sums,
            "blocks": self._take_blocks,
            "places": self._take_places,
            "people": self._take_people,
            "forgotten": self._take_forgotten,
            "answers": self._take_answers,
            "visits": self._take_visits,
        }
        for table, columns in piece.items():
            take[table](*columns)

    def settle(self) -> None:
        """End taking pieces: put everything into its order."""
        self.places = dict(sorted(self.places.items()))
        self.oldest = next(iter(self.places), 1)
        self._newest_seen = self.newest
        full_blocks = ((block.until, block.last, key) for key, block in self.pending.items() if block.is_full)
        self._filled = deque((until, *key) for until, _, key in sorted(full_blocks) if until is not None)

    def _take_released_sums(self, *sums: int) -> None:
        self.released_sums = list(sums)

    def _take_blocks(self, *columns: list[Any]) -> None:
        for arm, block, first, last, until, unanswered, is_full, total in zip(*columns, strict=True):
            self.pending.setdefault((arm, block), PendingBlock(first, last, until, unanswered, is_full, total))
            self.newest = max(self.newest, last)

    def _take_places(self, *columns: list[Any]) -> None:
        for number, arm, block, until, is_answered in zip(*columns, strict=True):
            self.places.setdefault(number, Place(arm, block, until, is_answered))
            self.newest = max(self.newest, number)

    def _take_people(self, *columns: list[Any]) -> None:
        for unit, entered, arm, number in zip(*columns, strict=True):
            if unit not in self.people:
                self.people[unit] = (entered, arm, number)
                self.units.append(unit)
                self.newest = max(self.newest, number)

    def _take_forgotten(self, units: list[str]) -> None:
        self.people.update((unit, tuple(FORGOTTEN)) for unit in units)
        self.forgotten.extend(units)

    def _take_answers(self, *columns: list[Any]) -> None:
        for number, key in zip(*columns, strict=True):
            if number not in self.answer_keys:
                self.answer_keys[number] = key
                self.keyed_answers.append(number)

    def _take_visits(self, *columns: list[Any]) -> None:
        for unit, key, arm, number in zip(*columns, strict=True):
            self._keep_visit(unit, key, arm, number)

    def _keep_visit(self, unit: str | None, key: str, arm: int, number: int) -> None:
        self.visits[key] = (arm, number, unit)
        self.visit_order.append(key)
        if unit is not None:
            self.visit_keys.setdefault(unit, []).append(key)

    def _note_person(self, unit: str) -> None:
        if self._snapshot is not None:
            self._snapshot.note_person(unit, PastAssignment(*self.people[unit]))
