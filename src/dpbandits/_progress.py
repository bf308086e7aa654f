"""A progress bar with the time left, shown only when something takes longer than a second."""

import threading
from types import TracebackType
from typing import Any

_PATIENCE = 1.0  # seconds


class Progress:
    """Counts what is finished, and shows a bar on standard error after a second if that is a terminal, or on request.

    One bar at a time: work inside other work that already shows a bar shows none.
    """

    _is_taken = threading.Lock()  # held by the bar that is shown

    def __init__(self, total: int, what: str, is_wanted: bool | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True, force_terminal=is_wanted or None)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{what}, time left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not (console.is_terminal if is_wanted is None else is_wanted),
        )
        self._task: Any = self._bar.add_task("", total=total)
        self._lock = threading.Lock()
        self._is_shown = self._is_over = False
        self._timer = threading.Timer(_PATIENCE, self._start)
        self._timer.daemon = True

    def describe(self, what: str) -> None:
        """Say what is being done."""
        self._bar.update(self._task, description=what)

    def advance(self, finished: int) -> None:
        """Count that many more as finished."""
        self._bar.advance(self._task, finished)

    def _start(self) -> None:
        with self._lock:
            if not self._is_over and self._is_taken.acquire(blocking=False):
                self._is_shown = True
                self._bar.start()

    def __enter__(self) -> "Progress":
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._is_shown:
                self._bar.stop()
                self._is_taken.release()
