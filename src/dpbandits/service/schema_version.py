"""The version of a database's tables: made where there are none, compared with ours, brought up to date on request."""

import shlex
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from dpbandits.errors import DatabaseError
from dpbandits.service.database import Database

CURRENT = "0002"  # the last file in migrations/versions/
_MIGRATIONS = Path(__file__).parent / "migrations"


def prepare_tables(database: Database) -> None:
    """Make the tables of an empty database; refuse one whose tables are of another version.

    Raises:
        DatabaseError: they are. The message says what to run.
    """
    with database.reading() as connection:
        version = stored_version(connection)
    if version is None:
        upgrade_tables(database)
    else:
        check_tables(database)


def check_not_empty(database: Database) -> str:
    """Refuse a database that has no tables, and return the version of those that it has."""
    with database.reading() as connection:
        version = stored_version(connection)
    if version is None:
        raise DatabaseError(f"The database {database.name} is empty.")
    return version


def check_tables(database: Database) -> None:
    """Refuse a database that has no tables, or tables of another version."""
    version = check_not_empty(database)
    if version < CURRENT:
        raise DatabaseError(
            f"The tables of {database.name} are of version {version}, and this version of dpbandits needs {CURRENT}. "
            f"Make a backup, and run `dpbandits upgrade --database {shlex.quote(database.name)}`."
        )
    if version > CURRENT:
        raise DatabaseError(
            f"The tables of {database.name} are of version {version}, and this version of dpbandits knows them up to "
            f"{CURRENT}: install a later one."
        )


def upgrade_tables(database: Database) -> str | None:
    """Bring tables up to date, all of it or nothing, and return the version that they had; None if there were none."""
    from alembic import command
    from alembic.config import Config

    with database.writing() as connection:
        database.hold(connection)
        version = stored_version(connection)
        if version is None or version < CURRENT:
            config = Config()
            config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        return version


def stored_version(connection: Connection) -> str | None:
    """Return the version of the tables; None if there are none."""
    names = set(inspect(connection).get_table_names())
    if "alembic_version" in names:
        return str(connection.scalar(text("SELECT version_num FROM alembic_version")))
    if names:
        raise DatabaseError(
            f"The database has tables of somebody else ({', '.join(sorted(names)[:3])}): give dpbandits one of its own."
        )
    return None
