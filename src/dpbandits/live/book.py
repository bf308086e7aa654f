"""Book: what grows without bound in a live bandit, and all that is secret: assignments, people, sums in flight.

The learner keeps what changes only with releases, and counts. It asks the book for a person, adds an assignment, has it
answered, and takes out blocks to release them. A book in memory (live/memory_book.py) and one in a database behave
alike; `dpbandits.testing.check_book` compares any book with an oracle, step by step.

A book decides nothing and checks nothing: it is asked only for what exists. Whoever takes a step holds the experiment
from the first call to the last, so nobody else changes the book in between. What it is given it keeps exactly: times
are doubles, sums whole numbers of up to 2^61. If a step fails, or what it has written cannot be kept, the learner knows
of something that did not happen: it is thrown away, and another one is made from what was kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from dpbandits.live.units import Visit

BlockKey = tuple[int, int]  # an arm, and the number of one of its blocks


class Place(NamedTuple):
    """What an assignment has: its arm, the block that its reward enters, and how long that is accepted."""

    arm: int
    block: int | None  # None if it enters nothing
    until: float | None = None  # by the clock; None for ever
    is_answered: bool = False

    def is_over(self, now: float | None) -> bool:
        """Tell whether its window is over: a reward comes too late."""
        return self.until is not None and now is not None and now >= self.until


class PastAssignment(NamedTuple):
    """What is remembered about a person: how often they entered, and their latest assignment."""

    entered: int
    arm: int
    number: int = 0  # of the assignment; 0 if it was made before numbers were kept


FORGOTTEN = PastAssignment(0, -1)  # what is left of a person who was forgotten: that they were here


@dataclass(slots=True)
class BlockSum:
    """A block that was taken out: what its release is of. The sum is secret, in the units of the noise source."""

    first: int  # the numbers of its first and last assignment
    last: int
    total: Any = field(repr=False)


class Book(Protocol):
    """Assignments, people and sums in flight. Numbers of assignments are 1, 2, 3, ...; people and keys are hashes."""

    def person(self, unit: str) -> PastAssignment | None:
        """Return what is remembered about a person: None if nothing, FORGOTTEN if they were forgotten."""

    def visit(self, visit: Visit) -> PastAssignment | None:
        """Return the assignment of a visit that has a key; None if it is new.

        The key is that of this person alone. Once the person was forgotten it is None.
        """

    def add(self, number: int, place: Place, visit: Visit, entered: int, fills: bool) -> None:
        """Keep a new assignment.

        Args:
            number: its number, the next one.
            place: its place.
            visit: the person and the key of the visit, where they are known. It is the person's latest one now.
            entered: how many rewards of the person have entered, with this one.
            fills: whether it takes the last place of its block.
        """

    def place(self, number: int) -> Place | None:
        """Return the place of an assignment.

        Where there is no window it is None once it was answered. Where there is one it is not, answered or not, until
        that is over, and None at some time after.
        """

    def answer_key(self, number: int) -> str | None:
        """Return the key with which an assignment was answered; None if it had none, or was not answered."""

    def answer(self, number: int, reward: Any, key: str | None) -> Place:
        """Add the reward of an open assignment to its block (None where it has none), and return its place."""

    def open_numbers(self, now: float | None) -> Sequence[int]:
        """Return the assignments that can still be answered, oldest first."""

    def has_all_answers(self, arm: int, block: int) -> bool:
        """Tell whether every assignment of a block, which is full and was not taken out, was answered."""

    def due(self, now: float) -> Sequence[BlockKey]:
        """Return the full blocks whose windows are over, in the order in which they were filled."""

    def awaited_arms(self) -> Iterable[int]:
        """Return the arms that have assignments in blocks."""

    def take_out(self, arm: int, block: int, missing: Any) -> BlockSum:
        """Take out the arm's next full block; an assignment without an answer counts as the reward `missing`.

        Where a release is of all rewards so far, the sum has those of all earlier blocks of the arm as well.
        """

    def forget(self, unit: str) -> None:
        """Cut every link between a known person and their assignments. That they were here is kept."""
