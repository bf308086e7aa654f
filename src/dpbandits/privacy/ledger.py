"""Ledger: an append-only list of rows, each chained to the one before by a SHA-256 hash.

A row is one line of JSON with four columns: its number, the hash of the row before, its content, and its own
hash. The hash is taken over the canonical JSON of the first three (sorted keys, no spaces, ASCII), so anyone
can check an export with a JSON parser and a hash function. Floats are written with the shortest digits that
read back as the same float, so the form is exact. What belongs into a content is up to the writer; releases
come from `RecordingNoise`. Sums, noise and rewards never do.

>>> ledger = Ledger()
>>> _ = ledger.append({"configuration": "example"})
>>> row = ledger.append({"mechanism": "discrete laplace", "scale": 0.1, "value": 3.25})
>>> verify(ledger.to_jsonl()) == ledger.head == (1, row.hash)
True
>>> verify(ledger.to_jsonl().replace("3.25", "3.5"))
Traceback (most recent call last):
dpbandits.errors.LedgerError: Row 1 was changed: its hash does not fit its columns.
"""

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpbandits._extras import require_extras
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, LedgerError, WrongKind

if TYPE_CHECKING:
    import pandas as pd

GENESIS = "0" * 64  # what row 0 has for the hash of the row before
Head = tuple[int, str]
_TWICE = "a key appears twice"


@dataclass(frozen=True)
class Row:
    """One row. Its content is kept as text, so it cannot be changed through a reference."""

    number: int
    previous: str
    content_json: str
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """A fresh copy of what the row says."""
        content: dict[str, Any] = json.loads(self.content_json)
        return content

    def to_json(self) -> str:
        """Return the row's line in the export."""
        return canonical_json(
            {"content": self.content, "hash": self.hash, "number": self.number, "previous": self.previous}
        )


class Ledger:
    """An append-only, hash-chained list of rows."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._lock = threading.Lock()

    def append(self, content: Mapping[str, Any]) -> Row:
        """Add a row and return it.

        Args:
            content: plain JSON: text, finite numbers, booleans, None, and lists and mappings of these.

        Raises:
            InvalidInput: the content is something else. No row was added.
        """
        content_json = canonical_json(content)
        with self._lock:
            row = _chained(len(self._rows), self.head[1], content_json)
            self._rows.append(row)
        return row

    def append_stored(self, row: Row) -> None:
        """Add a row as it is stored, without hashing it again; `verify` does.

        Raises:
            LedgerError: the row does not follow the last one. No row was added.
        """
        with self._lock:
            check_following([row], self.head)
            self._rows.append(row)

    @classmethod
    def from_rows(cls, rows: Iterable[Row]) -> "Ledger":
        """Return a ledger that goes on from rows as they are stored, without hashing them again; `verify` does.

        Args:
            rows: from row 0 on.

        Raises:
            LedgerError: the rows do not follow each other.
        """
        ledger = cls()
        for row in rows:
            ledger.append_stored(row)
        return ledger

    @property
    def head(self) -> Head:
        """The number and hash of the last row; (-1, 64 zeros) when there is none. Keep it elsewhere."""
        return (self._rows[-1].number, self._rows[-1].hash) if self._rows else (-1, GENESIS)

    def to_jsonl(self) -> str:
        """Return the export: one row per line."""
        return "".join(row.to_json() + "\n" for row in self._rows)

    @classmethod
    def from_jsonl(cls, text: str, head: Head | None = None) -> "Ledger":
        """Read an export and verify it on the way.

        Args:
            text: the export, a row per line.
            head: the number and the hash of the last row, as they were kept; by default any end will do.

        Raises:
            LedgerError: a row was changed, removed, added or moved, or the ledger does not end at the head.
        """
        validated_head(head)
        ledger = cls()
        ledger._rows.extend(_verified_rows(text))
        _check_head(ledger.head, head)
        return ledger

    def to_pandas(self) -> "pd.DataFrame":
        """Return the releases as a table, indexed by the numbers of their rows, a column for everything they say."""
        require_extras("pandas")
        import pandas as pd

        contents = {row.number: row.content for row in self}
        releases = {number: content for number, content in contents.items() if "mechanism" in content}
        return pd.DataFrame(list(releases.values()), index=pd.Index(list(releases), dtype="int64", name="row"))

    def verify(self) -> Head:
        """Check the chain again and return the head; raise LedgerError at the first row that does not fit."""
        return verify(self.to_jsonl())

    def copy(self) -> "Ledger":
        """Return an independent ledger with the same rows."""
        ledger = Ledger()
        ledger._rows = self._rows.copy()
        return ledger

    def __iter__(self) -> Iterator[Row]:
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> Row:
        return self._rows[number]


def verify(text: str, head: Head | None = None) -> Head:
    """Check the chain of an export and return its head.

    A chain cannot show that rows are missing at its end, or were added: pass the `head` that was kept elsewhere to
    check that. The content of the rows is not checked; `dpbandits.live.check_ledger` does that as well.

    Args:
        text: the export, a row per line.
        head: the number and the hash of the last row, as they were kept; by default any end will do.

    Raises:
        LedgerError: a row was changed, removed, added or moved, or the ledger does not end at the head. The message
            names the first row that does not fit.
    """
    validated_head(head)
    end = (-1, GENESIS)
    for row in _verified_rows(text):
        end = (row.number, row.hash)
    _check_head(end, head)
    return end


def canonical_json(content: Mapping[str, Any]) -> str:
    """Return the one JSON text that the hashes are taken over."""
    if not isinstance(content, Mapping):
        raise InvalidInput(f"Expected {value_text(content)} to be a mapping.")
    plain = dict(content)
    try:
        _check_plain(plain)
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise InvalidInput("Expected the content to be nested less deeply.") from None


def check_following(rows: Iterable[Row], head: Head) -> None:
    """Raise LedgerError unless these rows, as they are stored, follow each other and the head."""
    for row in rows:
        if (row.number, row.previous) != (head[0] + 1, head[1]):
            raise LedgerError(f"Row {row.number} does not follow row {head[0]}.")
        head = row.number, row.hash


def _chained(number: int, previous: str, content_json: str) -> Row:
    columns = canonical_json({"content": json.loads(content_json), "number": number, "previous": previous})
    return Row(number, previous, content_json, hashlib.sha256(columns.encode("ascii")).hexdigest())


def _verified_rows(text: str) -> Iterator[Row]:
    if not isinstance(text, str):
        raise WrongKind(f"Expected a ledger as text, not {value_text(text)}.")
    if not text.strip():
        raise LedgerError("The text is empty: a ledger has at least one row.")
    previous = GENESIS
    for number, line in enumerate(text.rstrip().splitlines()):  # editors add blank lines at the end
        try:
            columns = json.loads(line, object_pairs_hook=_unique)
            expected = _chained(columns["number"], columns["previous"], canonical_json(columns["content"]))
            is_complete = columns.keys() == {"content", "hash", "number", "previous"}
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            raise LedgerError(f"Row {number} cannot be read as a row of a ledger: {_reason(problem)}.") from None
        if not is_complete:
            raise LedgerError(f"Row {number} has other columns than content, hash, number and previous.")
        if columns["hash"] != expected.hash:
            raise LedgerError(f"Row {number} was changed: its hash does not fit its columns.")
        if type(expected.number) is not int or (expected.number, expected.previous) != (number, previous):
            raise LedgerError(f"Row {number} does not follow the row before: a row was removed, added or moved.")
        previous = expected.hash
        yield expected


def _check_head(end: Head, expected: Head | None) -> None:
    if expected is not None and end != tuple(expected):
        raise LedgerError(
            f"The ledger ends at row {end[0]} with hash {end[1]}, "
            f"not at the expected head, row {value_text(expected[0])} with hash {expected[1][:64]}."
        )


def is_hash(text: str) -> bool:
    """Tell whether a text could be the hash of a row."""
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def read_head(text: str) -> Head | str:
    """Return the head that a text gives: HASH, NUMBER:HASH, a line that shows that, or the pair as Python prints it."""
    plain = text.strip().lower().removeprefix("head:").strip()
    if plain.startswith("(") and plain.endswith(")"):
        plain = ":".join(part.strip(" '\"") for part in plain[1:-1].split(","))
    number, colon, digest = plain.rpartition(":")
    is_number = number.isascii() and number.isdigit() and len(number) < 20
    if not is_hash(digest) or (colon and not is_number):
        raise InvalidInput(
            f"Expected head={value_text(text)} as HASH or NUMBER:HASH, with a hash of 64 digits and letters."
        )
    return (int(number), digest) if colon else digest


def validated_head(head: object) -> None:
    """Raise InvalidInput unless this is None or the number and the hash of a row."""
    if head is None:
        return
    number, digest = head if isinstance(head, tuple | list) and len(head) == 2 else (None, None)
    if type(number) is not int or not isinstance(digest, str):
        raise InvalidInput(f"Expected head={value_text(head)} to be the number and the hash of a row.")


def _reason(problem: Exception) -> str:
    """Return what is wrong with a line in a few words, whatever is in it."""
    if isinstance(problem, json.JSONDecodeError):
        return f"{problem.msg.removesuffix(' at')} at character {problem.pos}"
    if isinstance(problem, InvalidInput):
        return "its content is not plain JSON"
    if isinstance(problem, RecursionError):
        return "it is nested too deeply"
    if isinstance(problem, KeyError):
        return f"it has no column {value_text(*problem.args)}"
    if isinstance(problem, ValueError):  # Python reads no integers of thousands of digits
        return _TWICE if _TWICE in problem.args else "a number is too long"
    return "it is not a JSON object with the columns content, hash, number and previous"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError(_TWICE)
    return unique


def _check_plain(value: object) -> None:
    """Refuse what JSON would change on the way: tuples, numpy numbers, other keys than text, NaN."""
    if type(value) in (str, int, bool, type(None)) or (type(value) is float and abs(value) < float("inf")):
        return
    if type(value) is dict and all(type(key) is str for key in value):
        for part in value.values():
            _check_plain(part)
    elif type(value) is list:
        for part in value:
            _check_plain(part)
    else:
        raise InvalidInput(
            f"Expected {value_text(value)} to be plain JSON: "
            "text, a finite number, a boolean, None, a list or a mapping of text."
        )
