"""ReadyBlocks: the blocks that a step releases, in order. Those of an arm come one after the other."""

from dpbandits.live.book import BlockKey, Book
from dpbandits.live.counts import Counts


class ReadyBlocks:
    """Blocks that are complete or due; found before any of them is released."""

    def __init__(self, counts: Counts, book: Book) -> None:
        self.blocks: list[BlockKey] = []
        self._counts = counts
        self._book = book
        self._next: dict[int, int] = {}  # of an arm of which some are ready: the one after these

    def add_complete(self, arm: int) -> None:
        """Add the arm's next full blocks that have all their answers."""
        block = self._next_block(arm)
        while block < self._counts.filling[arm] and self._book.has_all_answers(arm, block):
            self._add(arm, block)
            block += 1

    def add_due(self, arm: int, block: int) -> None:
        """Add a block whose window is over, unless it is there already; those before it are."""
        if block == self._next_block(arm):
            self._add(arm, block)

    def clear(self) -> None:
        """Forget all: they were released."""
        self.blocks.clear()
        self._next.clear()

    def _next_block(self, arm: int) -> int:
        return self._next.get(arm, self._counts.released[arm])

    def _add(self, arm: int, block: int) -> None:
        self.blocks.append((arm, block))
        self._next[arm] = block + 1
