"""The step lock: one process, one thread, one step at a time, and each to its end."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from dpbandits._forks import this_process
from dpbandits.errors import StepError

FORKED = "This bandit belongs to the process that made it: a copy would draw its noise again."
BUSY = "This bandit is in the middle of a step: what it has released so far may not be on disk."
ENDED = "This bandit was moved or has let go of its journal: it takes no more steps."
FAILED = (
    "An earlier step failed halfway, as its own error said: this bandit can no longer be used. If it has a journal, "
    "open it again."
)


class StepLock:
    """Who may take a step now.

    Args:
        let_go: called when a step was found that will never end, to let go of what it holds.

    Attributes:
        is_midway: set before a step changes anything and cleared after it. If it is found set, a step did not come to
            its end, and what it drew may have been seen, or may not be on disk.
        has_ended: set when no more steps are taken.
    """

    def __init__(self, let_go: Callable[[], None]) -> None:
        self.is_midway = False
        self.has_ended = False
        self._let_go = let_go
        self._lock = threading.RLock()
        self._process = this_process()

    def exclusive(self) -> AbstractContextManager[bool]:
        """Return the lock: one process, one thread, and in that thread one step at a time.

        A signal handler or a finalizer that runs in the middle of a step is refused. (The lock is left by C code, which
        no interrupt can keep from leaving it.)
        """
        if this_process() != self._process:
            raise StepError(FORKED)
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise StepError(BUSY)
        return self._lock

    def check_readable(self) -> None:
        """With the lock: refuse to read what a step has left halfway."""
        if self.is_midway:
            self._let_go_if_midway()
            raise StepError(FAILED)

    def check_open(self) -> None:
        """With the lock: refuse a step after the last one."""
        self.check_readable()
        if self.has_ended:
            raise StepError(ENDED)

    def after_failure(self) -> None:
        """Let go if the step that failed was in the middle."""
        # Not in a child, whose lock may never be left, and not inside of a step that this call has interrupted.
        if this_process() == self._process and not self._lock._is_owned():  # type: ignore[attr-defined]
            with self._lock:
                self._let_go_if_midway()

    def _let_go_if_midway(self) -> None:
        """With the lock, which a step holds to its end: if one is in the middle now, it will never end."""
        if self.is_midway:
            self._let_go()
