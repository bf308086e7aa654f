"""`dpbandits backup`: a copy of a database while it is written."""

from pathlib import Path
from typing import Annotated

import typer

from dpbandits.cli.app import app, needing
from dpbandits.cli.options import StoredIn


@app.command("backup")
@needing("sqlalchemy", "alembic", "psycopg")
def backup_command(
    database: StoredIn,
    out: Annotated[Path, typer.Option(help="The file to write, which must be new.")],
) -> None:
    """Write a copy of a database, as it is at one moment, while a service goes on writing it.

    Of SQLite it is a database again (a copy of the file itself misses what is in the files beside it), of PostgreSQL an
    archive of pg_dump. It holds secrets: sums of rewards, and the keys of the hashed names of people. A service that
    is started with it refuses to run what has moved on since (`dpbandits restore` says more). Example:

    \b
    dpbandits backup --database trials.db --out trials-monday.db
    """
    from dpbandits.service.backup import back_up
    from dpbandits.service.database import Database
    from dpbandits.service.schema_version import check_tables

    source = Database(database, must_exist=True)
    try:
        check_tables(source)
        back_up(source, out)
    finally:
        source.close()
    print(f"Backup: {out}")
