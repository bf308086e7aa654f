"""Database: SQLite in a file, or PostgreSQL, set up so that what was committed stays and no error shows a value."""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from dpbandits._forks import this_process
from dpbandits._phrases import one_line
from dpbandits._validate import value_text
from dpbandits.errors import DatabaseError, InvalidInput, StepError
from dpbandits.service.given_rows import GivenRows, PostgreSQLRows, Read, SQLiteRows

_PATIENCE = 60.0  # seconds to wait for another writer of a file
_POOL_SIZE = 32  # connections that are kept for those who read
# SQLite's memory for pages, in KiB, and its log's length in pages (measured in benchmarks/store_choices.py).
_ROOM = ("cache_size=-65536", "wal_autocheckpoint=8000")
# A server that has vanished, or whose connection some device on the way has dropped, is noticed within a minute. Times
# are in seconds, but for the last one; a URL may have others.
_KEPT_ALIVE = {
    "connect_timeout": 30,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_KEPT_STATEMENTS = 256  # compiled ones of a connection; a writer has some thirty

Clock = Callable[[], float]
_HOLD, _USE = 7_309_117_042, 7_309_117_043  # advisory locks of PostgreSQL
_SECRET_WORDS = ("password", "sslpassword", "passfile")
_TIME = Read("SELECT {clock}", (), ())


class Database:
    """Where experiments are kept.

    Args:
        url: a file for SQLite, as a path or `sqlite:///PATH`, or `postgresql://USER@HOST/NAME`.
        clock: tells the time in seconds, for tests; by default the database does.
        must_exist: refuse a file that is not there, and would be made.

    Attributes:
        url: as it was understood.
        path: the file of SQLite; None for PostgreSQL.
        name: what a person calls it, without a password.
        given: how it is given many rows at once.
    """

    def __init__(self, url: str | os.PathLike[str], *, clock: Clock | None = None, must_exist: bool = False) -> None:
        self.url = _understood(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.path = Path(str(self.url.database)) if self.is_sqlite else None
        if must_exist and self.path is not None and not self.path.is_file():
            raise InvalidInput(f"Expected database={str(self.path)!r} to be a file that exists.")
        self.given: GivenRows = SQLiteRows() if self.is_sqlite else PostgreSQLRows()
        shown = self.url.set(drivername="postgresql").difference_update_query(_SECRET_WORDS)
        self.name = str(self.path) if self.is_sqlite else shown.render_as_string()
        self._user: Callable[[], None] | None = None  # lets go of the lock that says that it is used
        self._clock = clock
        self._process = this_process()
        self._engine = self._sqlite_engine() if self.is_sqlite else self._postgresql_engine()

    def __repr__(self) -> str:
        return f"<Database {self.name}>"

    def connection(self) -> Connection:
        """Return a connection for whoever writes often, and closes it. Nobody who reads gets it meanwhile.

        A writer that took what the pool has would go through all of its connections in turn, to server processes and
        pages of SQLite that were not used for long (measured in benchmarks/store_choices.py).
        """
        if this_process() != self._process:
            raise StepError("This store belongs to the process that made it: a forked one needs its own.")
        with translated_errors(self.name):
            return self._engine.connect()

    @contextmanager
    def writing(self, own: Connection | None = None) -> Iterator[Connection]:
        """Return a connection in a transaction that may write, which is committed if nothing fails.

        On SQLite it has the right to write from its beginning: one that asks for it later is refused at once where
        somebody else is writing, however long it would wait.

        Args:
            own: the connection to use; one of the pool by default.
        """
        with (
            nullcontext(own) if own is not None else self.connection() as connection,
            self._transaction(connection, "BEGIN IMMEDIATE") as begun,
        ):
            yield begun

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return a connection in a transaction that only reads, all of it at one moment."""
        with self.connection() as pooled, self._transaction(pooled, "BEGIN") as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    @property
    def tells_time(self) -> bool:
        """Whether the database is asked for the time: a server is, unless a test has a clock of its own."""
        return self._clock is None and not self.is_sqlite

    def now(self, connection: Connection) -> float:
        """Return the time in seconds, as the database says: where several machines write, it is the same for all."""
        if self.tells_time:
            (((now,),),) = self.given.read(connection, [_TIME])
            return float(now)
        return time.time() if self._clock is None else self._clock()

    def hold(self, connection: Connection) -> None:
        """Let one transaction at a time make tables, or say which marks are its own."""
        if not self.is_sqlite:  # where every transaction that writes is alone
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_HOLD})")

    def use(self, *, alone: bool = False) -> None:
        """Take part in using the database until it is closed, with others who do, or alone.

        Raises:
            DatabaseError: somebody uses it, or uses it alone.
        """
        if self._user is None:
            self._user = _file_in_use(self.path, alone) if self.path is not None else self._session_in_use(alone)

    def _session_in_use(self, alone: bool) -> Callable[[], None]:
        with translated_errors(self.name):
            connection = self.connection().execution_options(isolation_level="AUTOCOMMIT")
            function = "pg_try_advisory_lock" if alone else "pg_try_advisory_lock_shared"
            if not connection.exec_driver_sql(f"SELECT {function}({_USE})").scalar_one():
                connection.close()
                raise _in_use_error(self.name, alone)
        return connection.invalidate  # the lock goes with its session

    def close(self) -> None:
        """Let go of all connections."""
        is_own = this_process() == self._process
        if self._user is not None and is_own:
            self._user()
        self._user = None
        self._engine.dispose(close=is_own)  # a forked process leaves alone what its parent uses

    @contextmanager
    def _transaction(self, connection: Connection, begin: str) -> Iterator[Connection]:
        if self.is_sqlite:
            connection = connection.execution_options(sqlite_begin=begin)
        with translated_errors(self.name), connection.begin() as transaction:
            yield connection
            if transaction.is_active:
                _commit(self.name, connection, transaction)

    # ---- the two kinds

    def _sqlite_engine(self) -> Engine:
        assert self.path is not None
        path = self.path
        engine = create_engine(
            self.url,
            hide_parameters=True,
            pool_size=_POOL_SIZE,
            connect_args={"timeout": _PATIENCE, "check_same_thread": False, "cached_statements": _KEPT_STATEMENTS},
        )

        @event.listens_for(engine, "do_connect")
        def made_private(*_: Any) -> None:
            try:  # what is there keeps its mode; files beside it get the same one
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                pass
            except OSError as problem:
                raise DatabaseError(f"The database {path} cannot be made: {problem.strerror}.") from None

        @event.listens_for(engine, "connect")
        def set_up(connection: Any, _: Any) -> None:
            connection.isolation_level = None  # transactions begin where `begin` below says
            cursor = connection.cursor()
            for setting in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", *_ROOM):
                cursor.execute(f"PRAGMA {setting}")
            cursor.close()

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN IMMEDIATE"))

        return engine

    def _postgresql_engine(self) -> Engine:
        engine = create_engine(
            self.url,
            hide_parameters=True,
            pool_size=_POOL_SIZE,
            isolation_level="READ COMMITTED",
            connect_args={name: value for name, value in _KEPT_ALIVE.items() if name not in self.url.query},
        )

        @event.listens_for(engine, "connect")
        def set_up(connection: Any, _: Any) -> None:
            with connection.cursor() as cursor:
                # What was acknowledged is on its disk, whatever the server is set to do by itself.
                cursor.execute("SET synchronous_commit = on")
                # All statements look rows up by an index. A plan that was made while a table was small would scan it.
                cursor.execute("SET enable_seqscan = off")
                cursor.execute("SET enable_hashjoin = off")
                cursor.execute("SET enable_mergejoin = off")
                # A host that has stopped in the middle of a transaction holds up the others no longer than this, unless
                # it was within a pipeline: the server then waits for its end.
                cursor.execute(f"SET lock_timeout = '{_PATIENCE / 2:g}s'")
                cursor.execute(f"SET idle_in_transaction_session_timeout = '{_PATIENCE / 3:g}s'")
                (fsync,) = cursor.execute("SHOW fsync").fetchone()
            connection.commit()
            if fsync != "on":
                connection.close()
                raise DatabaseError(
                    f"The server of {self.name} has fsync={fsync}: a crash would undo releases that were seen, and "
                    "they would be drawn again. Set fsync=on in its postgresql.conf."
                )

        return engine


def _file_in_use(path: Path, alone: bool) -> Callable[[], None]:
    """Lock a file beside that of SQLite, whose own locks would be lost with any other use of it."""
    if fcntl is None:
        raise DatabaseError("A database needs file locks, which this operating system does not offer.")
    beside = path.with_name(f"{path.name}.in-use")
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise DatabaseError(f"{beside} cannot be made: {problem.strerror}.") from None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise _in_use_error(str(path), alone) from None
    return partial(os.close, descriptor)


def _in_use_error(name: str, alone: bool) -> DatabaseError:
    reason = "stop what uses it first" if alone else "it is being repaired"
    return DatabaseError(f"The database {name} is in use: {reason}.")


class DatabaseAway(DatabaseError):
    """The database cannot be reached. Nothing has changed."""


class UnknownOutcome(DatabaseError):
    """Whether a transaction has happened is not known: its commit failed, or the answer was lost."""


def _commit(name: str, connection: Connection, transaction: Any) -> None:
    try:
        transaction.commit()
    except SQLAlchemyError as problem:
        failure = UnknownOutcome(
            f"Whether this step was taken is not known, since the database {name} did not say so: "
            f"{failure_text(problem)}. Ask again, with the same key."
        )
    else:
        return
    with suppress(SQLAlchemyError):
        connection.invalidate()  # whatever is left of the transaction goes with its connection
    raise failure


@contextmanager
def translated_errors(name: str) -> Iterator[None]:
    """Make a DatabaseError of what a driver raises. Nothing of its text is kept but what can hold no value."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, psycopg.Error) as problem:
        kind = DatabaseAway if _is_away(problem) else DatabaseError
        failure = kind(f"The database {name} has failed: {failure_text(problem)}.")
    else:
        return
    raise failure


def _is_away(problem: BaseException) -> bool:
    """Tell whether the database cannot be reached, so that no step of a batch is to blame."""
    if isinstance(problem, PoolTimeoutError):  # those who read have all connections
        return True
    if isinstance(problem, DBAPIError):
        is_locked = isinstance(problem.orig, sqlite3.Error) and _is_away(problem.orig)
        return problem.connection_invalidated or problem.statement is None or is_locked
    if isinstance(problem, sqlite3.Error):  # somebody else writes for a minute
        return getattr(problem, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    # A server that ends a connection may say why (class 57, such as 57P01, admin_shutdown), or nothing. 55P03: somebody
    # else holds a lock for long; 25P03: this session was idle for long.
    state = getattr(problem, "sqlstate", None)
    if isinstance(problem, psycopg.Error) and state in ("55P03", "25P03"):
        return True
    return isinstance(problem, psycopg.OperationalError) and (state or "57P")[:3] in ("57P", "080")


_SQLITE_TEXTS = re.compile(
    "unable to open database file|database is locked|database or disk is full|disk I/O error|file is not a database"
    "|database disk image is malformed|attempt to write a readonly database|no such table: [a-z_]+|UNIQUE constraint "
    "failed: [a-z_., ]+|cannot start a transaction within a transaction"
)


def failure_text(problem: BaseException) -> str:
    """Return what a driver says, as far as no value can be in it: names of errors, codes, fixed sentences."""
    original = getattr(problem, "orig", None) or problem
    kind = type(original).__name__
    code = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    if code is None and not hasattr(original, "sqlite_errorname"):
        # A connection that could not be made, or was lost: it knows of no row.
        return f"{kind} ({one_line(original)})" if kind == "OperationalError" else kind
    known = _SQLITE_TEXTS.search(str(original))
    return f"{kind} {code}" + (f" ({known[0]})" if known else "")


def _understood(url: str | os.PathLike[str]) -> URL:
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else ""
    if not isinstance(text, str) or not text or text == ":memory:":
        raise InvalidInput(f"Expected database={value_text(url)} to be a file or a URL.")
    if "://" not in text:
        return URL.create("sqlite", database=os.path.realpath(text))
    try:
        parsed = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidInput("Expected the URL of the database to be like postgresql://user@host/name.") from None
    kind = parsed.get_backend_name()
    if kind == "sqlite" and parsed.database and parsed.database != ":memory:" and not parsed.query:
        return parsed.set(drivername="sqlite", database=os.path.realpath(parsed.database))
    if kind == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    raise InvalidInput(
        f"Expected the database to be a file, sqlite:///PATH or postgresql://..., not {parsed.drivername}://..."
    )
