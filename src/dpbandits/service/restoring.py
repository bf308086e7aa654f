"""Restoring: what a database that is behind its marks has lost, and going on from it all the same.

Its experiments that are behind release nothing any more, since what they would draw may have been released before. The
ids of their assignments begin with another tag, so that no answer enters a block that is not the one it was meant for.
"""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, insert, update

from dpbandits._frames import clean
from dpbandits.errors import DatabaseError
from dpbandits.live.restoration import exhausted_counts, restoration_content
from dpbandits.mechanisms import SecureNoise
from dpbandits.service.book_rows import BookRows
from dpbandits.service.database import Database
from dpbandits.service.experiment_rows import locked_rows, open_experiments
from dpbandits.service.marks import Mark, Marks, check_mark
from dpbandits.service.schema import assignments, blocks, experiments, ledger, progress, released_sums
from dpbandits.service.schema_version import check_tables
from dpbandits.service.store import (
    OwnMarks,
    others_marks_text,
    path_of_marks,
    register_marks,
    registered_marks,
    stored_marks,
)


@dataclass(frozen=True)
class Behind:
    """An experiment that a database has as it was before.

    Attributes:
        id: its number.
        name: what people call it; None if the database does not know it.
        stored: how far it has come in the database; None if it does not know it.
        marked: how far it had come; None if that is not known.
    """

    id: int
    name: str | None
    stored: Mark | None
    marked: Mark | None

    @property
    def missing_releases(self) -> int | None:
        """How many releases are missing; None if that is not known."""
        if self.marked is None or self.stored is None or self.marked.identity != self.stored.identity:
            return None
        return max(self.marked.rows - self.stored.rows, 0)


class Repair:
    """A database and its marks, while nobody else uses them.

    Args:
        database: a file for SQLite, or a URL.
        state: the folder of the marks, as for a `Store`.

    Attributes:
        has_marks: whether the marks are there and its own.
    """

    @clean
    def __init__(self, database: str | os.PathLike[str], state: str | os.PathLike[str] | None = None) -> None:
        self.database = Database(database, must_exist=True)
        self._marks: Marks | None = None
        try:
            self.path = path_of_marks(self.database, state)
            check_tables(self.database)
            with self.database.reading() as connection:
                known = registered_marks(connection)
            self.database.use(alone=True)
            if self.path.exists():
                self._marks = Marks(self.path)
            self.has_marks = self._marks is not None and known is not None and self._marks.identity == known.identity
            if not self.has_marks and known is not None:
                _check_lost(known, self.path)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of both."""
        if self._marks is not None:
            self._marks.close()
        self.database.close()

    def __enter__(self) -> "Repair":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @clean
    def behind(self) -> list[Behind]:
        """Return the experiments that are behind their marks, and all that have changed where there are no marks."""
        known = self._marks.all() if self._marks is not None and self.has_marks else {}
        with self.database.reading() as connection:
            stored = stored_marks(connection)
        found = [
            Behind(number, name, mark, known.get(number))
            for number, (name, mark) in stored.items()
            if _is_behind(mark, known.get(number), name)
        ]
        found += [
            Behind(number, None, None, mark)
            for number, mark in known.items()
            if number not in stored and not mark.is_closed
        ]
        return sorted(found, key=lambda each: each.id)

    @clean
    def accept(self) -> list[Behind]:
        """Go on from the database as it is, and return the experiments that will release nothing any more."""
        self._check_marks_are_free()
        found = self.behind()
        with self.database.writing() as connection:
            _exhaust(self.database, connection, [each for each in found if each.stored is not None])
            marks = self._registered(connection)
        with self.database.reading() as connection:
            stored = stored_marks(connection)
        marks.overwrite(
            {number: mark for number, (_, mark) in stored.items()}
            | {each.id: each.marked._replace(is_closed=True) for each in found if each.stored is None and each.marked}
        )
        return found

    @clean
    def adopt(self) -> int:
        """Take the database for the newest one and write its marks, and return how many experiments there are.

        Raises:
            DatabaseError: its own marks are there, or the file has those of another database.
        """
        if self.has_marks:
            raise DatabaseError(
                f"{self.path} has the marks of this database already. If they say that it is behind, run "
                "`dpbandits restore`."
            )
        self._check_marks_are_free()
        with self.database.writing() as connection:
            marks = self._registered(connection)
            stored = stored_marks(connection)
        marks.overwrite({number: mark for number, (_, mark) in stored.items()})
        return len(stored)

    def _check_marks_are_free(self) -> None:
        if not self.has_marks and self._marks is not None and self._marks.slots:
            raise DatabaseError(others_marks_text(self.path, self.database))

    def _registered(self, connection: Connection) -> Marks:
        """Return the marks, new ones if need be, which the database knows from now on."""
        if self._marks is None:
            self._marks = Marks(self.path)
        register_marks(connection, self._marks)
        return self._marks


def _check_lost(known: OwnMarks, path: Path) -> None:
    """Refuse to do without the marks of a database that are where it says, and may be in use."""
    if Path(known.path) == path or not Path(known.path).exists():
        return
    marks = Marks(known.path)
    marks.close()
    if marks.identity == known.identity:
        is_in_folder = Path(known.path).name == "marks"
        advice = "give that folder (--state)" if is_in_folder else f"if it was moved, move them to {path}"
        raise DatabaseError(f"The marks of this database are at {known.path}: {advice}.")


def _is_behind(stored: Mark, known: Mark | None, name: str) -> bool:
    try:
        check_mark(stored, known, name)
    except DatabaseError:
        return True
    return False


def _exhaust(database: Database, connection: Connection, found: list[Behind]) -> None:
    """End all releases of experiments, and let no answer in that was meant for the lost ones."""
    rows = BookRows(database, connection)
    locked, _, _ = locked_rows(database, connection, [each.id for each in found])
    opened, unreadable = open_experiments(
        database, connection, locked, {}, rows, lambda name, grid_bits: SecureNoise(grid_bits)
    )
    for problem in unreadable.values():
        raise problem
    for each in found:
        experiment, stored = opened[each.id], each.stored
        assert stored is not None
        learner = experiment.learner
        if not learner.is_restored:
            row = learner.ledger.append(restoration_content(each.missing_releases))
            values = {"number": row.number, "content": row.content_json, "hash": row.hash}
            connection.execute(insert(ledger).values(experiment=each.id, decisions=learner.counts.decisions, **values))
        connection.execute(
            update(experiments).where(experiments.c.id == each.id).values(tag=secrets.token_hex(len(learner.tag) // 2))
        )
        connection.execute(
            update(progress)
            .where(progress.c.experiment == each.id)
            .values(
                version=max(stored.version, each.marked.version if each.marked else 0) + 1,
                ledger_rows=len(learner.ledger),
                counts=json.dumps(exhausted_counts(learner.counts, int(learner.counts.horizon))),
            )
        )
        for table in (blocks, released_sums):
            connection.execute(delete(table).where(table.c.experiment == each.id))
        connection.execute(update(assignments).where(assignments.c.experiment == each.id).values(block=None))
