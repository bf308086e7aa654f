"""A book that is written down while steps go on is the book as it was when that began."""

import itertools
import random
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.live import book_snapshot
from dpbandits.live.memory_book import MemoryBook
from insides import learner_of
from shared_noise import SharedNoise

NAMES = {"blocks", "places", "people", "forgotten", "answers", "visits"}
Tables = dict[str, Any]


def tables_of(book: MemoryBook) -> Tables:
    """Return everything in a book, by looking at its attributes."""
    return {
        "sums": list(book.released_sums),
        "blocks": {
            key: (block.first, block.last, block.until, block.unanswered, block.is_full, block.total)
            for key, block in book.pending.items()
        },
        "places": dict(book.places),
        "people": dict(book.people),
        "forgotten": list(book.forgotten),
        "answers": dict(book.answer_keys),
        "visits": dict(book.visits),
    }


def without_the_forgotten(tables: Tables, forgotten: set[str]) -> Tables:
    """Their visits are gone from what is still to be written."""
    visits = {key: row for key, row in tables["visits"].items() if row[2] not in forgotten}
    return {**tables, "visits": visits}


class Crowd:
    """People who come and answer in any way."""

    def __init__(self, seed: int, window: float | None) -> None:
        self.dice = random.Random(seed)  # noqa: S311
        self.clock = 0.0
        policy = dpb.DPUCBInt(epsilon=20.0, delta=0.0, horizon=5000) if seed % 2 else dpb.DPIMED(epsilon=9.0)
        noise = SharedNoise(seed)
        self.bandit = dpb.Bandit(policy, 3, contributions=2, window=window, clock=lambda: self.clock, noise=noise)
        learner_of(self.bandit).units.key = "00" * 32
        self.forgotten: set[str] = set()

    @property
    def book(self) -> MemoryBook:
        book = learner_of(self.bandit).book
        assert isinstance(book, MemoryBook)
        return book

    def step(self) -> None:
        self.clock += self.dice.random()
        draw = self.dice.random()
        if draw < 0.5:
            key = f"visit {self.dice.randrange(9)}" if self.dice.random() < 0.3 else None
            self.bandit.assign(unit=f"person {self.dice.randrange(200)}", key=key)
        elif draw < 0.97:
            waiting = self.bandit.open_assignments()
            for a in self.dice.sample(waiting, min(len(waiting), self.dice.choice([1, 1, 4]))):
                self.bandit.close(a, self.dice.random(), key=a.id if self.dice.random() < 0.5 else None)
        else:
            unit = self.dice.choice([*self.book.people, "0" * 32])
            if unit in self.book.people:
                self.book.forget(unit)
                self.forgotten.add(unit)


@pytest.mark.parametrize("window", [None, 30.0])
@pytest.mark.parametrize("seed", range(6))
def test_steps_between_the_pieces_do_not_show(seed: int, window: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_snapshot, "ROWS", 7)
    monkeypatch.setattr(book_snapshot, "LOOKED_AT", 11)
    crowd = Crowd(seed, window)
    written = changed = 0
    for _ in range(12):
        for _ in range(crowd.dice.randrange(60)):
            crowd.step()
        expected = tables_of(crowd.book)
        crowd.forgotten.clear()
        fresh = MemoryBook(3, crowd.book._is_cumulative)
        for piece in crowd.book.pieces():
            fresh.take_piece(piece)
            written += 1
            for _ in range(crowd.dice.choice([0, 1, 3])):
                crowd.step()
        fresh.settle()
        found = tables_of(fresh)
        assert without_the_forgotten(found, crowd.forgotten) == without_the_forgotten(expected, crowd.forgotten)
        assert list(found["places"]) == sorted(expected["places"])
        changed += tables_of(crowd.book) != expected
    assert written > 100
    assert changed > 6


def test_a_snapshot_that_is_given_up_costs_nothing_more() -> None:
    crowd = Crowd(1, None)
    for _ in range(50):
        crowd.step()
    pieces = crowd.book.pieces()
    next(pieces)
    assert crowd.book._snapshot is not None
    pieces.close()  # type: ignore[attr-defined]
    assert crowd.book._snapshot is None


def test_a_snapshot_ends_where_another_one_is_begun() -> None:
    """What changes is noted for the newer one alone, so the older one would be of two moments."""
    crowd = Crowd(1, None)
    for _ in range(50):
        crowd.step()
    older = crowd.book.pieces()
    next(older)
    expected = tables_of(crowd.book)
    newer = crowd.book.pieces()
    pieces = [next(newer)]
    crowd.step()
    with pytest.raises(dpb.StepError, match="Another snapshot was begun"):
        next(older)
    for piece in newer:
        pieces.append(piece)
        crowd.step()
    fresh = MemoryBook(3, crowd.book._is_cumulative)
    for piece in pieces:
        fresh.take_piece(piece)
    fresh.settle()
    found = tables_of(fresh)
    assert without_the_forgotten(found, crowd.forgotten) == without_the_forgotten(expected, crowd.forgotten)


def test_what_a_batch_changes_is_noted_in_small_pieces() -> None:
    bandit = dpb.Bandit(dpb.recommended(epsilon=1.0), 2, contributions=2)
    assignments = bandit.assign_many(range(3000))
    source, book = learner_of(bandit).book, MemoryBook(2, False)
    assert isinstance(source, MemoryBook)
    expected = tables_of(source)
    pieces = source.pieces()
    book.take_piece(next(pieces))
    bandit.close_many([(a, 1.0) for a in assignments])
    bandit.assign_many(range(3000))
    for piece in pieces:
        assert max(map(len, itertools.chain.from_iterable(piece.values())), default=0) <= book_snapshot.ROWS
        book.take_piece(piece)
    book.settle()
    assert tables_of(book) == expected


def test_a_piece_is_small_however_much_there_is() -> None:
    book = MemoryBook(2, False)
    bandit = dpb.Bandit(dpb.recommended(epsilon=1.0), 2)
    bandit.assign_many(range(3000))
    source = learner_of(bandit).book
    assert isinstance(source, MemoryBook)
    sizes = []
    for piece in source.pieces():
        sizes.append(
            max(map(len, itertools.chain.from_iterable(piece.values())), default=0) if NAMES & piece.keys() else 0
        )
        book.take_piece(piece)
    assert max(sizes) == book_snapshot.ROWS
    assert len(book.people) == 3000
