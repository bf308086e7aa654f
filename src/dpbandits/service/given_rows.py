"""Given rows: many rows handed to one statement. Here, and nowhere else, the two kinds of database differ in their SQL.

Where a statement says `{given}` it gets a table of the rows, called `given`. It is made of one JSON text, which is the
same statement for any number of rows. PostgreSQL gets statements that do not wait for each other in a pipeline, each as
soon as it is made: if they come from a generator, it works on the first ones while the others are made. SQLite goes
through the rows of a statement that writes in C (`executemany`): its JSON does not keep every float.

Of 16 rows (microseconds each; benchmarks/store_choices.py), SQLite writes one in 1.7 by `executemany` or `VALUES` and
in 2.3 by JSON; it reads one in 1.2 by a join with `VALUES`, whose text changes with the number of rows, 2.0 with JSON,
and 2.3 one by one. PostgreSQL writes one in 12.5 by JSON, 15.2 by arrays (`unnest`), which its driver makes in Python,
and 16.3 by `executemany`. Statements go straight to the driver: SQLAlchemy describes every result anew.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, Protocol

import psycopg
from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql

from dpbandits.errors import StepError

Rows = Sequence[Sequence[Any]]
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class Read(NamedTuple):
    """A statement that finds something for all of its rows.

    Attributes:
        statement: SQL with `{given}` in it, `{now}` behind that if it needs the time, `{locked}` where it locks rows of
            `progress` and `experiments`, and `{clock}` for the time that a server tells, null in a file.
        columns: of a table, whose names and types the given rows have.
        rows: plain values, whole numbers and text alone.
        now: the time, where the statement needs it.
    """

    statement: str
    columns: tuple[Any, ...]
    rows: Rows
    now: float | None = None


class Write(NamedTuple):
    """A statement that writes all of its rows.

    Attributes:
        statement: SQL with `FROM {given}` or `USING {given}` in it, and columns of the rows as `given.column`.
        columns: of a table, whose names and types the given rows have.
        rows: plain values.
        is_exact: whether it must change one row of a table for every row that is given.
    """

    statement: str
    columns: tuple[Any, ...]
    rows: Rows
    is_exact: bool = True


class GivenRows(Protocol):
    """How a kind of database is given rows."""

    def read(self, connection: Connection, reads: Iterable[Read]) -> list[list[Any]]:
        """Return what each of these statements finds, in a transaction."""

    def write(self, connection: Connection, writes: Iterable[Write]) -> None:
        """Write, in a transaction, and raise StepError if a row was not there that had to be."""


class SQLiteRows:
    """Given rows in SQLite."""

    def read(self, connection: Connection, reads: Iterable[Read]) -> list[list[Any]]:
        """Return what each of these statements finds, in a transaction."""
        driver = _driver(connection)
        found = []
        for statement, columns, rows, now in reads:
            times = () if now is None else (now,)
            sql = _sqlite_reading(statement, columns)
            found.append(driver.execute(sql, (_JSON.encode(rows), *times)).fetchall())
        return found

    def write(self, connection: Connection, writes: Iterable[Write]) -> None:
        """Write, in a transaction, and raise StepError if a row was not there that had to be."""
        driver = _driver(connection)
        for write in writes:
            sql = _sqlite_writing(write.statement, write.columns)
            _check_changed(write, driver.executemany(sql, write.rows).rowcount)


class PostgreSQLRows:
    """Given rows in PostgreSQL."""

    def read(self, connection: Connection, reads: Iterable[Read]) -> list[list[Any]]:
        """Return what each of these statements finds, in a transaction."""
        driver = _driver(connection)
        with _pipeline(driver):
            cursors = []
            for statement, columns, rows, now in reads:
                times = () if now is None else (now,)
                sql = _postgresql_text(statement, columns)
                cursors.append(driver.execute(sql, (*_as_json(columns, rows), *times)))
            return [cursor.fetchall() for cursor in cursors]

    def write(self, connection: Connection, writes: Iterable[Write]) -> None:
        """Write, in a transaction, and raise StepError if a row was not there that had to be."""
        left = iter(writes)
        first = next(left, None)
        if first is None:
            return
        driver = _driver(connection)
        sent = []
        with _pipeline(driver):
            for write in chain([first], left):
                sql = _postgresql_text(write.statement, write.columns)
                sent.append((write, driver.execute(sql, _as_json(write.columns, write.rows))))
        for write, cursor in sent:
            _check_changed(write, cursor.rowcount)


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


@contextmanager
def _pipeline(driver: Any) -> Iterator[None]:
    """Open a pipeline. What fails in it is raised behind it: the driver would log what the server has said before."""
    failure: BaseException | None = None
    try:
        with driver.pipeline():
            try:
                yield
            except BaseException as problem:  # noqa: BLE001
                failure = problem
    except psycopg.Error:
        if not isinstance(failure, psycopg.Error):  # that was the first one, and this one says that it was
            raise
    try:
        if failure is not None:
            raise failure
    finally:
        del failure


def _check_changed(write: Write, changed: int) -> None:
    if write.is_exact and changed != len(write.rows):
        raise StepError("A row that a step has read was not there when the step was to be written.")


def _as_json(columns: tuple[Any, ...], rows: Rows) -> tuple[str, ...]:
    return (_JSON.encode(rows),) if columns else ()


@cache
def _sqlite_reading(statement: str, columns: tuple[Any, ...]) -> str:
    values = ", ".join(f"value ->> {place} AS {column.name}" for place, column in enumerate(columns))
    return statement.format(given=f"(SELECT {values} FROM json_each(?)) AS given", now="?", locked="", clock="NULL")


@cache
def _sqlite_writing(statement: str, columns: tuple[Any, ...]) -> str:
    """Return the statement for one row. A join with that row would take three times as long."""
    places = {column.name: place for place, column in enumerate(columns, start=1)}
    alone = re.sub(r"(FROM|USING) \{given\}", "", statement)
    return re.sub(r"\bgiven\.(\w+)", lambda column: f"?{places[column[1]]}", alone)


@cache
def _postgresql_text(statement: str, columns: tuple[Any, ...]) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    values = ", ".join(
        f"(value ->> {place})::{column.type.compile(dialect)} AS {column.name}" for place, column in enumerate(columns)
    )
    given = f"(SELECT {values} FROM jsonb_array_elements(%s::jsonb)) AS given"
    locked, clock = "FOR UPDATE OF progress, experiments", "extract(epoch FROM clock_timestamp())::float8"
    return statement.format(given=given, now="%s::float8", locked=locked, clock=clock)


def insert_text(table: Table) -> str:
    """Return the statement that inserts given rows with all columns of a table."""
    names, values = (", ".join(f"{before}{name}" for name in table.columns.keys()) for before in ("", "given."))  # noqa: SIM118
    return f"INSERT INTO {table.name} ({names}) SELECT {values} FROM {{given}} WHERE true"
