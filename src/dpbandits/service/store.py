"""Store: a database of experiments with the marks that show that it is the newest one."""

import os
import shlex
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, insert, select

from dpbandits._frames import clean
from dpbandits._validate import value_text
from dpbandits.errors import DatabaseError, InvalidInput
from dpbandits.service.database import Clock, Database
from dpbandits.service.marks import OLD_COPY, Mark, Marks, check_mark
from dpbandits.service.schema import experiments, ledger, own_marks, progress
from dpbandits.service.schema_version import prepare_tables, stored_version


class Store:
    """A database and its marks.

    Args:
        database: a file for SQLite, or a URL (see `Database`).
        state: the folder of the marks, which all hosts that write the database share. By default the marks of a file
            are beside it; for PostgreSQL there is no default.
        clock: tells the time in seconds, for tests; by default the database does.

    Raises:
        DatabaseError: the database cannot be reached or has other tables, is behind its marks, or they are not its own.
            Nothing has changed.
    """

    @clean
    def __init__(
        self,
        database: str | os.PathLike[str],
        state: str | os.PathLike[str] | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.database = Database(database, clock=clock)
        self._marks: Marks | None = None
        try:
            path = path_of_marks(self.database, state)
            check_not_emptied(self.database, path)
            prepare_tables(self.database)
            self.database.use()
            self._marks = own_marks_at(path, self.database)
            check_marks(self.database, self.marks)
        except BaseException:
            self.close()
            raise

    @property
    def marks(self) -> Marks:
        """The marks of the experiments in it."""
        assert self._marks is not None
        return self._marks

    def close(self) -> None:
        """Let go of the database and its marks."""
        if self._marks is not None:
            self._marks.close()
        self.database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def path_of_marks(database: Database, state: str | os.PathLike[str] | None) -> Path:
    """Return where the marks of a database are."""
    if state is not None:
        if not isinstance(state, str | os.PathLike) or not str(state) or not Path(state).is_dir():
            raise InvalidInput(f"Expected state={value_text(state)} to be a folder.")
        folder = Path(state)
        return folder / "marks"
    if database.path is None:
        raise InvalidInput(
            "Expected state=None to be a folder: with PostgreSQL, the marks that show whether the database is the "
            "newest are kept outside of it. All hosts that write it share one."
        )
    return database.path.with_name(f"{database.path.name}.marks")


def check_not_emptied(database: Database, path: Path) -> None:
    """Refuse an empty database whose marks say that it had experiments, before anything is made in it."""
    if not path.exists():
        return
    if database.path is None or (database.path.exists() and database.path.stat().st_size):
        with database.reading() as connection:
            if stored_version(connection) is not None:
                return
    with closing(Marks(path)) as marks:
        if marks.slots:
            raise DatabaseError(
                f"The database {database.name} is empty, and {path} has marks of experiments. If they were in this "
                "database, put it back before anything uses it. If these are the marks of another one, give this one a "
                "folder of its own (--state)."
            )


def own_marks_at(path: Path, database: Database) -> Marks:
    """Return the marks of a database; new ones, which it will know, if it has had none and nothing to be marked."""
    with database.writing() as connection:
        database.hold(connection)
        known = registered_marks(connection)
        has_begun = connection.scalar(select(experiments.c.id).limit(1)) is not None
        if known is None and not has_begun:
            marks = Marks(path)
            if marks.slots:
                marks.close()
                raise DatabaseError(others_marks_text(path, database))
            register_marks(connection, marks)
            return marks
    if not path.exists():
        raise DatabaseError(missing_marks_text(path, database, known))
    marks = Marks(path)
    if known is None or marks.identity != known.identity:
        marks.close()
        raise DatabaseError(others_marks_text(path, database))
    return marks


class OwnMarks(NamedTuple):
    """What a database knows of its marks."""

    identity: str
    path: str


def registered_marks(connection: Connection) -> OwnMarks | None:
    """Return the marks that a database knows as its own."""
    found = connection.execute(select(own_marks.c.identity, own_marks.c.path)).first()
    return None if found is None else OwnMarks(*found)


def register_marks(connection: Connection, marks: Marks) -> None:
    """Let a database know its marks, and no others."""
    connection.execute(delete(own_marks))
    connection.execute(insert(own_marks).values(one=1, identity=marks.identity, path=str(marks.path)))


def missing_marks_text(path: Path, database: Database, known: OwnMarks | None) -> str:
    """Return what is said where the marks of a database should be, and are not."""
    where = "" if known is None else f" They were at {known.path}."
    return (
        f"The marks of the database {database.name} are not at {path}.{where} They show whether it is the newest: give "
        "the folder where they are (--state), which all hosts that write it share. If they are lost, and this database "
        f"is the newest, run `dpbandits marks adopt --database {shlex.quote(database.name)}`."
    )


def others_marks_text(path: Path, database: Database) -> str:
    """Return what is said where the marks of another database are."""
    return (
        f"{path} has the marks of another database than {database.name}. Every database needs a folder of its own for "
        "them (--state). If that other one is gone, move the file away."
    )


def stored_marks(connection: Connection) -> dict[int, tuple[str, Mark]]:
    """Return how far every experiment has come in the database, with its name."""
    is_own = progress.c.experiment == experiments.c.id
    is_last = and_(ledger.c.experiment == experiments.c.id, ledger.c.number == progress.c.ledger_rows - 1)
    columns = [experiments.c.id, experiments.c.name, experiments.c.identity, progress.c.version, progress.c.ledger_rows]
    found = connection.execute(
        select(*columns, ledger.c.hash)
        .select_from(experiments)
        .join(progress, is_own)
        .join(ledger, is_last, isouter=True)
    )
    return {row.id: (row.name, Mark(row.identity, row.version, row.ledger_rows, row.hash)) for row in found}


def check_marks(database: Database, marks: Marks) -> None:
    """Refuse a database in which an experiment is behind its mark, or is missing altogether.

    Where it is ahead, since a process was killed after a commit, the mark is raised.
    """
    known: Mapping[int, Mark] = marks.all()
    with database.reading() as connection:
        stored = stored_marks(connection)
    for number, (name, mark) in stored.items():
        check_mark(mark, known.get(number), name)
    missing = [number for number, mark in known.items() if number not in stored and not mark.is_closed]
    if missing:
        raise DatabaseError(f"Experiment {missing[0]} is missing, of which there is a mark. {OLD_COPY}")
    ahead = {
        number: mark
        for number, (_, mark) in stored.items()
        if mark.head is not None and (number not in known or known[number].version < mark.version)
    }
    if ahead:
        marks.raise_to(ahead, durable=True)
