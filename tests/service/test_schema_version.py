"""Tables are made and brought up to date by migrations; those of another version are refused with what to run."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

import dpbandits as dpb
from command_output import output_of
from dpbandits.service import schema_version
from dpbandits.service.database import Database
from dpbandits.service.overviews import acknowledged_overview
from dpbandits.service.schema import metadata
from dpbandits.service.schema_version import CURRENT
from dpbandits.service.steps import Assign, Reward
from dpbandits.service.store import Store
from dpbandits.service.writer import Writer
from service_stores import SQLITE, Place

pytestmark = pytest.mark.slow

BEFORE = Path(__file__).parent / "before"
MIGRATIONS = Path(schema_version.__file__).parent / "migrations"


def config(connection: Any = None) -> Config:
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS))
    made.attributes["connection"] = connection
    return made


def test_migrations_make_the_tables_that_the_code_knows(store: Store) -> None:
    with store.database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_last_migration_is_the_current_version() -> None:
    assert ScriptDirectory.from_config(config()).get_current_head() == CURRENT


def of_version_1(place: Place) -> None:
    """Put a database of the first version in place, as a service of that time has written it."""
    written = BEFORE / "version_0001.db"
    if place.kind == SQLITE:
        shutil.copy(written, place.url)
        return
    database = Database(place.url)
    with database.writing() as connection:
        command.upgrade(config(connection), "0001")
        with sqlite3.connect(written) as source:
            for (name,) in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                rows = source.execute(f"SELECT * FROM {name}")
                columns = [column[0] for column in rows.description]
                kinds: Any = metadata.tables[name].c if name in metadata.tables else {}
                for row in rows.fetchall():
                    values = {
                        column: bool(value) if column in kinds and kinds[column].type.python_type is bool else value
                        for column, value in zip(columns, row, strict=True)
                    }
                    if name in metadata.tables:
                        connection.execute(metadata.tables[name].insert().values(values))
        source.close()
    database.close()


def test_a_database_of_an_earlier_version_is_upgraded_on_request_and_goes_on(place: Place) -> None:
    of_version_1(place)
    with sqlite3.connect(BEFORE / "version_0001.db") as source:
        written = source.execute("SELECT content, hash FROM ledger ORDER BY number").fetchall()
    source.close()
    with pytest.raises(dpb.DatabaseError, match=r"version 0001, .* run `dpbandits upgrade --database "):
        place.store()
    options = ["--database", place.url]
    assert output_of("upgrade", *options) == (0, f"The tables are of version {CURRENT} now, and were of 0001.\n")
    assert output_of("upgrade", *options) == (0, f"Nothing to do: the tables are of version {CURRENT}.\n")
    with pytest.raises(dpb.DatabaseError, match="marks adopt"):
        place.store()
    assert output_of("marks", "adopt", *options, "--state", str(place.state))[0] == 0
    with place.store() as store:
        with Writer(store) as writer:
            assert not writer.take(Assign("trial", "p-1")).is_new
            assert writer.take(Assign("trial", "p-3")).id == ""
            assert writer.take(Reward("0011223344556677-1", 0.0, "k0")) is None
            for name in ("0011223344556677-11", "0011223344556677-12"):
                writer.take(Reward(name, 1.0))
            for person in range(20):
                writer.take(Reward(writer.take(Assign("trial", f"new {person}")).id, 1.0))
        ledger = acknowledged_overview(store, "trial").ledger
    assert [(row.content_json, row.hash) for row in ledger][: len(written)] == written
    assert len(ledger) > len(written) > 4
    assert dpb.check_ledger(ledger.to_jsonl()).verdict == "holds"


def test_an_empty_database_is_not_upgraded(place: Place) -> None:
    with closing(Database(place.url)) as database, database.writing():
        pass  # which makes the file of SQLite
    status, text_shown = output_of("upgrade", "--database", place.url)
    assert (status, "is empty" in text_shown) == (2, True)


def test_a_database_of_a_later_version_is_refused(place: Place) -> None:
    with place.store() as store, store.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(dpb.DatabaseError, match="install a later one"):
        place.store()
    assert output_of("restore", "--database", place.url, "--state", str(place.state))[0] == 2


def test_tables_of_somebody_else_are_left_alone(place: Place) -> None:
    database = Database(place.url)
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE customers (name text)"))
    with pytest.raises(dpb.DatabaseError, match=r"tables of somebody else \(customers\)"):
        place.store()
    with database.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM customers")) == 0
    database.close()
