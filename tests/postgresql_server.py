"""A PostgreSQL server for tests, started when the first one needs it, by a user without privileges, and stopped."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from processes import children_of, killed


class MissingServer(Exception):
    """PostgreSQL is not installed."""


def program(name: str) -> str:
    """Return the path of one of PostgreSQL's programs; Debian puts some of them outside of everybody's way."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which(name, path=os.pathsep.join(map(str, places))) or shutil.which(name)
    if found is None:
        raise MissingServer(f"{name} of PostgreSQL is not installed: run make postgresql")
    return found


class PostgreSQLServer:
    """A server of its own, in a folder of its own, that is reached through a socket in that folder alone.

    Args:
        memory: keep it in memory, where there is a file system for that; what it forces to disk is forced nowhere then.
    """

    def __init__(self, *, memory: bool = True) -> None:
        self._initdb, self._postgres = program("initdb"), program("postgres")
        shared_memory = Path("/dev/shm")
        in_memory = memory and shared_memory.is_dir() and os.access(shared_memory, os.W_OK)
        self.folder = tempfile.mkdtemp(prefix="dpbandits-pg-", dir=shared_memory if in_memory else None)
        self.data = os.path.join(self.folder, "data")
        self._user = _unprivileged_user()
        if self._user is not None:
            os.chown(self.folder, *self._user)
        self._databases = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._run(self._initdb, "-D", self.data, "-A", "trust", "-U", "tests", "--no-sync", "-E", "UTF8", "--locale=C")
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", "max_connections=200"]
        arguments = [self._postgres, "-D", self.data, *(word for each in settings for word in ("-c", each))]
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self._process = subprocess.Popen(arguments, stdout=log, stderr=log, **self._as_user())
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self._conninfo("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError(Path(self.folder, "log").read_text("utf-8", "replace")[-2000:]) from None
                time.sleep(0.05)

    def kill(self) -> None:
        """Kill all of its processes at once, as when a machine loses its power."""
        assert self._process is not None
        for pid in self.pids():
            killed(pid)
        self._process.wait()

    def pids(self) -> list[int]:
        """Return the ids of all of its processes."""
        assert self._process is not None
        return [self._process.pid, *children_of(self._process.pid)]

    def stop(self) -> None:
        """Stop it, and break off whatever is under way."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(2)  # SIGINT: fast shutdown
            self._process.wait(60)

    def remove(self) -> None:
        """Stop it, and remove all that it has written."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def own(self, folder: Path) -> None:
        """Give a folder to the user who runs the server."""
        if self._user is not None:
            os.chown(folder, *self._user)

    def new_database(self) -> str:
        """Make an empty database, and return its URL."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
        return self.url(name)

    def url(self, name: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://tests@/{name}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement outside of any transaction."""
        with psycopg.connect(self._conninfo(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def dump(self, name: str, file: str) -> None:
        """Write a dump of a database."""
        arguments = ["-h", self.folder, "-U", "tests", "-Fc", "-f", file, name]
        subprocess.run([program("pg_dump"), *arguments], check=True, capture_output=True)

    def make_anew(self, name: str) -> None:
        """Put an empty database in the place of one."""
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")
        self.execute(f"CREATE DATABASE {name} STRATEGY file_copy")

    def restore(self, name: str, file: str) -> None:
        """Put a dump in place of a database, as somebody does who has lost it."""
        self.make_anew(name)
        arguments = ["-h", self.folder, "-U", "tests", "-d", name, file]
        subprocess.run([program("pg_restore"), *arguments], check=True, capture_output=True)

    def _conninfo(self, name: str) -> str:
        return f"host={self.folder} user=tests dbname={name}"

    def _run(self, *arguments: str) -> None:
        subprocess.run(arguments, check=True, capture_output=True, **self._as_user())

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user[0], "group": self._user[1], "extra_groups": [], "cwd": self.folder}


def _unprivileged_user() -> tuple[int, int] | None:
    """Return who runs the server, which refuses to be run by root; None if that is not who runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise MissingServer("root runs no PostgreSQL, and there is no other user")
