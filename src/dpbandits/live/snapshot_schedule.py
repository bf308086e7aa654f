"""SnapshotSchedule: when a journal takes a snapshot.

Where more steps have come since the last one than are worth reading again, or something in the file has to go. One that
fails is tried again when the journal has grown by as much as is read quickly.
"""

SHORTEST_STEPS = 2**20  # bytes of steps after which there is a snapshot, if that is not much longer itself
STEPS_SHARE = 8  # or after this part of it
OVERGROWN = 4  # times as many, and it is written before anything else


class SnapshotSchedule:
    """What was asked for, what failed, and how long the last snapshot is. Ends are those of the journal, in bytes."""

    def __init__(self) -> None:
        self.snapshot_end = 0  # of the one that the journal begins with
        self._asked_at: int | None = None  # the record after which one was asked for
        self._failed_at: int | None = None  # the end of the journal when one failed
        self._failure = ""  # why it did

    def ask(self, record: int) -> None:
        """Ask for one of what is true after a record, since something in the file has to go."""
        self._asked_at = record

    def note_failure(self, end: int, reason: str) -> None:
        """Note that one failed, and why."""
        self._failed_at, self._failure = end, reason

    def note_success(self, after: int, snapshot_end: int) -> None:
        """Note that the journal begins with a new one, of what was true after this record."""
        self.snapshot_end, self._failed_at = snapshot_end, None
        if self._asked_at is not None and after >= self._asked_at:
            self._asked_at = None

    def try_again(self) -> None:
        """Forget that one has failed, if one was asked for."""
        if self._asked_at is not None:
            self._failed_at = None

    def is_due(self, end: int) -> bool:
        """Tell whether one is to be begun."""
        if self._failed_at is not None and end - self._failed_at <= SHORTEST_STEPS:
            return False
        return self._asked_at is not None or end - self.snapshot_end > self._most_steps

    def is_overdue(self, end: int) -> bool:
        """Tell whether one should have been finished long before: nobody had the time."""
        return end - self.snapshot_end > OVERGROWN * self._most_steps

    @property
    def unwritten_failure(self) -> str:
        """Why one that was asked for has not been written; empty if it has, or none was asked for."""
        return "" if self._asked_at is None else self._failure or "it was not begun"

    @property
    def _most_steps(self) -> int:
        return max(SHORTEST_STEPS, self.snapshot_end // STEPS_SHARE)
