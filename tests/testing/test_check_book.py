"""The contract of books: ours keep it, written down and read again too, and every mistake of a book is found."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from dpbandits.errors import BrokenContract
from dpbandits.live.book import FORGOTTEN, BlockKey, BlockSum, Book, PastAssignment, Place
from dpbandits.live.memory_book import MemoryBook
from dpbandits.live.units import Visit
from dpbandits.testing import check_book

pytestmark = pytest.mark.slow

KINDS = {
    "assignments",
    "repetitions",
    "answers",
    "answers again",
    "late answers",
    "refused answers",
    "forgotten people",
    "releases",
    "exhausted",
}


def read_again(book: Book) -> Book:
    """Return a book that was written down and read again."""
    assert isinstance(book, MemoryBook)
    fresh = MemoryBook(len(book.released_sums), book._is_cumulative)
    for piece in list(book.pieces()):
        fresh.take_piece(json.loads(json.dumps(piece)))
    fresh.settle()
    return fresh


def test_a_book_in_memory_keeps_the_contract_and_scripts_have_everything_in_them() -> None:
    seen = check_book(MemoryBook, scripts=60)
    assert seen.keys() == KINDS
    assert min(seen.values()) >= 8


def test_a_book_that_is_written_down_between_all_steps_keeps_the_contract() -> None:
    assert check_book(MemoryBook, between=read_again, scripts=30).keys() == KINDS


class WrongBook(MemoryBook):
    """A book with one mistake."""


class CountsOneStepTooMuch(WrongBook):
    def answer(self, number: int, reward: Any, key: str | None) -> Place:
        return super().answer(number, reward and reward + 1, key)


class CountsAMissingAnswerAsNothing(WrongBook):
    def take_out(self, arm: int, block: int, missing: Any) -> BlockSum:
        return super().take_out(arm, block, 0)


class SumsEveryBlockAlone(WrongBook):
    def __init__(self, arms: int, is_cumulative: bool) -> None:
        super().__init__(arms, False)


class SumsAllBlocks(WrongBook):
    def __init__(self, arms: int, is_cumulative: bool) -> None:
        super().__init__(arms, True)


class TakesOutTheWrongRange(WrongBook):
    def take_out(self, arm: int, block: int, missing: Any) -> BlockSum:
        taken = super().take_out(arm, block, missing)
        return BlockSum(taken.first, min(taken.last, self.newest - 1), taken.total)


class IsDueTooEarly(WrongBook):
    def due(self, now: float) -> Sequence[BlockKey]:
        return super().due(now + 0.25)


class IsDueTooLate(WrongBook):
    def due(self, now: float) -> Sequence[BlockKey]:
        return super().due(now - 0.25)


class IsDueByArm(WrongBook):
    def due(self, now: float) -> Sequence[BlockKey]:
        return sorted(super().due(now))


class IsNeverDue(WrongBook):
    def due(self, now: float) -> Sequence[BlockKey]:
        return ()


class IsCompleteTooSoon(WrongBook):
    def has_all_answers(self, arm: int, block: int) -> bool:
        return self.pending[arm, block].unanswered <= 1


class ForgetsThatSomebodyWasHere(WrongBook):
    def forget(self, unit: str) -> None:
        super().forget(unit)
        del self.people[unit]


class ForgetsNobody(WrongBook):
    def forget(self, unit: str) -> None:
        pass


class ForgetsTheirRewards(WrongBook):
    def forget(self, unit: str) -> None:
        number = self.people[unit][2]
        super().forget(unit)
        self.places.pop(number, None)


class KeepsTheFirstAssignment(WrongBook):
    def person(self, unit: str) -> PastAssignment | None:
        latest = super().person(unit)
        return latest if latest in (None, FORGOTTEN) else latest._replace(number=max(1, latest.number - 1))


class CountsNobodysRewards(WrongBook):
    def add(self, number: int, place: Place, visit: Visit, entered: int, fills: bool) -> None:
        super().add(number, place, visit, 0, fills)


class KnowsAKeyFromAnybody(WrongBook):
    def visit(self, visit: Visit) -> PastAssignment | None:
        return PastAssignment(0, 0, 1) if self.visits else None


class KnowsNoVisit(WrongBook):
    def visit(self, visit: Visit) -> PastAssignment | None:
        return None


class KeepsTheVisitsOfTheForgotten(WrongBook):
    def forget(self, unit: str) -> None:
        visits = dict(self.visits)
        super().forget(unit)
        self.visits = visits


class RoundsTimesToMicroseconds(WrongBook):
    def add(self, number: int, place: Place, visit: Visit, entered: int, fills: bool) -> None:
        until = None if place.until is None else round(place.until, 6)
        super().add(number, place._replace(until=until), visit, entered, fills)


class KeepsSumsAsSingles(WrongBook):
    def answer(self, number: int, reward: Any, key: str | None) -> Place:
        place = super().answer(number, reward, key)
        if place.block is not None:
            pending = self.pending[place.arm, place.block]
            pending.total = int(np.float32(pending.total))
        return place


class KeepsSumsIn32Bits(WrongBook):
    def take_out(self, arm: int, block: int, missing: Any) -> BlockSum:
        taken = super().take_out(arm, block, missing)
        return BlockSum(taken.first, taken.last, taken.total & 0x7FFFFFFF)


class LosesKeysOfAnswers(WrongBook):
    def answer_key(self, number: int) -> str | None:
        return None


class HidesThatAnAnswerCame(WrongBook):
    def place(self, number: int) -> Place | None:
        place = super().place(number)
        return None if place is None else place._replace(is_answered=False)


class LetsGoOfPlacesTooEarly(WrongBook):
    def place(self, number: int) -> Place | None:
        place = super().place(number)
        return None if place is not None and place.is_answered else place


class ListsWhatIsOver(WrongBook):
    def open_numbers(self, now: float | None) -> Sequence[int]:
        return super().open_numbers(None)


class ListsInAnyOrder(WrongBook):
    def open_numbers(self, now: float | None) -> Sequence[int]:
        return list(super().open_numbers(now))[::-1]


class AwaitsNothing(WrongBook):
    def awaited_arms(self) -> Iterable[int]:
        return ()


@pytest.mark.parametrize("wrong", WrongBook.__subclasses__(), ids=lambda kind: kind.__name__)
def test_a_mistake_of_a_book_is_found(wrong: type[WrongBook]) -> None:
    with pytest.raises(BrokenContract, match=r"(At |, )step \d+ of script \d+"):
        check_book(wrong, scripts=60)


class LosesTheLastRow(MemoryBook):
    """Of every table, when it is written down."""

    def pieces(self) -> Iterator[dict[str, Any]]:
        sums, *tables = super().pieces()
        yield sums
        for piece in tables:
            yield {table: [column[:-1] for column in columns] for table, columns in piece.items()}


def test_a_book_that_loses_something_when_it_is_written_is_found() -> None:
    with pytest.raises(BrokenContract):
        check_book(LosesTheLastRow, between=read_again, scripts=5)
