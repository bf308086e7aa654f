"""`dpbandits upgrade`: the tables of a database, brought up to date."""

from dpbandits.cli.app import app, needing
from dpbandits.cli.options import StoredIn


@app.command("upgrade")
@needing("sqlalchemy", "alembic", "psycopg")
def upgrade_command(database: StoredIn) -> None:
    """Bring the tables of a database up to date, after a new version of dpbandits was installed.

    All of it is done or nothing. Stop the service and make a backup first: an earlier version cannot use the new
    tables. Example:

    \b
    dpbandits upgrade --database trials.db
    """
    from dpbandits.service.database import Database
    from dpbandits.service.schema_version import CURRENT, check_not_empty, upgrade_tables

    stored = Database(database, must_exist=True)
    try:
        check_not_empty(stored)
        before = upgrade_tables(stored)
    finally:
        stored.close()
    if before == CURRENT:
        print(f"Nothing to do: the tables are of version {CURRENT}.")
    else:
        print(f"The tables are of version {CURRENT} now, and were of {before}.")
