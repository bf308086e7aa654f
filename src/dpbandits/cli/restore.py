"""`dpbandits restore`: what a database has lost, and going on from it."""

from typing import TYPE_CHECKING, Annotated

import typer

from dpbandits._phrases import count_text
from dpbandits.cli.app import app, needing
from dpbandits.cli.options import StateFolder, StoredIn

if TYPE_CHECKING:
    from dpbandits.service.restoring import Behind


@app.command("restore")
@needing("sqlalchemy", "alembic", "psycopg")
def restore_command(
    database: StoredIn,
    state: StateFolder = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Go on from the database as it is. This cannot be undone.")
    ] = False,
) -> None:
    """Show what a database that was put back from a copy has lost, and go on from it.

    A copy looks right by itself. What was released since would be drawn again, and tell of the same people twice, so a
    service refuses to start with it. Put the newest database back if you can. If it is lost, --accept goes on from the
    copy: experiments that have moved on since release nothing any more and keep the arms that they know to be good;
    their whole budget counts as spent, and their ledgers say that they were restored. Ids of assignments that were
    given before are no longer known. All other experiments go on as if nothing had happened. The exit status is 1 if
    something is behind and was not accepted. Examples:

    \b
    dpbandits restore --database trials.db

    \b
    dpbandits restore --database postgresql://db/trials --state /marks --accept
    """
    from dpbandits.service.restoring import Repair

    with Repair(database, state) as repair:
        found = repair.accept() if accept else repair.behind()
        if not repair.has_marks and not accept:
            print(
                f"The marks of this database are not at {repair.path}, so nobody can tell whether it is the newest.\n"
                "If it is, run `dpbandits marks adopt`. If it may be a copy, go on with --accept."
            )
            raise typer.Exit(1)
        if not found:
            print("Nothing is missing: no experiment is behind its mark.")
            return
        for each in found:
            print(_sentence(each))
        if accept:
            print(f"Accepted. {count_text(len(found), 'experiment')} will release nothing any more.")
            return
        print("Put the newest database back, or go on from this one with --accept.")
    raise typer.Exit(1)


def _sentence(each: "Behind") -> str:
    if each.name is None:
        return f"- Experiment number {each.id} is not in the database."
    missing = each.missing_releases
    if missing is None:
        return f"- {each.name}: nobody knows whether this is the latest of it."
    what = count_text(missing, "release") if missing else "changes since its last release"
    return f"- {each.name}: lost {what}."
