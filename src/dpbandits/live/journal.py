"""Journal: an append-only file of records that survives being killed at any moment.

A record is one line, a checksum and JSON. The checksum covers the record and the checksum before it, so it shows when
records were changed, removed or moved by accident (whoever can write the file can compute checksums too). An appended
record is on disk (fsync) before `append` returns.

Beside the journal lies its high-water mark, PATH.mark: the number and checksum of the last record that was
acknowledged. It tells two things apart that look alike. A last record that was never acknowledged and is damaged was
torn by a crash, and is dropped. A journal that lacks a record which was acknowledged is damaged, or an old copy that
would draw its noise again, and is refused. The mark is written after every record and forced to disk (fsync) after
every release.

One process at a time: the file is locked as long as it is open.
"""

import hashlib
import json
import os
import re
import stat
import weakref
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from dpbandits.errors import JournalError

_CHECKSUM = 16  # hexadecimal digits
_START = "0" * _CHECKSUM
_MARK = re.compile(rb"(-1|[0-9]+) +([0-9a-f]{%d})\n" % _CHECKSUM)
_MARK_WIDTH = 20  # digits of the number, so that a new mark always covers the old one


class Journal:
    """An open journal: `records` is what it held when it was opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = _opened(self.path)
        files = [self._file]
        self._finalizer = weakref.finalize(self, _close_files, files, os.getpid())
        _OPEN.add(self)
        try:
            _lock(self._file, self.path)
            self.records, self._checksum, lines = self._read()
            self._count = len(self.records)
            self._settle(lines)
            self._mark = _opened(self._mark_path)
            files.append(self._mark)
            self._confirm(durable=True)
            _sync_folder(self.path)
        except OSError as problem:
            self.close()
            raise JournalError(f"The journal {self.path} cannot be written: {problem.strerror}.") from None
        except BaseException:
            self.close()
            raise

    def append(self, record: dict[str, Any], *, durable_mark: bool = False) -> None:
        """Write a record to disk. If this fails, nobody knows how much was written: open the journal anew."""
        line, self._checksum = _line(self._checksum, record)
        try:
            _write(self._file, line)
            os.fsync(self._file)
            self._count += 1
            self._confirm(durable=durable_mark)
        except OSError as problem:
            raise JournalError(f"The journal {self.path} cannot be written: {problem.strerror}.") from None

    def close(self) -> None:
        """Let go of the file, so that another process may open it."""
        self._finalizer()

    @property
    def _mark_path(self) -> Path:
        return self.path.with_name(self.path.name + ".mark")

    def _settle(self, lines: list[bytes]) -> None:
        """Cut off what was torn, and force the rest to disk before it is confirmed.

        The last record may have been written by a process that died before, or failed in, its fsync. It is written
        again, since a disk that failed once does not try again by itself.
        """
        end = sum(map(len, lines))
        os.ftruncate(self._file, end)
        if lines:
            os.lseek(self._file, end - len(lines[-1]), os.SEEK_SET)
            _write(self._file, lines[-1])
        os.fsync(self._file)

    def _confirm(self, *, durable: bool) -> None:
        os.pwrite(self._mark, f"{self._count - 1:<{_MARK_WIDTH}} {self._checksum}\n".encode("ascii"), 0)
        if durable:
            os.fsync(self._mark)

    def _read(self) -> tuple[list[dict[str, Any]], str, list[bytes]]:
        """Return the records, the last checksum, and the lines that hold them."""
        confirmed = self._read_mark()
        with open(self._file, "rb", closefd=False) as file:
            lines = file.readlines()
        if lines and _parsed(_START, lines[0])[0] is None and confirmed is None:
            raise JournalError(f"The file {self.path} is no journal.")
        if confirmed is None and lines:
            raise JournalError(
                f"The journal {self.path} has no high-water mark {self._mark_path.name} beside it, "
                "so nobody can tell whether it is an old copy that would draw its noise again."
            )
        number, expected = confirmed or (-1, _START)
        records: list[dict[str, Any]] = []
        checksum = _START
        if number == -1 and expected != _START:
            raise JournalError(f"The high-water mark {self._mark_path} is damaged.")
        for line in lines:
            record, next_checksum = _parsed(checksum, line)
            if record is None:
                is_last = len(records) == len(lines) - 1
                if not is_last or len(records) <= number:
                    raise JournalError(f"The journal {self.path} is damaged at record {len(records)}.")
                break  # torn by a crash before it was acknowledged
            checksum = next_checksum
            if len(records) == number and checksum != expected:
                raise JournalError(f"The journal {self.path} is not the one that its high-water mark belongs to.")
            records.append(record)
        if len(records) <= number:
            raise JournalError(
                f"The journal {self.path} ends after {len(records)} records and {number + 1} were acknowledged: "
                "it is an old copy, and going on from it would draw its noise again."
            )
        return records, checksum, lines[: len(records)]

    def _read_mark(self) -> tuple[int, str] | None:
        try:
            content = self._mark_path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise JournalError(f"The high-water mark {self._mark_path} cannot be read: {problem.strerror}.") from None
        matched = _MARK.fullmatch(content)
        if content and matched is None:
            raise JournalError(f"The high-water mark {self._mark_path} is damaged.")
        return (int(matched[1]), matched[2].decode()) if matched else None  # empty: killed while it was made


def _line(checksum: str, record: dict[str, Any]) -> tuple[bytes, str]:
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    checksum = _chained(checksum, text.encode("ascii"))
    return f"{checksum} {text}\n".encode("ascii"), checksum


def _parsed(checksum: str, line: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the record of a line and its checksum; None if the line is not what was written after `checksum`."""
    found, text = line[:_CHECKSUM], line[_CHECKSUM + 1 : -1]
    checksum = _chained(checksum, text)
    if not line.endswith(b"\n") or line[_CHECKSUM : _CHECKSUM + 1] != b" " or found != checksum.encode("ascii"):
        return None, ""
    record: dict[str, Any] = json.loads(text)
    return record, checksum


def _chained(checksum: str, text: bytes) -> str:
    return hashlib.blake2b(checksum.encode("ascii") + text, digest_size=_CHECKSUM // 2).hexdigest()


def _opened(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # it holds rewards: for the owner alone
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise JournalError(f"{path} cannot be opened as a journal: {reason}.") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise JournalError(f"{path} cannot be opened as a journal: it is no regular file.")
    return file


def _lock(file: int, path: Path) -> None:
    if fcntl is None:
        raise JournalError("A journal needs file locks, which this operating system does not offer.")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise JournalError(
            f"The journal {path} is in use: two bandits on one journal would draw its noise twice."
        ) from None


def _write(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _sync_folder(path: Path) -> None:
    """Force the names of new files to disk."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _close_files(files: list[int], owner: int) -> None:
    if fcntl is not None and os.getpid() == owner:
        fcntl.flock(files[0], fcntl.LOCK_UN)  # at once, though a forked child may still have the file open
    for file in files:
        os.close(file)


def _close_in_child() -> None:
    """Let go of the files in a forked child: with them it would keep the lock of an owner that died."""
    for journal in list(_OPEN):
        journal.close()


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
