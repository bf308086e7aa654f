"""Databases: what they are told, what is refused, what fails and what an error says."""

import math
import os
import sqlite3
import subprocess
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

import dpbandits as dpb
from dpbandits.service import book_statements, database, experiment_rows
from dpbandits.service.book_rows import BookRows
from dpbandits.service.database import Database
from dpbandits.service.given_rows import Read, SQLiteRows, Write, _sqlite_writing, insert_text
from dpbandits.service.schema import assignments, blocks
from dpbandits.service.steps import Assign, Reward
from dpbandits.service.store import Store
from dpbandits.service.writer import Writer
from service_stores import SQLITE, Place, begun, configured, server

pytestmark = pytest.mark.slow

READ = [
    (book_statements.READ_ASSIGNMENTS, book_statements.NUMBER_COLUMNS, (1, 2), False),
    (book_statements.READ_PEOPLE, book_statements.UNIT_COLUMNS, (1, "ab"), False),
    (book_statements.READ_VISITS, book_statements.VISIT_COLUMNS, (1, "ab"), False),
    (book_statements.READ_BLOCKS, book_statements.BLOCK_COLUMNS, (1, 0, 2), False),
    (book_statements.READ_ANSWERED_BLOCKS, book_statements.ARM_COLUMNS, (1, 0), False),
    (book_statements.READ_DUE_BLOCKS, book_statements.EXPERIMENT_COLUMNS, (1,), True),
    (book_statements.READ_RELEASED_SUMS, book_statements.ARM_COLUMNS, (1, 0), False),
    (experiment_rows._LOCK, book_statements.EXPERIMENT_COLUMNS, (1,), False),
    (experiment_rows._AWAITED, book_statements.EXPERIMENT_COLUMNS, (1,), False),
]
WRITE = [
    (book_statements.ANSWER_ASSIGNMENTS, book_statements.ANSWER_COLUMNS, (1, 2, True, "k")),
    (book_statements.SUM_UP_BLOCKS, book_statements.SUM_COLUMNS, (1, 0, 2, 1, 5)),
    (book_statements.TAKE_OUT_BLOCKS, book_statements.BLOCK_COLUMNS, (1, 0, 2)),
    (book_statements.UNLINK_PEOPLE, book_statements.UNIT_COLUMNS, (1, "ab")),
]


def plan_of(store: Store, statement: str, columns: Any, row: tuple[Any, ...], now: float | None, writes: bool) -> str:
    """Return how the database would find the rows of a statement."""
    given = store.database.given
    explain = "EXPLAIN QUERY PLAN " if store.database.is_sqlite else "EXPLAIN "
    with store.database.writing() as connection:
        if writes and isinstance(given, SQLiteRows):
            sql = _sqlite_writing(statement, tuple(columns))
            found: Any = connection.exec_driver_sql(explain + sql, row).fetchall()
        else:
            (found,) = given.read(connection, [Read(explain + statement, tuple(columns), [row], now)])
    return "\n".join(str(tuple(line)) for line in found)


@pytest.mark.parametrize("number", range(len(READ) + len(WRITE)))
def test_rows_are_found_by_an_index_and_no_table_is_scanned(store: Store, number: int) -> None:
    """Also in an empty database, of which a server knows nothing."""
    if number < len(READ):
        statement, columns, row, is_timed = READ[number]
        plan = plan_of(store, statement, columns, row, 1.0 if is_timed else None, writes=False)
    else:
        write, columns, row = WRITE[number - len(READ)]
        plan = plan_of(store, write, columns, row, None, writes=True)
    if store.database.is_sqlite:
        scanned = [line for line in plan.splitlines() if "SCAN" in line]
        assert [line for line in scanned if not any(word in line for word in ("json_each", "given", "CONSTANT"))] == []
    else:
        assert "Seq Scan" not in plan


FLOATS = [0.0, 0.1, 1 / 3, 1e9 + 1 / 3, 1.7e9 + 1e-7, 5e-324, 2.2250738585072014e-308, 1e12, -1e12]
FLOATS += [math.nextafter(1.7e9, 2e9), math.nextafter(0.3, 0), 123456789.12345678]


def test_numbers_are_kept_exactly(store: Store) -> None:
    given, sums = store.database.given, [0, 1, 2**53 + 1, 2**61, 2**31, -(2**61)]
    rows = [
        (1, arm, number, 1, 2, time, 3, False, total)
        for arm, time in enumerate(FLOATS)
        for number, total in enumerate(sums)
    ]
    with store.database.writing() as connection:
        given.write(connection, [Write(insert_text(blocks), tuple(blocks.c), rows)])
    with store.database.reading() as connection:
        found = connection.execute(select(blocks.c.arm, blocks.c.block, blocks.c.until, blocks.c.total)).all()
    assert {(arm, number): (time.hex(), total) for arm, number, time, total in found} == {
        (arm, number): (time.hex(), total) for arm, time in enumerate(FLOATS) for number, total in enumerate(sums)
    }


@pytest.mark.parametrize("time", FLOATS[1:])
def test_what_is_due_is_known_to_the_last_digit(store: Store, time: float) -> None:
    row = (1, 0, 0, 1, 2, time, 0, True, 5)
    with store.database.writing() as connection:
        store.database.given.write(connection, [Write(insert_text(blocks), tuple(blocks.c), [row])])
        for now, due in [(time, [(0, 0)]), (math.nextafter(time, -math.inf), [])]:
            assert BookRows(store.database, connection).due(1, now) == due


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("", "to be a file or a URL"),
        ("mysql://host/name", "not mysql://"),
        ("sqlite://", "not sqlite://"),
        ("postgresql:/x://y", "postgresql://user@host/name"),
    ],
)
def test_another_kind_of_database_is_refused(url: str, text: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=text):
        Database(url)


def test_nobody_sees_a_password() -> None:
    made = Database("postgresql://me:secret@nowhere/x")
    assert "secret" not in f"{made!r} {made.name}"


def test_a_file_of_sqlite_is_safe_and_for_its_owner_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "x.db") as store, store.database.writing() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "secure_delete")
        }
        assert settings == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}
        for file in tmp_path.iterdir():
            assert os.stat(file).st_mode & 0o777 == 0o600


def test_a_file_that_is_none_of_sqlite_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"something else " * 100)
    with pytest.raises(dpb.DatabaseError, match="file is not a database"):
        Store(path)
    assert path.read_bytes() == b"something else " * 100


def test_a_server_that_forces_nothing_to_disk_is_refused(postgresql_place: Place) -> None:
    server().execute("ALTER SYSTEM SET fsync = off")
    server().execute("SELECT pg_reload_conf()")
    try:
        wait_until_setting("fsync", "off")
        with pytest.raises(dpb.DatabaseError, match="has fsync=off"):
            postgresql_place.store()
    finally:
        server().execute("ALTER SYSTEM RESET fsync")
        server().execute("SELECT pg_reload_conf()")
        wait_until_setting("fsync", "on")
    postgresql_place.store().close()


def wait_until_setting(name: str, value: str) -> None:
    import psycopg

    with psycopg.connect(server().url("postgres"), autocommit=True) as connection:
        while connection.execute(f"SHOW {name}".encode()).fetchone() != (value,):
            pass


def test_a_server_whose_sessions_do_not_wait_for_the_disk_is_made_to(postgresql_place: Place) -> None:
    with postgresql_place.store() as store:
        server().execute(f"ALTER DATABASE {postgresql_place._name} SET synchronous_commit = off")
        server().execute(f"ALTER DATABASE {postgresql_place._name} SET default_transaction_isolation = serializable")
    with postgresql_place.store() as store, store.database.writing() as connection:
        assert connection.scalar(text("SHOW synchronous_commit")) == "on"
        assert connection.scalar(text("SHOW transaction_isolation")) == "read committed"


def test_what_a_server_has_said_is_not_logged_if_something_else_fails_after_it(
    postgresql_place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    row = (1, 0, 0, 1, 2, None, 0, False, 123_456_789)

    def writes() -> Iterator[Write]:
        yield Write(insert_text(blocks), tuple(blocks.c), [row])
        yield Write(insert_text(blocks), tuple(blocks.c), [row])  # which is there already
        raise RuntimeError

    with (
        postgresql_place.store() as store,
        pytest.raises(dpb.DatabaseError) as caught,
        store.database.writing() as connection,
    ):
        store.database.given.write(connection, writes())
    assert "UniqueViolation 23505" in str(caught.value)
    assert caplog.text == ""


def test_a_connection_that_was_dropped_on_the_way_is_noticed(postgresql_place: Place) -> None:
    for own, idle in (("", "30"), ("&keepalives_idle=5", "5")):
        with closing(Database(postgresql_place.url + own)) as opened, opened.reading() as connection:
            driver: Any = connection.connection.driver_connection
            known = driver.info.get_parameters()
            assert (known["keepalives_idle"], known["tcp_user_timeout"]) == (idle, "60000")


# ---- what fails


def test_an_error_keeps_nothing_of_what_the_database_said(postgresql_place: Place) -> None:
    with postgresql_place.store() as store:
        with store.database.writing() as connection:
            connection.execute(text("ALTER TABLE progress ADD CHECK (version <> 1)"))
        with pytest.raises(dpb.DatabaseError) as caught:
            begun(store, "trial")
        shown = "".join(traceback.format_exception(caught.value))
        assert "Failing row" not in shown
        assert caught.value.__context__ is caught.value.__cause__ is None


def test_that_others_have_all_connections_is_nobodys_fault() -> None:
    assert database._is_away(PoolTimeoutError())


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL])
def test_a_lock_that_somebody_else_holds_is_nobodys_fault(code: int) -> None:
    problem = sqlite3.OperationalError("database is locked")
    problem.sqlite_errorcode = code
    assert database._is_away(problem) == (code == sqlite3.SQLITE_BUSY)


def test_a_full_disk_fails_the_step_and_the_next_one_works(place: Place, torture: bool) -> None:
    """Here SQLite may get no larger, and PostgreSQL says what it would say; `make torture` fills a real disk."""
    is_real = torture and os.geteuid() == 0
    with ExitStack() as stack:
        if is_real:
            disk = stack.enter_context(_small_disk())
            if place.kind == SQLITE:
                place.url = str(disk / "experiments.db")
            else:
                stack.callback(_drop, place, disk)
        store = stack.enter_context(place.store())
        begun(store, "trial", configured(horizon=10**6))
        writer = stack.enter_context(Writer(store))
        first = writer.take(Assign("trial", 0))
        failures: list[tuple[int, str]] = []
        with _full_disk(place, store, disk) if is_real else _no_room(place, store):
            for person in range(1, 20_000):
                try:
                    writer.take(Assign("trial", person))
                except dpb.DatabaseError as problem:
                    failures.append((person, str(problem)))
                    if len(failures) == 3:
                        break
        assert any(
            word in failures[0][1] for word in ("SQLITE_FULL (database or disk is full)", "53100", "SQLITE_IOERR")
        )
        for person, _ in failures:
            assert writer.take(Assign("trial", person)).is_new
        assert writer.take(Reward(first.id, 1.0)) is None
        with store.database.reading() as connection:
            numbers = connection.scalars(select(assignments.c.number).order_by(assignments.c.number)).all()
        assert list(numbers) == list(range(1, len(numbers) + 1))


@contextmanager
def _small_disk() -> Iterator[Path]:
    disk = Path(tempfile.mkdtemp(prefix="dpbandits-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "none", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _drop(place: Place, disk: Path) -> None:
    """Drop what a server has on a disk that goes away: it could write no checkpoint any more, and make no database."""
    server().execute(f"DROP DATABASE {place._name} WITH (FORCE)")
    server().execute(f"DROP TABLESPACE {_tablespace(disk)}")


def _tablespace(disk: Path) -> str:
    return disk.name.replace("-", "_")


@contextmanager
def _full_disk(place: Place, store: Store, disk: Path) -> Iterator[None]:
    """Let a small disk become full, and make room at the end. Of PostgreSQL it has the table of assignments."""
    if place.kind != SQLITE:
        name = _tablespace(disk)
        server().own(disk)
        server().execute(f"CREATE TABLESPACE {name} LOCATION '{disk}'")
        with store.database.writing() as connection:
            connection.exec_driver_sql(f"ALTER TABLE assignments SET TABLESPACE {name}")
    yield
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)


@contextmanager
def _no_room(place: Place, store: Store) -> Iterator[None]:
    def execute(statement: str) -> Any:
        with store.database.writing() as connection:
            return connection.exec_driver_sql(statement)

    if place.kind == SQLITE:
        with store.database.writing() as connection:
            pages: int = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        limits = [pages + 2]

        @event.listens_for(store.database._engine, "begin")
        def limited(connection: Any) -> None:  # which is a setting of every connection
            connection.exec_driver_sql(f"PRAGMA max_page_count = {limits[-1]}")

        yield
        limits.append(1_000_000)
    else:
        execute(_DISK_FULL)
        yield
        execute("DROP TRIGGER full_disk ON assignments")


_DISK_FULL = """
    CREATE FUNCTION full_disk() RETURNS trigger AS $$
        BEGIN
            IF new.number > 40 THEN
                RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100';
            END IF;
            RETURN new;
        END
    $$ LANGUAGE plpgsql;
    CREATE TRIGGER full_disk BEFORE INSERT ON assignments FOR EACH ROW EXECUTE FUNCTION full_disk();
"""


def test_a_server_that_goes_away_and_comes_back(postgresql_place: Place) -> None:
    with postgresql_place.store() as store:
        begun(store, "trial")
        with Writer(store) as writer:
            first = writer.take(Assign("trial", 1))
            server().stop()
            for _ in range(3):
                with pytest.raises(dpb.DatabaseError, match="has failed"):
                    writer.take(Reward(first.id, 1.0, "key"))
            server().start()
            assert writer.take(Reward(first.id, 1.0, "key")) is None
            assert writer.take(Assign("trial", 2)).id.endswith("-2")


def test_a_file_that_somebody_else_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    with Store(tmp_path / "x.db") as store:
        begun(store, "trial")
        with Writer(store) as writer:
            writer.take(Assign("trial", 1))
            other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(dpb.DatabaseError, match="database is locked"):
                writer.take(Assign("trial", 2))
            other.execute("ROLLBACK")
            other.close()
            assert writer.take(Assign("trial", 2)).id.endswith("-2")


@pytest.mark.parametrize("was_committed", [True, False])
def test_a_commit_whose_answer_is_lost_counts_once_when_it_is_asked_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, was_committed: bool
) -> None:
    begun(store, "trial")
    commit, broken = database._commit, [True, True]

    def failing(name: str, connection: Any, transaction: Any) -> None:
        if broken:
            broken.pop()
            if was_committed:
                commit(name, connection, transaction)
            else:
                transaction.rollback()
            raise database.UnknownOutcome("Whether this step was taken is not known. Ask again, with the same key.")
        commit(name, connection, transaction)

    with Writer(store) as writer:
        first, second = (writer.take(Assign("trial", person)) for person in (1, 2))
        monkeypatch.setattr(database, "_commit", failing)
        for step in (Reward(first.id, 0.5, "key"), Assign("trial", 3)):
            with pytest.raises(dpb.DatabaseError, match="Ask again, with the same key"):
                writer.take(step)
        assert writer.take(Reward(first.id, 0.5, "key")) is None
        assert writer.take(Assign("trial", 3)).id.endswith("-3")
        assert writer.take(Reward(second.id, 0.25, "key")) is None
    with store.database.reading() as connection:
        assert connection.scalars(select(blocks.c.total).order_by(blocks.c.arm)).all() == [2048, 1024]
