"""Backup: a copy of a database as it is at one moment, while it is written. A copy of its file is none."""

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

from dpbandits._phrases import one_line
from dpbandits._progress import Progress
from dpbandits.errors import DatabaseError, InvalidInput, MissingExtra
from dpbandits.service.database import Database

_PAGES = 2000  # of a part, between which others may write


def back_up(database: Database, path: Path) -> None:
    """Write a copy of a database to a new file: of SQLite another database, of PostgreSQL an archive of `pg_dump`.

    Raises:
        InvalidInput: there is a file already.
        DatabaseError: the copy could not be made. No file is left.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # it holds secrets
    except FileExistsError:
        raise InvalidInput(f"Expected {str(path)!r} to be a new file: a backup overwrites nothing.") from None
    except OSError as problem:
        raise InvalidInput(f"Expected {str(path)!r} to be a file that can be made: {problem.strerror}.") from None
    try:
        if database.is_sqlite:
            _copy_file(database, path)
        else:
            _dump(database, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _copy_file(database: Database, path: Path) -> None:
    with Progress(100, "percent") as bar:
        copied = 0

        def tell(_: int, remaining: int, total: int) -> None:
            nonlocal copied
            percent = 100 - 100 * remaining // max(total, 1)
            bar.advance(percent - copied)
            copied = percent

        assert database.path is not None
        source, copy = sqlite3.connect(f"{database.path.as_uri()}?mode=ro", uri=True), sqlite3.connect(path)
        try:
            # One moment of it: otherwise every commit of somebody else would begin it anew.
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            source.backup(copy, pages=_PAGES, progress=tell)
        except sqlite3.Error as problem:
            raise DatabaseError(f"The backup could not be made: {one_line(problem)}.") from None
        finally:
            copy.close()
            source.close()


def _dump(database: Database, path: Path) -> None:
    pg_dump = shutil.which("pg_dump")
    if pg_dump is None:
        raise MissingExtra("pg_dump of PostgreSQL is needed for this and is not installed.", name="pg_dump")
    url = database.url.set(drivername="postgresql")
    environment = dict(os.environ)
    if url.password is not None:
        environment["PGPASSWORD"] = str(url.password)
    secret = url.query.get("password")
    if isinstance(secret, str):
        environment["PGPASSWORD"] = secret
    name = url.set(password=None).difference_update_query(("password",)).render_as_string()
    command = [pg_dump, "--format=custom", f"--file={path}", f"--dbname={name}"]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise DatabaseError(f"The backup could not be made: {one_line(finished.stderr)}")
