"""JournalSnapshot: a new file for a journal, which begins with a snapshot and takes the place of the old one.

The file of a journal holds every step, and every reward, since it began. From time to time a shorter one is written
beside it: the bandit as it is, then the records that have come since. That is done in small parts, each by a step, so
that no step waits long. When it has all that the old one has, it takes that one's name, in one instant: whenever the
power fails, one of the two is there, whole.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpbandits.live.journal_format import Mark, snapshot_lines
from dpbandits.live.private_file import PrivateFile

UNFINISHED = ".unfinished-snapshot"  # the end of the name of its file
PART = 2**15  # bytes that one step writes
_LINES = 16  # that one step writes at most, however short they are: there may be much to look at for one
_MOST_OWED = 2**18  # bytes that one step writes besides, if the journal has grown by a large batch
_STEP = 400  # as many for every one in a batch, which it may add to the journal
_FORCED = 2**20  # bytes between two waits for the disk


def path_of_snapshot(journal: str) -> Path:
    """Return where the next file of a journal is written."""
    return Path(f"{journal}{UNFINISHED}")


def remove_unfinished(journal: str) -> None:
    """Remove a snapshot that was not finished; it holds rewards."""
    path = path_of_snapshot(journal)
    with suppress(OSError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            path.unlink()


class JournalSnapshot:
    """A snapshot on its way into a new file.

    Args:
        journal: the file that it will replace.
        end: how long that is now. What comes after is copied.
        last: the number and the checksum of the last record in it.
        pieces: what there is to write, as it is now.
    """

    def __init__(self, journal: PrivateFile, end: int, last: Mark, pieces: Iterator[dict[str, Any]]) -> None:
        self._journal = journal
        self._copied = end  # of the old file, in bytes
        self._pieces = pieces
        self._lines: Iterator[bytes] | None = snapshot_lines(*last, pieces)
        self.after = last[0]  # the record
        self._unforced = 0
        self._owed = 0  # bytes, for what the old file has grown by
        self.size = 0  # of the snapshot alone, once it is finished
        self._length = 0  # of the file, in bytes
        remove_unfinished(journal.place)
        self.file = PrivateFile(path_of_snapshot(journal.place), "snapshot of a journal")
        try:
            self.file.make()
            self.file.cut_off(0)
        except BaseException:
            self.abandon()
            raise

    def write_part(self, appended: int, steps: int) -> None:
        """Write on, faster than the old file grows.

        Args:
            appended: by so many bytes since the last part.
            steps: as many are taken together now.
        """
        self._owed += 4 * appended
        paid = min(self._owed, _MOST_OWED + _STEP * steps)
        self._owed -= paid
        part = PART + paid
        least = -(-PART // _LINES)
        while part > 0 and self._lines is not None:
            line = next(self._lines, None)
            if line is None:
                self._lines = None
            else:
                part -= max(len(line), least)
                self.size += len(line)
                self._write(line)
        missing = self._journal.size() - self._copied
        if self._lines is None and part > 0 and missing > 0:
            content = self._journal.part(self._copied, min(part, missing))
            self._copied += len(content)
            self._write(content)

    @property
    def is_complete(self) -> bool:
        """Whether it has all that the old file has."""
        return self._lines is None and self._copied == self._journal.size()

    def finished(self) -> PrivateFile:
        """Return the new file, all of which is on disk, if it is still what its name stands for."""
        self.file.write(b"")
        if not self.file.is_in_place(self._length):
            raise OSError(errno.ESTALE, "its file was deleted, moved or changed meanwhile")
        return self.file

    def abandon(self) -> None:
        """Let go of what was written."""
        self._pieces.close()  # type: ignore[attr-defined]
        self.file.unmake()
        self.file.close()

    def _write(self, content: bytes) -> None:
        self._length += len(content)
        self._unforced += len(content)
        is_much = self._unforced >= _FORCED
        self.file.write(content, durable=is_much)
        if is_much:
            self._unforced = 0
