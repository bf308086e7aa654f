"""PrivateFile: a file for its owner alone, in one process at a time, in the place where it was opened.

It holds rewards, so it is refused if it is somebody else's, has a second name, is a link, or can be written by others:
then nobody knows who else has it open. If others can merely read it, as a restored copy, it is made private when it is
used. A lock keeps a second process out. A file that was deleted or moved while it was open is noticed: nothing that is
written to it would ever be found again.
"""

import io
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from dpbandits import _forks
from dpbandits.errors import JournalError

_PRIVATE = 0o600


class PrivateFile:
    """A file that may not exist yet. Errors call it `what`: a journal or a mark."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        try:
            self.place = os.path.abspath(path)  # whatever the working directory will be
        except OSError:
            raise JournalError(f"{path} cannot be found: there is no working directory.") from None
        self._handle: io.FileIO | None = None  # closed by C code, which no interrupt stops halfway
        self._identity: tuple[int, int] | None = None
        self._is_made = False
        self._process = _forks.this_process()
        _ALL.add(self)

    # ---- opening and closing

    def open_if_there(self) -> None:
        """Open and lock the file as it is; leave it if it is not there and could be made."""
        if fcntl is None:
            raise JournalError("A journal needs file locks and owners, which this operating system does not offer.")
        try:
            self._open(os.O_RDWR)
        except FileNotFoundError as problem:
            folder = os.path.dirname(self.place)
            if not os.path.isdir(folder):
                raise self._opening_error(problem.strerror) from None
            if not os.access(folder, os.W_OK | os.X_OK):
                raise self._opening_error("its folder cannot be written") from None
        except (OSError, ValueError) as problem:
            raise self._opening_error(problem.strerror if isinstance(problem, OSError) else str(problem)) from None

    def make(self) -> None:
        """Make the file if it was not there."""
        if self._handle is not None:
            self.keep_private()
            return
        try:
            self._open(os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except OSError as problem:
            raise self._opening_error(problem.strerror) from None

    def unmake(self) -> None:
        """Remove the file if it was made here, by this process. Once: a later file may have its name and its number."""
        if self._is_made and self._process == _forks.this_process() and self.is_in_place():
            with suppress(OSError):
                os.unlink(self.place)
        self._is_made = False

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None and not self._handle.closed:
            if self._process == _forks.this_process():
                with suppress(OSError):  # at once, though a forked child may have the file open too
                    fcntl.flock(self._handle, fcntl.LOCK_UN)
            with suppress(OSError):  # it is closed all the same
                self._handle.close()

    def _open(self, flags: int) -> None:
        self._handle = io.FileIO(os.open(self.place, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE), "r+")
        status = os.fstat(self._handle.fileno())
        self._identity = (status.st_dev, status.st_ino)
        if not stat.S_ISREG(status.st_mode):
            raise self._opening_error("it is not a regular file")
        if status.st_uid != os.geteuid():
            raise self._opening_error("it belongs to another user")
        if status.st_nlink != 1:
            raise self._opening_error("it has a second name (a hard link)")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise self._opening_error("others can write it; if what it holds can be trusted, run chmod 600 on it")
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._in_use_error() from None
        except OSError as problem:
            raise self._opening_error(f"it cannot be locked ({problem.strerror})") from None
        if not self.is_in_place():  # somebody who began it has given up, and removed it
            raise self._in_use_error()
        self._is_made = bool(flags & os.O_CREAT)  # and nobody else has it

    def _in_use_error(self) -> JournalError:
        return JournalError(
            f"The {self._what} {self.path} is in use: two bandits on one journal would draw its noise twice."
        )

    def _opening_error(self, reason: str | None) -> JournalError:
        as_what = "the mark of a journal" if self._what == "high-water mark" else f"a {self._what}"
        if os.path.islink(self.place):
            reason = "it is a symbolic link"
        return JournalError(f"{_short(self.path)} cannot be opened as {as_what}: {reason}.")

    def take(self, other: "PrivateFile") -> None:
        """Go on with another file, which is open and takes this one's place under its name."""
        os.replace(other.place, self.place)
        handle = self._handle
        self._handle, self._identity, other._handle = other._handle, other._identity, None
        other._is_made = False
        if handle is not None:
            handle.close()

    # ---- what is in it

    @property
    def is_there(self) -> bool:
        """Whether it was there when it was opened, or has been made since."""
        return self._handle is not None

    def size(self) -> int:
        """Return how many bytes it has; none if it is not there."""
        return 0 if self._handle is None else os.fstat(self._descriptor).st_size

    def beginning(self, size: int) -> bytes:
        """Return its first bytes."""
        return b"" if self._handle is None else os.pread(self._descriptor, size, 0)

    def part(self, start: int, size: int) -> bytes:
        """Return so many bytes of it, from there on."""
        return os.pread(self._descriptor, size, start)

    def lines(self) -> Iterator[bytes]:
        """Yield its lines one by one, each with its end."""
        if self._handle is not None:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            with open(self._descriptor, "rb", closefd=False) as file:
                yield from file

    def is_in_place(self, size: int | None = None) -> bool:
        """Tell whether the file is still the one that its name stands for and, if a size is given, has that size."""
        try:
            status = os.stat(self.place, follow_symlinks=False)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity and size in (None, status.st_size)

    # ---- writing

    def keep_private(self) -> None:
        """Take away the right of others to read it."""
        if os.fstat(self._descriptor).st_mode & 0o777 != _PRIVATE:
            os.fchmod(self._descriptor, _PRIVATE)

    def cut_off(self, end: int) -> None:
        """End the file there. From now on everything is written at its end, wherever that is."""
        os.ftruncate(self._descriptor, end)
        fcntl.fcntl(self._descriptor, fcntl.F_SETFL, fcntl.fcntl(self._descriptor, fcntl.F_GETFL) | os.O_APPEND)

    def write(self, content: bytes, *, durable: bool = True) -> None:
        """Write what comes next, and force it to disk if it must last."""
        while content:
            content = content[os.write(self._descriptor, content) :]
        if durable:
            os.fsync(self._descriptor)

    def rewrite(self, start: int, content: bytes) -> None:
        """Write from there on, and force it to disk."""
        os.lseek(self._descriptor, start, os.SEEK_SET)
        self.write(content)

    def overwrite(self, content: bytes, *, durable: bool) -> None:
        """Write over the beginning of the file, and force it to disk if it must last."""
        written = 0
        while written < len(content):
            written += os.pwrite(self._descriptor, content[written:], written)
        if durable:
            os.fsync(self._descriptor)

    def sync_folder(self) -> None:
        """Force the name of the file to disk."""
        folder = os.open(os.path.dirname(self.place), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @property
    def _descriptor(self) -> int:
        if self._handle is None or self._handle.closed:
            raise JournalError(f"The {self._what} {self.path} is not open.")
        return self._handle.fileno()


_ALL: weakref.WeakSet[PrivateFile] = weakref.WeakSet()


def _close_in_child() -> None:
    """Let go of all files in a forked child: with them it would keep the locks of an owner that died."""
    for file in list(_ALL):
        file.close()


_forks.in_child(_close_in_child)


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:100]}...{text[-20:]}"
