"""The book of an experiment in a database keeps the contract, however its steps are cut into transactions."""

import random
from contextlib import AbstractContextManager
from typing import Any

import pytest

from dpbandits.errors import BrokenContract
from dpbandits.live.book import Book, Place
from dpbandits.service.book_rows import BookRows
from dpbandits.service.database import Database
from dpbandits.service.sql_book import SqlBook
from dpbandits.service.store import Store
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


class Desk:
    """Makes books of experiments 1, 2, 3, ... and transactions between their steps.

    Args:
        database: where they are.
        commits: the share of steps after which a transaction is committed; after the others its changes are written, or
            still in memory.
        kind: of books.
    """

    def __init__(self, database: Database, commits: float, kind: type[SqlBook] = SqlBook) -> None:
        self._database = database
        self._commits = commits
        self._kind = kind
        self._dice = random.Random("desk")  # noqa: S311
        self._experiment = 0
        self._is_cumulative = False
        self._transaction: AbstractContextManager[Any] | None = None

    def book(self, arms: int, is_cumulative: bool) -> Book:
        """Return an empty book."""
        self.end()
        self._experiment += 1
        self._is_cumulative = is_cumulative
        return self._begun()

    def between(self, book: Book) -> Book:
        """End a step."""
        if self._dice.random() < self._commits:
            self.end()
            return self._begun()
        if self._dice.random() < 0.5:
            self._rows.write()
        return book

    def end(self) -> None:
        """Commit."""
        if self._transaction is not None:
            self._rows.write()
            self._transaction.__exit__(None, None, None)
            self._transaction = None

    def _begun(self) -> Book:
        self._transaction = self._database.writing()
        self._rows = BookRows(self._database, self._transaction.__enter__())
        return self._kind(self._rows, self._experiment, self._is_cumulative)


@pytest.mark.parametrize("commits", [1.0, 0.2])
def test_it_keeps_the_contract(store: Store, commits: float) -> None:
    desk = Desk(store.database, commits)
    scripts = 12 if store.database.is_sqlite else 6
    assert check_book(desk.book, between=desk.between, scripts=scripts).keys() >= KINDS - {"exhausted"}
    desk.end()


class CountsTheLastAnswerTwice(SqlBook):
    """A book with a mistake that shows in sums alone."""

    def answer(self, number: int, reward: Any, key: str | None) -> Place:
        return super().answer(number, reward and reward + (number == 7), key)


def test_a_mistake_in_a_sum_is_found(store: Store) -> None:
    desk = Desk(store.database, 1.0, CountsTheLastAnswerTwice)
    with pytest.raises(BrokenContract, match="releases"):
        check_book(desk.book, between=desk.between, scripts=5)
    desk.end()
