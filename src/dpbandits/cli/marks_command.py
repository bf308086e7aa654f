"""`dpbandits marks adopt`: new marks for a database whose own are lost."""

import typer

from dpbandits._phrases import count_text
from dpbandits.cli.app import app, needing
from dpbandits.cli.options import StateFolder, StoredIn

marks_app = typer.Typer(
    help="The marks that show whether a database is the newest.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(marks_app, name="marks")


@marks_app.callback()
def _marks() -> None:
    """The marks that show whether a database is the newest."""


@marks_app.command("adopt")
@needing("sqlalchemy", "alembic", "psycopg")
def adopt_command(database: StoredIn, state: StateFolder = None) -> None:
    """Take a database for the newest one, and write its marks.

    Only you can know that it is: with an older copy, noise would be drawn again for sums that were released before, and
    the guarantee would be lost. Use this where the marks were lost, or the database has moved on purpose. If you are
    not sure, use `dpbandits restore --accept`. Example:

    \b
    dpbandits marks adopt --database postgresql://trials@db/trials --state /srv/marks
    """
    from dpbandits.service.restoring import Repair

    with Repair(database, state) as repair:
        number = repair.adopt()
        print(f"{repair.path} has the marks of {count_text(number, 'experiment')} now.")
