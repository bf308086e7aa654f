"""BookRows: what a transaction has read of assignments, people and blocks, and what it will write of them.

The books of all experiments that a transaction touches share one. What they need is read ahead, for all of them in one
statement of each kind, and so is everything written: the number of statements does not depend on how many steps or
experiments there are. Whatever was not read ahead is read when it is asked for.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from dpbandits.live.book import FORGOTTEN, BlockKey, BlockSum, PastAssignment, Place
from dpbandits.live.units import Visit
from dpbandits.service import book_statements as sql
from dpbandits.service.database import Database
from dpbandits.service.given_rows import Read, Write

NumberKey = tuple[int, int]  # an experiment, and the number of one of its assignments
HashKey = tuple[int, str]  # an experiment, and the hash of a person or of a visit
ArmKey = tuple[int, int]  # an experiment and one of its arms
BlockRowKey = tuple[int, int, int]  # an experiment, an arm, a block


@dataclass(slots=True)
class AssignmentRow:
    """An assignment as it will be when the transaction is committed."""

    place: Place = field(repr=False)
    answer_key: str | None = field(repr=False)


@dataclass(slots=True)
class BlockRow:
    """A block as it was read."""

    first: int
    last: int
    unanswered: int = field(repr=False)
    total: Any = field(repr=False)


@dataclass(slots=True)
class NewPlaces:
    """Assignments that a block gets in this transaction."""

    first: int
    last: int
    until: float | None
    count: int
    is_full: bool


@dataclass(slots=True)
class NewAnswers:
    """Answers that a block gets in this transaction."""

    count: int = field(default=0, repr=False)
    total: Any = field(default=0, repr=False)


@dataclass(slots=True)
class Wanted:
    """What is to be read ahead.

    Attributes:
        assignments: by their numbers.
        people: by their hashes; with their latest assignments.
        visits: by their keys.
        blocks: with the sums of what was released of their arms before.
        answered_blocks: arms of which to read the blocks in which no answer was missing before this transaction.
        due: experiments of which to read the blocks that are due, in the order in which they were filled.
        now: the time at which they are due.
    """

    assignments: Iterable[NumberKey] = ()
    people: Iterable[HashKey] = ()
    visits: Iterable[HashKey] = ()
    blocks: Iterable[BlockRowKey] = ()
    answered_blocks: Iterable[ArmKey] = ()
    due: Iterable[int] = ()
    now: float | None = None


class BookRows:
    """The rows of books in one transaction.

    Args:
        database: where they are.
        connection: in a transaction that may write.
    """

    def __init__(self, database: Database, connection: Connection) -> None:
        self._given = database.given
        self.connection = connection
        # As they will be: what was read, and what this transaction has done to it.
        self._assignments: dict[NumberKey, AssignmentRow] = {}
        self._people: dict[HashKey, PastAssignment | None] = {}
        self._visits: dict[HashKey, PastAssignment | None] = {}
        # As they are, None if they are not there, and what is new.
        self._blocks: dict[BlockRowKey, BlockRow | None] = {}
        self._new_places: dict[BlockRowKey, NewPlaces] = {}
        self._new_answers: dict[BlockRowKey, NewAnswers] = {}
        self._read_arms: set[ArmKey] = set()  # whose answered blocks were all read
        self._due: dict[int, list[BlockKey]] = {}
        self._sums: dict[ArmKey, Any] = {}
        # To be written.
        self._added: list[tuple[Any, ...]] = []
        self._answered: list[tuple[Any, ...]] = []
        self._taken_out: dict[BlockRowKey, None] = {}
        self._changed_sums: dict[ArmKey, Any] = {}
        self._forgotten: list[HashKey] = []

    # ---- read ahead

    def read_ahead(self, wanted: "Wanted") -> None:
        """Read at once what is not known yet."""
        reads = self.reads(wanted)
        if reads:
            self.take(reads, self._given.read(self.connection, reads))

    def reads(self, wanted: "Wanted") -> list[Read]:
        """Return the statements that read what is not known yet, for `take` to take in what they find."""
        experiments = [(number,) for number in wanted.due if number not in self._due]
        reads = [
            Read(sql.READ_ASSIGNMENTS, sql.NUMBER_COLUMNS, _missing(wanted.assignments, self._assignments)),
            Read(sql.READ_PEOPLE, sql.UNIT_COLUMNS, _missing(wanted.people, self._people)),
            Read(sql.READ_VISITS, sql.VISIT_COLUMNS, _missing(wanted.visits, self._visits)),
            Read(sql.READ_BLOCKS, sql.BLOCK_COLUMNS, _missing(wanted.blocks, self._blocks)),
            Read(sql.READ_ANSWERED_BLOCKS, sql.ARM_COLUMNS, _missing(wanted.answered_blocks, self._read_arms)),
            Read(sql.READ_DUE_BLOCKS, sql.EXPERIMENT_COLUMNS, experiments, wanted.now),
        ]
        return [read for read in reads if read.rows]

    def take(self, reads: Sequence[Read], results: Sequence[list[Any]]) -> None:
        """Take in what these statements have found."""
        takes = {
            sql.READ_ASSIGNMENTS: self._take_assignments,
            sql.READ_PEOPLE: self._take_people,
            sql.READ_VISITS: self._take_visits,
            sql.READ_BLOCKS: self._take_asked_blocks,
            sql.READ_ANSWERED_BLOCKS: self._take_answered_blocks,
            sql.READ_DUE_BLOCKS: self._take_due,
        }
        for read, found in zip(reads, results, strict=True):
            takes[read.statement](read.rows, found)

    def _take_assignments(self, _: Any, found: list[Any]) -> None:
        for experiment, number, *row in found:
            self._assignments.setdefault((experiment, number), _assignment_row(*row))

    def _take_people(self, _: Any, found: list[Any]) -> None:
        for experiment, unit, is_forgotten, number, entered, *row in found:
            if is_forgotten:
                self._people[experiment, unit] = FORGOTTEN
            elif number is None:
                self._people[experiment, unit] = None
            else:
                self._people[experiment, unit] = PastAssignment(entered, row[0], number)
                self._assignments.setdefault((experiment, number), _assignment_row(*row))

    def _take_visits(self, asked: Any, found: list[Any]) -> None:
        self._visits.update(dict.fromkeys(asked))
        for experiment, key, arm, number in found:
            self._visits[experiment, key] = PastAssignment(0, arm, number)

    def _take_asked_blocks(self, asked: Any, found: list[Any]) -> None:
        for key in asked:
            self._blocks.setdefault(key, None)
        self._take_blocks(found)

    def _take_answered_blocks(self, asked: Any, found: list[Any]) -> None:
        self._read_arms.update(asked)
        self._take_blocks(found)

    def _take_due(self, asked: Any, found: list[Any]) -> None:
        self._due.update((experiment, []) for (experiment,) in asked)
        for experiment, arm, block, *_ in found:
            self._due[experiment].append((arm, block))
        self._take_blocks(found)

    def _take_blocks(self, found: Iterable[Any]) -> None:
        for experiment, arm, block, first, last, unanswered, total, released in found:
            key = (experiment, arm, block)
            if self._blocks.get(key) is None and key not in self._taken_out:
                self._blocks[key] = BlockRow(first, last, unanswered, total)
            self._sums.setdefault((experiment, arm), released or 0)

    # ---- asked for by a book

    def assignment(self, key: NumberKey) -> AssignmentRow:
        """Return an assignment, which exists."""
        if key not in self._assignments:
            self.read_ahead(Wanted(assignments=[key]))
        return self._assignments[key]

    def person(self, key: HashKey) -> PastAssignment | None:
        """Return what is remembered about a person."""
        if key not in self._people:
            self.read_ahead(Wanted(people=[key]))
        return self._people[key]

    def visit(self, key: HashKey) -> PastAssignment | None:
        """Return the assignment of a visit."""
        if key not in self._visits:
            self.read_ahead(Wanted(visits=[key]))
        return self._visits[key]

    def unanswered_before(self, key: BlockRowKey) -> int:
        """Return how many assignments of a block had no answer when it was read."""
        block = self._blocks.get(key)
        return block.unanswered if block else 0

    def has_all_answers(self, key: BlockRowKey) -> bool:
        """Tell whether every assignment of a full block was answered."""
        if key not in self._blocks and key not in self._new_answers and key[:2] in self._read_arms:
            return False  # it would have been read
        return self._unanswered(key) == 0

    def _unanswered(self, key: BlockRowKey) -> int:
        block, places, answers = self._parts(key)
        return (block.unanswered if block else 0) + (places.count if places else 0) - answers.count

    def due(self, experiment: int, now: float) -> list[BlockKey]:
        """Return the blocks that are due, in the order in which they were filled."""
        if experiment not in self._due:
            self.write()  # what was filled here may be due
        self.read_ahead(Wanted(due=[experiment], now=now))
        return list(self._due[experiment])

    def _parts(self, key: BlockRowKey) -> tuple[BlockRow | None, NewPlaces | None, NewAnswers]:
        if key not in self._blocks:
            self.read_ahead(Wanted(blocks=[key]))
        return self._blocks[key], self._new_places.get(key), self._new_answers.get(key, _NO_ANSWERS)

    # ---- changed by a book

    def add(self, experiment: int, number: int, place: Place, visit: Visit, entered: int, fills: bool) -> None:
        """Add an assignment."""
        arm, block, until, is_answered = place
        self._assignments[experiment, number] = AssignmentRow(place, None)
        self._added.append((experiment, number, arm, block, until, visit.unit, entered, visit.key, is_answered, None))
        if visit.unit is not None:
            self._people[experiment, visit.unit] = PastAssignment(entered, arm, number)
        if visit.key is not None:
            self._visits[experiment, visit.key] = PastAssignment(0, arm, number)
        if block is None:
            return
        key = (experiment, arm, block)
        places = self._new_places.get(key)
        if places is None:
            self._new_places[key] = NewPlaces(number, number, until, 1, fills)
        else:
            places.last, places.until, places.is_full = number, until, fills
            places.count += 1
        if fills:
            self._due.pop(experiment, None)

    def answer(self, experiment: int, number: int, reward: Any, answer_key: str | None) -> Place:
        """Answer an assignment that is open, and return its place as it was."""
        row = self.assignment((experiment, number))
        place = row.place
        row.place, row.answer_key = place._replace(is_answered=True), answer_key
        self._answered.append((experiment, number, True, answer_key))
        if place.block is not None:
            answers = self._new_answers.setdefault((experiment, place.arm, place.block), NewAnswers())
            answers.count += 1
            answers.total += reward
        return place

    def take_out(self, key: BlockRowKey, missing: Any, is_cumulative: bool) -> BlockSum:
        """Take out a full block; with all that was released of its arm before, if sums are cumulative."""
        unanswered = self._unanswered(key)
        block, places, answers = self._parts(key)
        total = (block.total if block else 0) + answers.total + unanswered * missing
        experiment, arm, number = key
        if is_cumulative:
            arm_key = (experiment, arm)
            if arm_key not in self._sums:
                (((self._sums[arm_key],),),) = self._given.read(
                    self.connection, [Read(sql.READ_RELEASED_SUMS, sql.ARM_COLUMNS, [arm_key])]
                )
            total = self._sums[arm_key] = self._changed_sums[arm_key] = self._sums[arm_key] + total
        first = block.first if block else places.first if places else 0
        last = places.last if places else block.last if block else 0
        if block is not None:
            self._taken_out[key] = None
        self._blocks[key] = None
        self._new_places.pop(key, None)
        self._new_answers.pop(key, None)
        if experiment in self._due and (arm, number) in self._due[experiment]:
            self._due[experiment].remove((arm, number))
        return BlockSum(first, last, total)

    def forget(self, key: HashKey) -> None:
        """Cut the link between a person and their assignments."""
        self._people[key] = FORGOTTEN
        self._forgotten.append(key)
        self.write()
        self._visits.clear()  # those of this person are gone

    # ---- written

    def write(self, others: Iterable[Write] = ()) -> None:
        """Write all that has changed, each kind of it in one statement, and whatever else the transaction writes."""
        places = [
            (*key, new.first, new.last, new.until, new.count, new.is_full, 0) for key, new in self._new_places.items()
        ]
        answers = [(*key, new.count, new.total) for key, new in self._new_answers.items()]
        sums = [(*key, total) for key, total in self._changed_sums.items()]
        writes = [
            Write(sql.ADD_ASSIGNMENTS, sql.ASSIGNMENT_COLUMNS, self._added),
            Write(sql.ANSWER_ASSIGNMENTS, sql.ANSWER_COLUMNS, self._answered),
            Write(sql.APPEND_TO_BLOCKS, sql.BLOCK_ROW_COLUMNS, places),
            Write(sql.SUM_UP_BLOCKS, sql.SUM_COLUMNS, answers),
            Write(sql.TAKE_OUT_BLOCKS, sql.BLOCK_COLUMNS, list(self._taken_out)),
            Write(sql.KEEP_RELEASED_SUMS, sql.RELEASED_SUM_COLUMNS, sums),
            Write(sql.FORGET_PEOPLE, sql.UNIT_COLUMNS, self._forgotten),
            Write(sql.UNLINK_PEOPLE, sql.UNIT_COLUMNS, self._forgotten, is_exact=False),  # of as many as they had
        ]
        self._given.write(self.connection, (write for write in chain(writes, others) if write.rows))
        self._added, self._answered, self._forgotten = [], [], []
        self._new_places, self._new_answers, self._changed_sums, self._taken_out = {}, {}, {}, {}
        self._blocks.clear()
        self._read_arms.clear()
        self._due.clear()


def _missing(keys: Iterable[Any], known: Container[Any]) -> list[Any]:
    return sorted({key for key in keys if key not in known})


def _assignment_row(
    arm: int, block: int | None, until: float | None, is_answered: int, answer_key: str | None
) -> AssignmentRow:
    return AssignmentRow(Place(arm, block, until, bool(is_answered)), answer_key)


_NO_ANSWERS = NewAnswers()
