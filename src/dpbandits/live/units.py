"""Units: people and the keys of what they ask for, known only by keyed hashes.

Without the key nobody can tell from a hash whether a guessed person took part. Whoever has the key can: it is stored
where the hashes are stored, so this protects a list of hashes that got out, not a whole journal.
"""

import hashlib
import numbers
import re
import secrets
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from dpbandits import _validate
from dpbandits.errors import InvalidInput

_LONGEST = 10_000
_MOST_DIGITS = 4300  # which Python writes, unless it is told otherwise
_DIGEST = 16  # bytes
_HASH = re.compile(f"[0-9a-f]{{{2 * _DIGEST}}}")


def validated_contributions(contributions: int) -> int:
    """Return how many rewards one person may give."""
    return _validate.integer("[1, 1000000]", contributions=contributions)


def is_hash(text: object) -> bool:
    """Tell whether something can be one of the hashes that are made here."""
    return isinstance(text, str) and _HASH.fullmatch(text) is not None


def _validated_key(key: object) -> str | None:
    if key is None:
        return None
    if isinstance(key, str) and 0 < len(key) <= _LONGEST:
        return unicodedata.normalize("NFC", key)
    raise InvalidInput(f"Expected key={_validate.value_text(key)} to be text of 1 to {_LONGEST} characters.")


class Visit(NamedTuple):
    """Somebody who asks for an assignment: who, and the key by which a repetition is known, both as hashes."""

    unit: str | None
    key: str | None


class Units:
    """The names of people, as hashes with a key of its own.

    Args:
        contributions: how many rewards of one person enter.
    """

    def __init__(self, contributions: int) -> None:
        self.contributions = contributions
        self.key = secrets.token_hex(32)

    def hashed_unit(self, unit: str | int | None) -> str | None:
        """Return the keyed hash of a person's name; None for somebody who gives one reward and no name."""
        if unit is None:
            if self.contributions > 1:
                raise InvalidInput(
                    f"Expected unit=None to be the name of a person: with contributions={self.contributions} "
                    "the rewards of each are counted."
                )
            return None
        if isinstance(unit, bool) or not isinstance(unit, str | numbers.Integral):
            raise InvalidInput(f"Expected unit={_validate.value_text(unit)} to be text or a whole number.")
        try:
            name = unicodedata.normalize("NFC", str(unit))  # "é" can be written in two ways
        except ValueError:  # an integer with more digits than Python writes
            name = ""
        if not 0 < len(name) <= _LONGEST:
            raise InvalidInput(
                f"Expected unit={_validate.value_text(unit)} to be text of 1 to {_LONGEST} characters or a whole "
                f"number of up to {_MOST_DIGITS} digits."
            )
        # "7" and 7 are the same person: they are likely to be the same identifier, once from a table, once from a URL.
        return self._hash(name)

    def hashed_visits(self, visits: Sequence[tuple[str | int | None, str | None]]) -> list[Visit]:
        """Return people and the keys of their visits as hashes. A key is that of one person."""
        hashed_visits = []
        for unit, key in visits:
            person = self.hashed_unit(unit)
            text = _validated_key(key)
            hashed_visits.append(
                Visit(person, None if text is None else self._hash(f"{person} {text}", purpose=b"visit"))
            )
        return hashed_visits

    def hashed_key(self, key: str | None) -> str | None:
        """Return the keyed hash of the key of a closing; None if it has none."""
        text = _validated_key(key)
        return None if text is None else self._hash(text, purpose=b"closing")

    def _hash(self, text: str, purpose: bytes = b"") -> str:
        # Names may hold lone surrogates, such as those of file names.
        encoded_text = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(
            encoded_text, key=bytes.fromhex(self.key), digest_size=_DIGEST, person=purpose
        ).hexdigest()
