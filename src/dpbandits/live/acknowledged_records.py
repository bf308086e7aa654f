"""AcknowledgedRecords: a journal that is only read, while its bandit may be writing it.

No lock is taken and nothing is changed: files are opened for reading and closed again. The mark is read first, then as
many records as it says were acknowledged. They are on disk by then and never change, however the journal grows. What
comes after them may be torn, or may be lost in a crash, and is ignored.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dpbandits.errors import JournalError
from dpbandits.live.journal_format import (
    BEGINNING,
    LONGEST_MARK,
    LineReader,
    Mark,
    can_begin,
    parsed_mark,
    path_of_mark,
)

_LOOKS = 100  # at a mark that may be being written


class AcknowledgedRecords:
    """The records of a journal that were acknowledged when it was opened.

    Args:
        path: the file of the journal.
        mark: that of its mark, by default PATH.mark.
    """

    def __init__(self, path: str | os.PathLike[str], mark: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path)
        mark_path = path_of_mark(self.path, mark)
        self.places = self.path.absolute(), mark_path.absolute()
        self._mark_path = mark_path
        self._last = self._settled_mark(mark_path)

    @property
    def acknowledged(self) -> int:
        """How many records were acknowledged."""
        return self._last[0] + 1

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records one by one. When all have come, they are those that the mark belongs to."""
        reader = LineReader()
        with _opened(self.path, "a journal") as file:
            while reader.number < self._last[0]:
                line = file.readline()
                if not line:
                    raise JournalError(
                        f"The journal {self.path} ends after {reader.number + 1} records and {self.acknowledged} were "
                        "acknowledged: it is an old copy."
                    )
                records = reader.read(line)
                if records is None:
                    raise JournalError(f"The journal {self.path} is damaged at line {reader.lines}.")
                if reader.after[0] > self._last[0]:  # a snapshot has taken its place since the mark was read
                    self._last = self._settled_mark(self._mark_path)
                yield from records
        if (reader.number, reader.checksum) != self._last:
            raise JournalError(f"The journal {self.path} is not the one that its high-water mark belongs to.")

    def _settled_mark(self, path: Path) -> Mark:
        """Return what the mark says, when it says the same twice: a look may come while it is written."""
        with _opened(self.path, "a journal") as file:
            is_journal = can_begin(file.read(BEGINNING))
        if not is_journal:
            raise JournalError(f"The file {self.path} is not a journal.")
        content = None
        for _ in range(_LOOKS):
            before, content = content, _content(path)
            if content == before:
                break
        else:
            raise JournalError(f"The high-water mark {path} changed whenever it was read: try again.")
        mark = parsed_mark(content or b"", path)
        if mark is None:
            raise JournalError(
                f"The journal {self.path} has no high-water mark {path}, so nobody can tell what was acknowledged. "
                "If it lies elsewhere, say where (--mark)."
            )
        if mark[0] < 0:
            raise JournalError(f"The journal {self.path} has yet to begin: nothing in it was acknowledged.")
        return mark


def _content(path: Path) -> bytes:
    if not os.path.lexists(path):
        return b""
    with _opened(path, "the mark of a journal") as file:
        return file.read(LONGEST_MARK + 1)


def _opened(path: Path, as_what: str) -> BinaryIO:
    try:
        if stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for somebody to write to it
            return open(path, "rb")
        reason: object = "it is not a regular file"
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
    raise JournalError(f"{path} cannot be opened as {as_what}: {reason}.")
