"""SqlBook: the book of one experiment in a database, for as long as a transaction lasts."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select

from dpbandits.live.book import FORGOTTEN, BlockKey, BlockSum, PastAssignment, Place
from dpbandits.live.units import Visit
from dpbandits.service.book_rows import BookRows
from dpbandits.service.schema import assignments, blocks


class SqlBook:
    """Assignments, people and sums in flight of one experiment.

    Args:
        rows: of the transaction.
        experiment: its id.
        is_cumulative: whether a release is of all rewards of its arm so far.
    """

    def __init__(self, rows: BookRows, experiment: int, is_cumulative: bool) -> None:
        self._rows = rows
        self._experiment = experiment
        self._is_cumulative = is_cumulative

    def person(self, unit: str) -> PastAssignment | None:
        """Return what is remembered about a person: None if nothing, FORGOTTEN if they were forgotten."""
        return self._rows.person((self._experiment, unit))

    def visit(self, visit: Visit) -> PastAssignment | None:
        """Return the assignment of a visit that has a key; None if it is new."""
        assert visit.key is not None
        return self._rows.visit((self._experiment, visit.key))

    def add(self, number: int, place: Place, visit: Visit, entered: int, fills: bool) -> None:
        """Keep a new assignment."""
        self._rows.add(self._experiment, number, place, visit, entered, fills)

    def place(self, number: int) -> Place | None:
        """Return the place of an assignment; None where there is no window and it was answered."""
        place = self._rows.assignment((self._experiment, number)).place
        return None if place.until is None and place.is_answered else place

    def answer_key(self, number: int) -> str | None:
        """Return the key with which an assignment was answered."""
        return self._rows.assignment((self._experiment, number)).answer_key

    def answer(self, number: int, reward: Any, key: str | None) -> Place:
        """Add the reward of an open assignment to its block (None where it has none), and return its place."""
        return self._rows.answer(self._experiment, number, reward, key)

    def open_numbers(self, now: float | None) -> Sequence[int]:
        """Return the assignments that can still be answered, oldest first."""
        connection = self._written()
        can_be_answered = (assignments.c.experiment == self._experiment) & ~assignments.c.is_answered
        if now is not None:
            can_be_answered &= assignments.c.until.is_(None) | (assignments.c.until > now)
        found = connection.scalars(select(assignments.c.number).where(can_be_answered).order_by(assignments.c.number))
        return found.all()

    def has_all_answers(self, arm: int, block: int) -> bool:
        """Tell whether every assignment of a full block was answered."""
        return self._rows.has_all_answers((self._experiment, arm, block))

    def due(self, now: float) -> Sequence[BlockKey]:
        """Return the full blocks whose windows are over, in the order in which they were filled."""
        return self._rows.due(self._experiment, now)

    def awaited_arms(self) -> Iterable[int]:
        """Return the arms that have assignments in blocks."""
        found = select(blocks.c.arm).where(blocks.c.experiment == self._experiment).distinct()
        return self._written().scalars(found).all()

    def take_out(self, arm: int, block: int, missing: Any) -> BlockSum:
        """Take out the arm's next full block; an assignment without an answer counts as the reward `missing`."""
        return self._rows.take_out((self._experiment, arm, block), missing, self._is_cumulative)

    def forget(self, unit: str) -> None:
        """Cut every link between a known person and their assignments. That they were here is kept."""
        if self.person(unit) != FORGOTTEN:
            self._rows.forget((self._experiment, unit))

    def _written(self) -> Connection:
        self._rows.write()
        return self._rows.connection
