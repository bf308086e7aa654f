"""Marks: how far every experiment had come when something of it was last acknowledged, kept outside of the database.

A database that was copied back, or restored from a dump, looks right by itself. Going on from it would draw noise again
for sums that were released before. The mark shows that it is behind: it says how often the experiment has changed, how
many rows its ledger has, and the hash of the last one.

Every experiment has a slot of its own, at a fixed place of one file. It is written after every commit and before what
was committed is acknowledged, and forced to disk where there was a release. So a database may be ahead of its marks,
which a crash between the two leaves behind, and never behind them. Several hosts that write one database share the
file; a slot is only ever raised, whichever of them comes first.
"""

import hashlib
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from dpbandits._phrases import count_text
from dpbandits.errors import DatabaseError

_SLOT = 256  # bytes: none of them lies across two sectors, so that a crash leaves one completely written or not at all
_HEADER = "dpbandits marks 1"
_DIGITS = 16  # of identities and checksums
_CHECK = _SLOT - _DIGITS - 1


class Mark(NamedTuple):
    """How far an experiment had come.

    Attributes:
        identity: of the experiment, which tells it from another one with the same id.
        version: how many transactions had changed it.
        rows: how many rows its ledger had.
        head: the hash of the last one; None if it is not known here.
        is_closed: whether it was given up: the database that has it is gone.
    """

    identity: str
    version: int
    rows: int
    head: str | None
    is_closed: bool = False


class Marks:
    """The file of marks.

    Args:
        path: where it is; made if nothing is there.

    Attributes:
        identity: tells this file from others; the database knows it.
        path: where it is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if fcntl is None:
            raise DatabaseError("Marks need file locks, which this operating system does not offer.")
        self.path = Path(os.path.abspath(path))
        self._file = _opened(self.path)
        self._known: dict[int, tuple[bytes, Mark]] = {}  # slots as they were, so that few are parsed again
        self._threads = threading.Lock()
        self._lock = -1  # a file beside it, which is locked by whoever writes slots
        try:
            self._lock = _opened(self.path.with_name(f"{self.path.name}.lock"))
            with self._locked():
                self.identity = self._begun()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._lock = -1

    # ---- slots

    def mark(self, experiment: int) -> Mark | None:
        """Return the mark of an experiment; None if it has none."""
        if self._file < 0:
            raise DatabaseError(f"The marks {self.path} were closed.")
        content = os.pread(self._file, _SLOT, experiment * _SLOT)
        known = self._known.get(experiment)
        if known is not None and known[0] == content:
            return known[1]
        if not _is_whole(content):  # somebody writes it just now
            with self._locked():
                content = os.pread(self._file, _SLOT, experiment * _SLOT)
        return self._parsed(content, experiment)

    def all(self) -> dict[int, Mark]:
        """Return all marks."""
        found = {number: self.mark(number) for number in range(1, self.slots + 1)}
        return {number: mark for number, mark in found.items() if mark is not None}

    @property
    def slots(self) -> int:
        """The largest id of an experiment that can have a mark."""
        return max(os.fstat(self._file).st_size // _SLOT - 1, 0)

    def raise_to(self, marks: Mapping[int, Mark], *, durable: bool) -> list[int]:
        """Write marks, unless a slot is further already, because another host was quicker.

        Args:
            marks: by experiment.
            durable: force them to disk, since a release is about to be seen.

        Returns:
            The experiments whose slots were further. Whether theirs is the same history only the database can tell.

        Raises:
            DatabaseError: a slot holds another history than the database.
        """
        further = []
        with self._locked():
            for experiment, mark in marks.items():
                known = self._parsed(os.pread(self._file, _SLOT, experiment * _SLOT), experiment)
                if known is not None:
                    if known.version > mark.version and known.identity == mark.identity and not known.is_closed:
                        further.append(experiment)
                        continue
                    check_mark(mark, known, str(experiment))
                self._write(experiment, mark)
        if durable:
            os.fsync(self._file)
        return further

    def covers(self, experiment: int, mark: Mark) -> bool:
        """Tell whether a mark has come as far as this one; if it has, it is on disk."""
        known = self.mark(experiment)
        if known is None or known.identity != mark.identity or known.version < mark.version:
            return False
        os.fsync(self._file)
        return True

    def overwrite(self, marks: Mapping[int, Mark]) -> None:
        """Write marks whatever their slots hold, and force them to disk. For repairs alone."""
        with self._locked():
            for experiment, mark in marks.items():
                self._write(experiment, mark)
        os.fsync(self._file)

    def _write(self, experiment: int, mark: Mark) -> None:
        assert mark.head, "a ledger has a last row"
        state = "closed" if mark.is_closed else "open"
        text = f"{mark.identity} {mark.version} {mark.rows} {mark.head} {state}"
        self._known[experiment] = self._write_slot(experiment, text), mark

    def _write_slot(self, slot: int, text: str) -> bytes:
        content = f"{text:<{_CHECK}}".encode("ascii")
        content += _checksum(content) + b"\n"
        assert len(content) == _SLOT
        written = os.pwrite(self._file, content, slot * _SLOT)
        if written != _SLOT:
            raise OSError(f"{written} bytes of a mark were written, and not {_SLOT}.")
        return content

    def _parsed(self, content: bytes, experiment: int) -> Mark | None:
        if not content.strip(b"\0"):
            return None
        known = self._known.get(experiment)
        if known is not None and known[0] == content:
            return known[1]
        words = content[:_CHECK].decode("ascii", "replace").split()
        if not _is_whole(content) or len(words) != 5:
            raise DatabaseError(f"The marks {self.path} are damaged at experiment {experiment}. {_MOVE_AWAY}")
        identity, version, rows, head, state = words
        mark = Mark(identity, int(version), int(rows), head, state == "closed")
        self._known[experiment] = content, mark
        return mark

    def _begun(self) -> str:
        content = os.pread(self._file, _SLOT, 0)
        if not content:
            identity = secrets.token_hex(_DIGITS // 2)
            self._write_slot(0, f"{_HEADER} {identity}")
            os.fsync(self._file)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            return identity
        text = content[:_CHECK].decode("ascii", "replace").strip()
        if len(content) != _SLOT or content[_CHECK:-1] != _checksum(content[:_CHECK]) or not text.startswith(_HEADER):
            raise DatabaseError(f"{self.path} is not a file of marks, or is damaged. {_MOVE_AWAY}")
        return text.removeprefix(_HEADER).strip()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # The lock of the file keeps other processes out, and lets in all threads of this one.
        with self._threads:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                with suppress(OSError):
                    fcntl.flock(self._lock, fcntl.LOCK_UN)


def check_mark(mark: Mark, known: Mark | None, name: str) -> None:
    """Refuse an experiment, as a database has it, that is behind what its mark says, or has another history.

    Args:
        mark: how far it has come in the database.
        known: its mark; None if it has none.
        name: what errors call it.
    """
    if known is None:
        if mark.version <= 1:
            return  # it has just begun, and the process was killed before it had a mark
        raise DatabaseError(
            f"Experiment {name!r} cannot go on: it has no mark that shows that this is the latest of it. "
            "Put the file of marks back. If it is lost, and the database is the newest, run `dpbandits marks adopt`."
        )
    if known.is_closed:
        problem = "it was given up when an earlier copy of the database was accepted"
    elif mark.identity != known.identity:
        problem = "its mark is that of another one"
    elif mark.version < known.version or mark.rows < known.rows:
        # How many changes are missing is not said: most of them are rewards.
        missing = known.rows - mark.rows
        problem = f"{count_text(missing, 'release')} of it are missing" if missing > 0 else "changes of it are missing"
    elif (mark.rows, mark.version) == (known.rows, known.version) and mark.head not in (None, known.head):
        problem = "its ledger does not end as its mark says"
    else:
        return
    raise DatabaseError(f"Experiment {name!r} cannot go on: {problem}. {OLD_COPY}")


_MOVE_AWAY = (
    "Put the file back as it was. If it is lost, move this one away; `dpbandits marks adopt` writes a new one, if the "
    "database is the newest."
)
OLD_COPY = (
    "The database is an old copy, and going on from it would draw its noise again. Put the newest one back, or run "
    "`dpbandits restore` to see what is missing."
)


def _is_whole(content: bytes) -> bool:
    return not content.strip(b"\0") or (len(content) == _SLOT and content[_CHECK:-1] == _checksum(content[:_CHECK]))


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGITS // 2).hexdigest().encode("ascii")


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise DatabaseError(f"The marks {path} cannot be opened: {problem.strerror}.") from None
