"""The book in memory: sums in flight, who has which assignment, and all of it written down and read again."""

import json
import math
from typing import Any

import pytest

from dpbandits.live.blocks import Schedule
from dpbandits.live.book import FORGOTTEN, BlockSum, PastAssignment, Place
from dpbandits.live.counts import Counts
from dpbandits.live.memory_book import MemoryBook, PendingBlock
from dpbandits.live.ready_blocks import ReadyBlocks
from dpbandits.live.units import Visit
from dpbandits.policies import Block

SINGLE = [Block(1, 2, 1.0), Block(3, 5, 1.0), Block(6, 9, 1.0)]
CUMULATIVE = [Block(1, 2, 1.0), Block(1, 5, 2.0), Block(1, 9, 3.0)]
NOBODY = Visit(None, None)
MISSING = 0  # what an assignment without an answer counts as


class Filled:
    """A book of two arms, with the counts that tell which place is next."""

    def __init__(self, blocks: list[Block]) -> None:
        schedule = Schedule(lambda: iter(blocks))
        self.counts = Counts(2, schedule, math.inf)
        self.book = MemoryBook(2, schedule.is_cumulative)

    def taken(self, *arms: int) -> list[int]:
        """Give the next places of these arms to the next assignments, and return their blocks."""
        blocks = []
        for arm in arms:
            block = self.counts.free_block(arm)
            assert block is not None
            number = self.counts.assign(arm, is_decision=True)
            self.book.add(number, Place(arm, block), NOBODY, 1, self.counts.fills(arm, block))
            self.counts.take(arm, block)
            blocks.append(block)
        return blocks

    def complete(self, arm: int) -> list[int]:
        """Return the arm's next blocks that are full and answered."""
        ready = ReadyBlocks(self.counts, self.book)
        ready.add_complete(arm)
        assert all(of_arm == arm for of_arm, _ in ready.blocks)
        return [block for _, block in ready.blocks]

    def taken_out(self, arm: int) -> BlockSum:
        block = self.counts.released[arm]
        self.counts.released[arm] += 1
        return self.book.take_out(arm, block, MISSING)


def written(book: MemoryBook) -> list[Any]:
    pieces: list[Any] = json.loads(json.dumps(list(book.pieces())))
    return pieces


def read(pieces: list[Any], *, is_cumulative: bool = False) -> MemoryBook:
    book = MemoryBook(2, is_cumulative)
    for piece in pieces:
        book.take_piece(piece)
    book.settle()
    return book


@pytest.mark.parametrize(("blocks", "totals"), [(SINGLE, [3, 28]), (CUMULATIVE, [3, 31])], ids=["single", "cumulative"])
def test_a_block_is_complete_when_all_of_it_and_all_before_it_are_answered(
    blocks: list[Block], totals: list[int]
) -> None:
    filled = Filled(blocks)
    filled.taken(0, 0, 0, 0, 0)
    for number, reward in ((3, 4), (4, 8), (5, 16), (1, 1)):
        filled.book.answer(number, reward, None)
        assert filled.complete(0) == []
    filled.book.answer(2, 2, None)
    assert filled.complete(0) == [0, 1]
    assert filled.complete(1) == []
    sums = [filled.taken_out(0) for _ in range(2)]
    assert [(each.first, each.last, each.total) for each in sums] == [(1, 2, totals[0]), (3, 5, totals[1])]
    assert filled.complete(0) == []
    filled.taken(1, 1)
    assert filled.complete(1) == []
    for number in (6, 7):
        filled.book.answer(number, 0, None)
    assert filled.complete(1) == [0]


def test_a_block_that_is_being_filled_is_not_complete() -> None:
    filled = Filled(SINGLE)
    filled.taken(0)
    filled.book.answer(1, 5, None)
    assert filled.complete(0) == []
    filled.taken(0)
    assert not filled.book.has_all_answers(0, 0)
    filled.book.answer(2, 6, None)
    assert filled.complete(0) == [0]


def test_a_place_is_gone_when_it_was_answered() -> None:
    filled = Filled(SINGLE)
    filled.taken(0, 1)
    filled.book.add(3, Place(1, None), NOBODY, 0, False)
    assert [filled.book.place(number) for number in (1, 2, 3, 4)] == [Place(0, 0), Place(1, 0), Place(1, None), None]
    assert filled.book.answer(1, 5, "k") == Place(0, 0)
    assert filled.book.answer(3, None, None) == Place(1, None)
    assert [filled.book.place(number) for number in (1, 2, 3)] == [None, Place(1, 0), None]
    assert [filled.book.answer_key(number) for number in (1, 2, 3)] == ["k", None, None]
    assert filled.book.open_numbers(None) == [2]
    assert filled.book.awaited_arms() == {0, 1}  # that of arm 0 is answered, and in a block that is not full


@pytest.mark.parametrize("batch", [1, 50, 1000])
def test_places_whose_windows_are_over_do_not_pile_up(batch: int) -> None:
    """However many are assigned between two looks at the clock, answered or not."""
    book = MemoryBook(1, False)
    number = 0
    for time in range(5000 // batch):
        for _ in range(batch):
            number += 1
            book.add(number, Place(0, None, time + 2.5), NOBODY, 0, False)
        book.answer(number, None, None)
        book.due(float(time))
        assert len(book.places) <= 3 * batch + 1
        assert book.place(number) == Place(0, None, time + 2.5, True)


def test_full_blocks_that_were_released_before_they_were_due_do_not_pile_up() -> None:
    book = MemoryBook(1, is_cumulative=False)
    for number in range(1, 101):
        book.add(number, Place(0, number, until=60.0), NOBODY, 1, fills=True)
        book.answer(number, 1, None)
        book.take_out(0, number, MISSING)
        assert book.due(0.0) == ()
    assert len(book._filled) == 0


def test_nothing_is_remembered_of_people_without_a_name() -> None:
    book = MemoryBook(2, False)
    book.add(1, Place(0, 0), NOBODY, 1, False)
    book.add(2, Place(1, 0), Visit(None, "k"), 1, False)
    assert book.people == {}
    assert book.visit(Visit(None, "k")) == PastAssignment(0, 1, 2)
    assert book.visit(Visit(None, "l")) is None


def test_of_a_person_the_latest_assignment_is_remembered() -> None:
    book = MemoryBook(2, False)
    assert book.person("p") is None
    book.add(11, Place(1, None), Visit("p", None), 0, False)
    assert book.person("p") == PastAssignment(0, 1, 11)
    book.add(12, Place(0, 0), Visit("p", "k"), 1, False)
    assert book.person("p") == PastAssignment(1, 0, 12)
    book.forget("p")
    assert book.person("p") == FORGOTTEN
    assert book.visit(Visit("p", "k")) is None


def test_a_book_comes_back_from_json() -> None:
    filled = Filled(CUMULATIVE)
    filled.taken(0, 0, 0, 1)
    for number, reward in ((1, 1), (2, 2)):
        filled.book.answer(number, reward, f"key {number}")
    filled.taken_out(0)
    filled.book.answer(3, 4, None)
    pieces = written(filled.book)
    again = Filled(CUMULATIVE)
    again.counts.restore(filled.counts.snapshot())
    again.book = read(pieces, is_cumulative=True)
    assert written(again.book) == pieces
    for each in (filled, again):
        assert each.taken(0, 0, 0) == [1, 1, 2]
        for number in (5, 6):
            each.book.answer(number, 8, None)
        assert each.complete(0) == [1]
        assert each.taken_out(0).total == 1 + 2 + 4 + 8 + 8
        assert [each.book.answer_key(number) for number in (1, 2, 3)] == ["key 1", "key 2", None]
        assert each.book.open_numbers(None) == [4, 7]


def test_people_and_visits_come_back_from_json() -> None:
    book = MemoryBook(2, False)
    book.add(1, Place(0, 0), Visit("p", "k"), 1, False)
    book.add(2, Place(1, 0), Visit("q", None), 1, False)
    book.add(3, Place(0, 0), Visit("p", "l"), 2, False)
    book.add(4, Place(0, 0), Visit(None, "n"), 1, False)
    book.forget("q")
    again = read(written(book))
    for each in (book, again):
        assert (each.person("p"), each.person("q")) == (PastAssignment(2, 0, 3), FORGOTTEN)
        assert each.visit(Visit("p", "k")) == PastAssignment(0, 0, 1)
        assert each.visit(Visit("p", "l")) == PastAssignment(0, 0, 3)
        assert each.visit(Visit(None, "n")) == PastAssignment(0, 0, 4)
        assert each.visit(Visit("p", "m")) is None
    assert written(again) == written(book)


def test_a_sum_in_flight_is_not_printed() -> None:
    assert "271828" not in repr(PendingBlock(1, 2, None, 0, True, 271828))
    assert "271828" not in repr(BlockSum(1, 2, 271828))
    book = MemoryBook(1, True)
    book.add(1, Place(0, 0), NOBODY, 1, True)
    book.answer(1, 271828, None)
    book.released_sums[0] = 314159
    for thing in (book, book.pending):
        assert not any(secret in repr(thing) for secret in ("271828", "314159"))
