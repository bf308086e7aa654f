"""Given rows: many rows handed to one statement. Here, and nowhere else, the two kinds of database differ in their SQL.

Where a statement says `{given}` it gets a table of the rows, called `given`. PostgreSQL makes it of arrays (`unnest`).
SQLite makes it of JSON to read by, whose text is the same for any number of rows, and goes through the rows of a
statement that writes in C (`executemany`). JSON is never used to write: it would not keep every float.

A row of SQLite is written in 1.9 microseconds by `executemany`, 3.8 by `VALUES` and 5.8 by JSON; it is read in 0.9 by a
join with `VALUES`, whose text changes with the number of rows, 1.6 with JSON and 1.9 one by one.
"""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql

Rows = Sequence[Sequence[Any]]


class GivenRows(Protocol):
    """How a kind of database is given rows."""

    def read(
        self, connection: Connection, statement: str, columns: Sequence[Any], rows: Rows, now: float | None = None
    ) -> Sequence[Any]:
        """Return what a statement finds for all of these rows.

        Args:
            connection: in a transaction.
            statement: SQL with `{given}` in it, `{now}` behind that if it needs the time, and `{locked}` at its end
                where it locks rows of `experiments`.
            columns: of a table, whose names and types the given rows have.
            rows: plain values, whole numbers and text alone.
            now: the time, where the statement needs it.
        """

    def write(self, connection: Connection, statement: str, columns: Sequence[Any], rows: Rows) -> int:
        """Write all of these rows, and return how many rows of a table were changed."""


class SQLiteRows:
    """Given rows in SQLite."""

    def read(
        self, connection: Connection, statement: str, columns: Sequence[Any], rows: Rows, now: float | None = None
    ) -> Sequence[Any]:
        """Return what a statement finds for all of these rows."""
        sql = _sqlite_text(statement, _names(columns), for_reading=True)
        return connection.exec_driver_sql(sql, (json.dumps(rows), *_times(now))).fetchall()

    def write(self, connection: Connection, statement: str, columns: Sequence[Any], rows: Rows) -> int:
        """Write all of these rows, and return how many rows of a table were changed."""
        sql = _sqlite_text(statement, _names(columns), for_reading=False)
        return connection.exec_driver_sql(sql, list(map(tuple, rows))).rowcount


class PostgreSQLRows:
    """Given rows in PostgreSQL."""

    def read(
        self, connection: Connection, statement: str, columns: Sequence[Any], rows: Rows, now: float | None = None
    ) -> Sequence[Any]:
        """Return what a statement finds for all of these rows."""
        sql = _postgresql_text(statement, tuple(columns))
        return connection.exec_driver_sql(sql, (*_arrays(rows), *_times(now))).fetchall()

    def write(self, connection: Connection, statement: str, columns: Sequence[Any], rows: Rows) -> int:
        """Write all of these rows, and return how many rows of a table were changed."""
        sql = _postgresql_text(statement, tuple(columns))
        return connection.exec_driver_sql(sql, _arrays(rows)).rowcount


def _times(now: float | None) -> tuple[float, ...]:
    return () if now is None else (now,)


def _arrays(rows: Rows) -> tuple[list[Any], ...]:
    return tuple(map(list, zip(*rows, strict=True)))


def _names(columns: Sequence[Any]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


@cache
def _sqlite_text(statement: str, names: tuple[str, ...], for_reading: bool) -> str:
    values = (f"value ->> {place}" for place in range(len(names))) if for_reading else "?" * len(names)
    columns = ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
    source = " FROM json_each(?)" if for_reading else ""
    return statement.format(given=f"(SELECT {columns}{source}) AS given", now="?", locked="")


@cache
def _postgresql_text(statement: str, columns: tuple[Any, ...]) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    arrays = ", ".join(f"%s::{column.type.compile(dialect)}[]" for column in columns)
    given = f"unnest({arrays}) AS given({', '.join(_names(columns))})"
    return statement.format(given=given, now="%s::float8", locked="FOR UPDATE OF experiments")


def insert_text(table: Table) -> str:
    """Return the statement that inserts given rows with all columns of a table."""
    names = ", ".join(table.columns.keys())
    return f"INSERT INTO {table.name} ({names}) SELECT {names} FROM {{given}} WHERE true"
