"""Units: how often a person has entered, known only by a keyed hash.

Without the key nobody can tell from a hash whether a guessed person took part. Whoever has the key can: it is stored
where the hashes are stored, so this protects a list of hashes that got out, not a whole journal.
"""

import hashlib
import numbers
import secrets
import unicodedata

from dpbandits import _validate
from dpbandits.errors import InvalidInput

_LONGEST = 10_000


def validated_contributions(contributions: int) -> int:
    """Return how many rewards one person may give."""
    return _validate.integer("[1, 1000000]", contributions=contributions)


class Units:
    """What is remembered of every named person: how many rewards they may still give, and their latest arm."""

    def __init__(self, contributions: int) -> None:
        self.contributions = contributions
        self.key = secrets.token_hex(32)
        self.seen: dict[str, tuple[int, int]] = {}  # by hash: times entered, latest arm

    def hashed(self, unit: str | int | None) -> str | None:
        """Return the keyed hash of a person's name; None for somebody who gives one reward and no name."""
        if unit is None:
            if self.contributions > 1:
                raise InvalidInput(
                    f"Expected unit=None to be the name of a person: with contributions={self.contributions} "
                    "the rewards of each are counted."
                )
            return None
        if isinstance(unit, bool) or not isinstance(unit, str | numbers.Integral):
            raise InvalidInput(f"Expected unit={_validate.shown(unit)} to be text or a whole number.")
        try:
            name = unicodedata.normalize("NFC", str(unit))  # "é" can be written in two ways
        except ValueError:  # an integer of thousands of digits
            name = ""
        if not 0 < len(name) <= _LONGEST:
            raise InvalidInput(f"Expected a unit of 1 to {_LONGEST} characters or a whole number of that many digits.")
        # "7" and 7 are the same person: they are likely to be the same identifier, once from a table, once from a URL.
        # Names may hold lone surrogates, such as those of file names.
        return hashlib.blake2b(
            name.encode("utf-8", "surrogatepass"), key=bytes.fromhex(self.key), digest_size=16
        ).hexdigest()

    def settled_arm(self, hashed: str | None) -> int | None:
        """Return the latest arm of a person who has given all their rewards; None for everyone else."""
        if hashed is None or hashed not in self.seen:
            return None
        entered, arm = self.seen[hashed]
        return arm if entered >= self.contributions else None

    def note(self, hashed: str | None, arm: int, enters: bool) -> None:
        """Remember that a person was given an arm, and whether their reward enters the learner."""
        if hashed is not None:
            entered, _ = self.seen.get(hashed, (0, arm))
            self.seen[hashed] = (entered + enters, arm)
