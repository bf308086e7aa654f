"""Witness: notices that a folder was rolled back, with its journal and its mark, so that nothing in it looks wrong.

Going on from there would draw noise again for sums that were released before. Only something outside the folder can
know better: a mark on another disk (`mark=`), or a witness. A witness gets the number and the hash of the ledger's
last row before a release is shown, and when a bandit begins or goes on. It answers True, and remembers both, unless it
knows a later row, or this one with another hash.
"""

from collections.abc import Callable
from typing import Any

from dpbandits._phrases import one_line
from dpbandits._validate import value_text
from dpbandits.errors import JournalError, WrongKind
from dpbandits.privacy.ledger import Head

Witness = Callable[[int, str], bool]


def validated_witness(witness: Any) -> Witness | None:
    """Return the witness, if it is a function."""
    if witness is not None and not callable(witness):
        raise WrongKind(f"Expected witness={value_text(witness)} to be a function of a row's number and hash.")
    return witness  # type: ignore[no-any-return]


def ask_witness(witness: Witness | None, head: Head) -> None:
    """Refuse to go on if the witness knows better, or does not answer."""
    if witness is None:
        return
    try:
        answer = witness(*head)
    except Exception as problem:  # noqa: BLE001  (it is told what is public, so its own words may be shown)
        raise JournalError(
            f"The witness did not answer about row {head[0]}: {type(problem).__name__}: {one_line(problem)}"
        ) from None
    if answer is not True:
        raise JournalError(
            f"The witness answered {value_text(answer)} about row {head[0]}, and not True. If it knows a later row, or "
            "another one in its place, this is an old copy, and going on from it would draw its noise again."
        )
