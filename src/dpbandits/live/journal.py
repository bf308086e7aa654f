"""Journal: a file of records that survives being killed at any moment.

A record is one line (live/journal_format.py). An appended record is on disk (fsync) before `append` returns. From time
to time a shorter file, which begins with a snapshot, takes the place of the old one (live/journal_snapshot.py).

Beside the journal, or better on another disk, lies its high-water mark: the number and checksum of the last record
that was acknowledged. It tells two things apart that look alike. A last record that was never acknowledged and is
damaged was torn by a crash, and is dropped. A journal that lacks a record which was acknowledged is damaged, or an old
copy that would draw its noise again, and is refused. The mark is written after every record and forced to disk (fsync)
after every release.

One process at a time: the file is locked as long as it is open. It is for its owner alone (live/private_file.py). Until
`begin` or `go_on` nothing on disk is changed.
"""

import errno
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, JournalError
from dpbandits.live.journal_format import (
    BEGINNING,
    LONGEST_MARK,
    START,
    LineReader,
    Mark,
    can_begin,
    line_of,
    mark_of,
    parsed_mark,
    path_of_mark,
)
from dpbandits.live.journal_snapshot import UNFINISHED, JournalSnapshot, remove_unfinished
from dpbandits.live.private_file import PrivateFile
from dpbandits.live.snapshot_schedule import SnapshotSchedule

_LOST = "was deleted, moved or changed while it was open"


class Journal:
    """A journal and its mark. Read all `records`, then `begin` or `go_on`, then `append`.

    Args:
        path: the file of the journal.
        mark: that of its mark, by default PATH.mark.
    """

    def __init__(self, path: str | os.PathLike[str], mark: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path)
        self._mark_path = path_of_mark(self.path, mark)
        self._reader = LineReader()
        self._end = 0  # of the last record that was read or written, in bytes
        self._last_line = b""
        self._snapshot: JournalSnapshot | None = None  # that is being written
        self._schedule = SnapshotSchedule()
        self._written = 0  # bytes, since a part of a snapshot was written
        self._is_new_name_forced = True  # to disk, after a snapshot has taken the place
        self._file = PrivateFile(self.path, "journal")
        self._mark = PrivateFile(self._mark_path, "high-water mark")
        if self._file.place == self._mark.place:
            raise JournalError(f"The journal {self.path} cannot be its own mark.")
        for path in (self.path, self._mark_path):
            if path.name.endswith(UNFINISHED):
                raise JournalError(
                    f"{path} has the name of an unfinished snapshot, which is removed: take another one."
                )
        self._open_files = [self._file, self._mark]  # and that of a snapshot
        weakref.finalize(self, _close, self._open_files)
        try:
            self._file.open_if_there()
            self._mark.open_if_there()
            self._confirmed = self._read_mark()
        except BaseException:
            self.close()
            raise
        self._is_ready = False  # to be appended to

    @property
    def places(self) -> tuple[Path, Path]:
        """Where the journal and its mark are, whatever the working directory is now."""
        return Path(self._file.place), Path(self._mark.place)

    @property
    def acknowledged(self) -> int:
        """How many records were acknowledged, by the mark."""
        return 0 if self._confirmed is None else self._confirmed[0] + 1

    @property
    def is_empty(self) -> bool:
        """Whether no record was read."""
        return self._reader.number < 0

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records one by one. When all have come, none is missing."""
        number, expected = (-1, START) if self._confirmed is None else self._confirmed
        if number >= 0 and not self._file.is_there:
            raise JournalError(
                f"There is no journal {self.path}, and its high-water mark {self._mark_path} is of record {number}: if "
                "it was moved, give its path, or move both back. A new journal needs a mark of its own."
            )
        if self._confirmed is None and not can_begin(self._file.beginning(BEGINNING)):
            raise self._unmarked_error(is_journal=False)  # without reading it: it may be anything, of any size
        reader = self._reader
        for line in self._file.lines():
            records = reader.read(line)
            if self._confirmed is None:
                raise self._unmarked_error(is_journal=records is not None)
            if records is None:
                is_last = self._end + len(line) == self._file.size()
                if not is_last or reader.number < number:
                    raise JournalError(f"The journal {self.path} is damaged at line {reader.lines}.")
                break  # torn by a crash before it was acknowledged
            if reader.number == number and reader.checksum != expected and not reader.is_in_snapshot:
                raise JournalError(f"The journal {self.path} is not the one that its high-water mark belongs to.")
            self._last_line = line
            self._end += len(line)
            if reader.is_in_snapshot or not records:
                self._schedule.snapshot_end = self._end
            yield from records
        if reader.after[0] > number:
            raise JournalError(
                f"The journal {self.path} begins after record {reader.after[0]}, and its high-water mark is of record "
                f"{number}: that is an old copy, or that of another journal."
            )
        if reader.number < number:
            raise JournalError(
                f"The journal {self.path} ends after {reader.number + 1} records and {number + 1} were acknowledged: "
                "it is an old copy, and going on from it would draw its noise again."
            )

    def begin(self, record: dict[str, Any]) -> None:
        """Write the first record. If that fails, the files that were made for it are gone again."""
        try:
            self._file.make()
            self._file.cut_off(0)
            remove_unfinished(self._file.place)
            self._mark.make()
            self._confirm(durable=True)
            self._file.sync_folder()
            self._mark.sync_folder()
            self._append(record, durable_mark=True)
            self._is_ready = True
        except BaseException as problem:
            self._take_back()
            if isinstance(problem, OSError):
                raise self._unwritten_error(problem) from None
            raise

    def _take_back(self) -> None:
        """Remove what was made; killed anywhere in between, it leaves a journal that has yet to begin."""
        self._reader = LineReader()
        with suppress(OSError, JournalError):
            self._confirm(durable=False)
        self._file.unmake()
        self._mark.unmake()

    def force(self) -> None:
        """Force to disk what was read, and change nothing.

        The last record may have been written by a process that died before, or failed in, its fsync. It is written
        again, since a disk that failed once does not retry on its own.
        """
        try:
            if not self.is_empty:
                self._file.rewrite(self._end - len(self._last_line), self._last_line)
        except OSError as problem:
            raise self._unwritten_error(problem) from None

    def go_on(self) -> None:
        """Cut off what was torn, and confirm the rest, which was forced to disk before."""
        try:
            self._file.keep_private()
            self._mark.keep_private()
            self._file.cut_off(self._end)
            self._confirm(durable=True)
            self._file.sync_folder()
            remove_unfinished(self._file.place)
            self._is_ready = True
        except OSError as problem:
            raise self._unwritten_error(problem) from None

    def append(
        self, record: dict[str, Any], *, durable_mark: bool = False, before_mark: Callable[[], None] | None = None
    ) -> None:
        """Write a record to disk. If this fails, nobody knows how much was written: open the journal again.

        `before_mark` is called when it is on disk and before it is acknowledged: if it raises, it never is.
        """
        assert self._is_ready, "a journal is read before it is written"
        try:
            self._append(record, durable_mark, before_mark)
        except OSError as problem:
            raise self._unwritten_error(problem) from None

    def close(self) -> None:
        """Let go of the files, so that another process may open them."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.abandon()
        _close(self._open_files)

    # ---- snapshots

    def ask_for_snapshot(self) -> None:
        """Ask for a snapshot of what is true now, since something in the file has to go."""
        self._schedule.ask(self._reader.number)

    @property
    def has_snapshot_to_write(self) -> bool:
        """Whether a snapshot was begun or is due, so that `write_snapshot` writes on."""
        return self._snapshot is not None or self._schedule.is_due(self._end)

    @property
    def is_overgrown(self) -> bool:
        """Whether a snapshot has been due for long: nobody had the time to finish one."""
        return self.has_snapshot_to_write and self._schedule.is_overdue(self._end)

    @property
    def unwritten_failure(self) -> str:
        """Why a snapshot that was asked for has not been written; empty if it has, or none was asked for."""
        return self._schedule.unwritten_failure

    def write_snapshot(self, pieces: Callable[[], Iterator[dict[str, Any]]], steps: int = 1) -> None:
        """Write a part of a snapshot, if one has been begun or is due, before steps are taken.

        Args:
            pieces: returns the bandit as it is now, in pieces that are asked for one by one.
            steps: how many are taken together now. They wait longer.
        """
        if not self.has_snapshot_to_write:
            return
        # Taken out while it is written on: whatever goes wrong, it is given up, and another one is tried later.
        snapshot, self._snapshot = self._snapshot, None
        try:
            self._check_place()  # what is there now may not be ours; the step will say so
            if snapshot is None:
                snapshot = self._begun_snapshot(pieces)
            snapshot.write_part(self._written, steps)
            self._written = 0
            if not snapshot.is_complete:
                self._snapshot, snapshot = snapshot, None
                return
            self._check_place()
            self._confirm(durable=True)  # so that the mark is never of a record before the snapshot
            self._is_new_name_forced = False
            self._file.take(snapshot.finished())
        except Exception as problem:  # noqa: BLE001  (a full disk, for instance: the journal is what it was)
            is_ours = self._file.is_in_place(self._end)
            self._schedule.note_failure(self._end, _reason(problem) if is_ours else f"it {_LOST}")
            return
        finally:
            if snapshot is not None:
                snapshot.abandon()
        self._end = self._file.size()
        self._schedule.note_success(snapshot.after, snapshot.size)
        try:
            self._force_new_name()
        except OSError as problem:
            self.close()  # a record that only the new file has could be lost
            raise self._unwritten_error(problem) from None

    def finish_snapshot(self, pieces: Callable[[], Iterator[dict[str, Any]]]) -> None:
        """Write a snapshot that was begun or is due to its end: another process would have to begin it anew.

        Where one that was asked for has failed, it is tried once more.
        """
        self._schedule.try_again()
        while self.has_snapshot_to_write:
            self.write_snapshot(pieces)

    def _force_new_name(self) -> None:
        """Force to disk that a snapshot has taken the place: after a crash the old file may be found until then."""
        if not self._is_new_name_forced:
            self._file.sync_folder()
            self._is_new_name_forced = True

    def _begun_snapshot(self, pieces: Callable[[], Iterator[dict[str, Any]]]) -> JournalSnapshot:
        last = self._reader.number, self._reader.checksum
        snapshot = JournalSnapshot(self._file, self._end, last, pieces())
        self._open_files[2:] = [snapshot.file]
        self._written = 0
        return snapshot

    def _append(
        self, record: dict[str, Any], durable_mark: bool, before_mark: Callable[[], None] | None = None
    ) -> None:
        line, checksum = line_of(self._reader.checksum, record)
        self._force_new_name()
        self._write(line)
        self._reader.checksum = checksum
        self._reader.number += 1
        self._end += len(line)
        self._written += len(line)
        self._check_place()  # before it is acknowledged
        if before_mark is not None:
            before_mark()
        self._confirm(durable=durable_mark)
        if durable_mark and not self._mark.is_in_place():
            raise _lost_error(self._mark)

    def _write(self, line: bytes) -> None:
        """Write a line to disk. If there is no room for it and a snapshot takes some, that is given up."""
        try:
            self._file.write(line)
        except OSError as problem:
            snapshot, self._snapshot = self._snapshot, None
            if snapshot is None or problem.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            snapshot.abandon()
            self._schedule.note_failure(self._end, _reason(problem))
            self._file.cut_off(self._end)
            self._file.write(line)

    def _check_place(self) -> None:
        if not self._file.is_in_place(self._end):
            raise _lost_error(self._file)

    def _confirm(self, *, durable: bool) -> None:
        self._mark.overwrite(mark_of(self._reader.number, self._reader.checksum), durable=durable)

    def _read_mark(self) -> Mark | None:
        content = b"".join(self._mark.lines()) if self._mark.size() <= LONGEST_MARK else b"?"
        return parsed_mark(content, self._mark_path)

    def _unmarked_error(self, is_journal: bool) -> JournalError:
        if not is_journal:
            return JournalError(f"The file {self.path} is not a journal.")
        return JournalError(
            f"The journal {self.path} has no high-water mark {self._mark_path}, "
            "so nobody can tell whether it is an old copy that would draw its noise again. If it lies elsewhere, say "
            "where (mark=...)."
        )

    def _unwritten_error(self, problem: OSError) -> JournalError:
        return JournalError(f"The journal {self.path} cannot be written: {problem.strerror}.")


def journal_at(path: object, mark: object) -> Journal | None:
    """Return the journal at a path, not yet read; None without a path."""
    for name, value in (("journal", path), ("mark", mark)):
        is_path = isinstance(value, str | os.PathLike) and isinstance(os.fspath(value), str) and os.fspath(value) != ""
        if value is not None and not is_path:
            raise InvalidInput(f"Expected {name}={value_text(value)} to be the path of a file.")
    if path is None:
        if mark is not None:
            raise InvalidInput(f"Expected mark={value_text(mark)} together with a journal, whose mark it is.")
        return None
    return Journal(path, mark)  # type: ignore[arg-type]


def _lost_error(file: PrivateFile) -> JournalError:
    return JournalError(f"{file.path} {_LOST}.")


def _reason(problem: Exception) -> str:
    """Return why a snapshot failed, in a few words; those of the problem may speak of what is in it."""
    return str(problem.strerror) if isinstance(problem, OSError) else type(problem).__name__


def _close(files: list[PrivateFile]) -> None:
    for snapshot in files[2:]:  # which was not finished; else it has another name now
        snapshot.unmake()
    for file in files:
        file.close()
    del files[2:]
