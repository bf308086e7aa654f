"""Log: where the steps of a bandit are kept, record by record, so that it can go on from them.

A journal is one (live/journal.py). Its contract is narrow: what `append` has returned for is kept, and `records` yields
all that is kept, in order, once, before anything is appended.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

Record = dict[str, Any]


class Log(Protocol):
    """Records, kept in order."""

    def records(self) -> Iterator[Record]:
        """Yield what was kept: what a bandit began with, or a later snapshot in pieces, and every step after it."""

    def append(
        self, record: Record, *, durable_mark: bool = False, before_mark: Callable[[], None] | None = None
    ) -> None:
        """Keep one more record, and return when nothing can take it away any more.

        Args:
            record: plain JSON.
            durable_mark: whether it holds a release, so that it must be known for ever that it was kept.
            before_mark: called when it is kept and before that is acknowledged; if it raises, it never is.
        """
