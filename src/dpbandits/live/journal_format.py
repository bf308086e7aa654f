"""The format of a journal: the lines of a journal and the words of its mark, as bytes.

A record is one line, a checksum and JSON. Number 0 is the beginning, every other one a step. The checksum covers the
record and the checksum before it, so it shows when records were changed, removed or moved by accident (whoever can
write the file can compute checksums too). A mark is the number and the checksum of the last record that was
acknowledged.

A journal may begin with a snapshot instead of record 0: lines with a chain of checksums of their own, of which the
first says after which record it was taken. The last one ends it, and the next record has the checksums that it had in
the file before. So a mark belongs to both files, whichever of them a crash leaves.

    <checksum> {"snapshot":{...},"after":[1000,"<checksum of record 1000>"]}
    <checksum> {"piece":{...}}
    <checksum> {"end":true}
    <checksum of record 1001> {...}
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from dpbandits.errors import JournalError

Mark = tuple[int, str]

_DIGITS = 16  # of a checksum, hexadecimal
START = "0" * _DIGITS
BEGINNING = _DIGITS + 1  # bytes of a journal that tell whether it can be one
_BEGINNING = re.compile(rb"[0-9a-f]{0,%d} ?" % _DIGITS)
_CHECKSUM = re.compile(f"[0-9a-f]{{{_DIGITS}}}")
_MARK = re.compile(rb"(-1|[0-9]+) +([0-9a-f]{%d})\n" % _DIGITS)
_MARK_WIDTH = 20  # digits of the number, so that a new mark always covers the old one
LONGEST_MARK = 100  # bytes


def path_of_mark(journal: Path, mark: str | os.PathLike[str] | None) -> Path:
    """Return where the mark of a journal is: beside it, unless it was put elsewhere."""
    return Path(f"{journal}.mark") if mark is None else Path(mark)


def can_begin(content: bytes) -> bool:
    """Tell whether a journal, however short it is, can begin with these bytes."""
    return _BEGINNING.fullmatch(content) is not None


def mark_of(number: int, checksum: str) -> bytes:
    """Return the mark of the record with this number and checksum; -1 before the first one."""
    return f"{number:<{_MARK_WIDTH}} {checksum}\n".encode("ascii")


def parsed_mark(content: bytes, path: Path) -> Mark | None:
    """Return what a mark says; None if there is none, or an empty one, left by a kill while it was made."""
    if not content:
        return None
    matched = _MARK.fullmatch(content)
    if matched is None or (matched[1] == b"-1" and matched[2] != START.encode("ascii")):
        raise JournalError(f"The high-water mark {path} is damaged.")
    return int(matched[1]), matched[2].decode("ascii")


def line_of(checksum: str, record: dict[str, Any]) -> tuple[bytes, str]:
    """Return the line of a record that is written after `checksum`, and its own checksum."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    checksum = chained(checksum, text.encode("ascii"))
    return f"{checksum} {text}\n".encode("ascii"), checksum


def parsed_line(checksum: str, line: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the record of a line and its checksum; None if the line is not what was written after `checksum`."""
    prefix, text = line[:_DIGITS], line[_DIGITS + 1 : -1]
    checksum = chained(checksum, text)
    if not line.endswith(b"\n") or line[_DIGITS : _DIGITS + 1] != b" " or prefix != checksum.encode("ascii"):
        return None, ""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):  # somebody else computed the checksum
        return None, ""
    return (record, checksum) if isinstance(record, dict) else (None, "")


class LineReader:
    """Reads the lines of a journal, one after the other.

    Attributes:
        number: of the last record that was read, or is in the snapshot; -1 before.
        checksum: that of the line, or of the record, that the next line follows.
        is_in_snapshot: whether the end of a snapshot is still to come.
        after: the number and the checksum of the last record that is in the snapshot.
        lines: how many lines were looked at.
    """

    def __init__(self) -> None:
        self.number = -1
        self.checksum = START
        self.is_in_snapshot = False
        self.after: Mark = (-1, START)
        self.lines = 0

    def read(self, line: bytes) -> list[dict[str, Any]] | None:
        """Return what a line says: a record, or nothing if it ends a snapshot; None if it is not the next line."""
        self.lines += 1
        content, checksum = parsed_line(self.checksum, line)
        if content is None:
            return None
        words = content.keys()
        if self.is_in_snapshot:
            self.checksum = checksum
            if words == {"end"}:
                self.is_in_snapshot = False
                self.number, self.checksum = self.after
                return []
            return [content] if words == {"piece"} else None
        if words & {"piece", "end"}:  # only a snapshot has them
            return None
        if words & {"snapshot", "after"}:
            after = _moment(content.get("after"))
            if self.checksum != START or self.number >= 0 or after is None or "snapshot" not in words:
                return None
            self.is_in_snapshot = True
            self.after, self.checksum = after, checksum
            return [content["snapshot"]]
        self.number, self.checksum = self.number + 1, checksum
        return [content]


def lines_in(path: Path) -> int:
    """Return how many lines a journal has; 0 if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return sum(part.count(b"\n") for part in iter(partial(file.read, 2**20), b""))
    except OSError:
        return 0


def _moment(plain: Any) -> Mark | None:
    """Return the number and the checksum of a record, if they can be those."""
    number, checksum = plain if isinstance(plain, list) and len(plain) == 2 else (None, None)
    if type(number) is not int or number < 0 or not isinstance(checksum, str) or not _CHECKSUM.fullmatch(checksum):
        return None
    return number, checksum


def snapshot_lines(number: int, checksum: str, pieces: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Yield the lines of a snapshot, taken after the record with this number and checksum; some are empty."""
    line, chain = line_of(START, {"snapshot": next(pieces), "after": [number, checksum]})
    yield line
    for piece in pieces:
        if any(piece.values()):
            line, chain = line_of(chain, {"piece": piece})
            yield line
        else:
            yield b""  # it has taken its time all the same
    line, _ = line_of(chain, {"end": True})
    yield line


def chained(checksum: str, text: bytes) -> str:
    """Return the checksum of a text that is written after `checksum`."""
    return hashlib.blake2b(checksum.encode("ascii") + text, digest_size=_DIGITS // 2).hexdigest()
