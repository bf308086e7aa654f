"""Reading: a learner brought to where the records of a log end. Nothing is drawn, and nothing is written."""

from collections.abc import Callable, Iterable
from typing import Any

from dpbandits._progress import Progress
from dpbandits.errors import InvalidInput, JournalError
from dpbandits.live.configuration import Configuration
from dpbandits.live.learner import Learner
from dpbandits.live.live_noise import UndrawableNoise
from dpbandits.live.log import Record
from dpbandits.live.records import replay
from dpbandits.live.snapshots import begun_learner, is_piece_taken, settle
from dpbandits.mechanisms import SecureNoise

_SHOWN_EVERY = 1000  # records between two looks at the progress bar


def read_log(
    records: Iterable[Record],
    what: str,
    expected: Callable[[], int],
    configured: Callable[[dict[str, Any]], Configuration],
    source: SecureNoise | None,
) -> Learner | None:
    """Return the learner that a log ends with; None if it has no records.

    Args:
        records: all that the log has kept.
        what: what errors call it, such as the journal trial.journal.
        expected: returns how many records and pieces of a snapshot it has at most, for the progress bar. It is asked
            when the first record has come.
        configured: returns the configuration, of the one that was written down, or refuses it.
        source: the noise source of the learner; None for one that never draws.
    """
    coming = iter(records)
    first = next(coming, None)
    if first is None:
        return None
    learner = _first_learner(first, what, configured, source)
    is_settled = False  # once all pieces of a snapshot have come
    with Progress(expected(), "records") as bar:
        bar.describe("reading")
        for number, record in enumerate(coming, start=1):
            if "piece" not in record and not is_settled:
                _settle(learner, what)
                is_settled = True
            taken = is_piece_taken(learner, record["piece"]) if "piece" in record else _is_replayed(learner, record)
            if not taken:
                raise JournalError(
                    f"The {what} cannot be followed from record {number} on: "
                    "it was written by another version of dpbandits or of the policy."
                )
            if number % _SHOWN_EVERY == 0:
                bar.advance(_SHOWN_EVERY)
    if not is_settled:
        _settle(learner, what)
    return learner


def _first_learner(
    record: Record, what: str, configured: Callable[[dict[str, Any]], Configuration], source: SecureNoise | None
) -> Learner:
    """Return the learner of the first record, with noise from the source, or one that never draws."""
    problem = None
    try:
        configuration = configured(record["configuration"])
        return begun_learner(configuration, record, source or UndrawableNoise(configuration.grid_bits))
    except JournalError:
        raise
    except InvalidInput as refusal:
        problem = str(refusal)
    except Exception:  # noqa: BLE001  (a record that somebody made up may be anything)
        problem = "Its first record is not that of a bandit."
    raise JournalError(f"The {what} cannot be followed. {problem}")


def _settle(learner: Learner, what: str) -> None:
    try:
        settle(learner)
    except InvalidInput as refusal:
        raise JournalError(f"The {what} cannot be followed. {refusal}") from None


def _is_replayed(learner: Learner, record: Record) -> bool:
    try:
        return replay(learner, record)
    except Exception:  # noqa: BLE001  (a record that somebody made up may be anything)
        return False
