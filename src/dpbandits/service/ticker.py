"""Ticker: has the blocks released whose windows are over, where nobody comes who would."""

import logging
import threading

from sqlalchemy import select

from dpbandits._frames import clean
from dpbandits.errors import DPBanditsError
from dpbandits.service.schema import blocks, experiments
from dpbandits.service.steps import ReleaseDue
from dpbandits.service.store import Store
from dpbandits.service.writer import Writer

_INTERVAL = 1.0  # seconds
_AT_ONCE = 200  # experiments, so that many that are due never fill the queue
_LOG = logging.getLogger(__name__)


class Ticker:
    """Looks every second for what is due, in a thread of its own.

    Args:
        store: where it looks.
        writer: which releases.
    """

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_again_and_again, name="dpbandits ticker", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._is_over.set()
        self._thread.join()

    def _look_again_and_again(self) -> None:
        while not self._is_over.wait(_INTERVAL):
            try:
                look_for_due_blocks(self._store, self._writer)
            except DPBanditsError as problem:
                _LOG.warning("What is due could not be released. %s", problem)


@clean
def look_for_due_blocks(store: Store, writer: Writer) -> int:
    """Have everything released that is due now, and return how many blocks that were."""
    with store.database.reading() as connection:
        due = select(experiments.c.name).where(
            blocks.c.experiment == experiments.c.id,
            blocks.c.is_full & (blocks.c.until <= store.database.now(connection)),
            experiments.c.state.in_(["running", "paused"]),
        )
        names = connection.scalars(due.distinct()).all()
    released = 0
    for start in range(0, len(names), _AT_ONCE):
        for future in writer.submit_many([ReleaseDue(name) for name in names[start : start + _AT_ONCE]]):
            try:
                released += future.result()
            except DPBanditsError as problem:  # of this experiment; the others go on
                _LOG.warning("What is due could not be released. %s", problem)
    return released
