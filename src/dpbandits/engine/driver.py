"""Driver: runs in chunks over the cores of this machine, the same on any number of them.

The runs of a chunk share one generator, since making one costs as much as a short run. Chunks do not depend on the
number of cores, and results come in order. Everything is played, compiled and loaded in threads of its own, never in
the one that waits: an interrupt (Ctrl-C) that arrived inside numba's callbacks would be lost.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate

Result = TypeVar("Result")


class Chunk(NamedTuple):
    """Some runs, and the seed of their generator."""

    runs: int
    seed: np.random.SeedSequence


def chunks_of(seed: np.random.SeedSequence, runs: int, size: int, done: int = 0) -> Iterator[Chunk]:
    """Yield the runs that are not done in chunks of `size`, each with the seed that `spawn` would give it."""
    for first in range(done, runs, size):
        child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, first // size))
        yield Chunk(min(size, runs - first), child)


class Driver:
    """Threads that play chunks."""

    def __init__(self, workers: int | None = None) -> None:
        """Use this number of threads; by default one for every core that this process may use."""
        self.workers = checked_workers(workers) or cores()
        self._pool = ThreadPoolExecutor(self.workers)

    def results(self, play: Callable[[Chunk, NDArray[np.int64]], Result], chunks: Iterable[Chunk]) -> Generator[Result]:
        """Play chunks and yield what comes of each, in order.

        The loop watches the second argument of `play`: an interrupt here, or closing this generator early, writes
        something other than 0 there, which ends everything that is being played.
        """
        remaining = iter(chunks)
        stop = np.zeros(1, dtype=np.int64)
        futures: deque[Future[Result]] = deque()
        is_done = False
        try:
            for chunk in islice(remaining, self.workers + 1):  # so much ahead that no core waits, and no more
                futures.append(self._pool.submit(play, chunk, stop))
            while futures:
                result = futures[0].result()
                futures.popleft()
                futures.extend(self._pool.submit(play, chunk, stop) for chunk in islice(remaining, 1))
                yield result
            is_done = True
        finally:
            if not is_done:  # also by an interrupt before anything is waited for
                # For good: an interrupt while a thread starts leaves one behind that the pool does not wait for.
                stop[0] = 1
                # And at once: a second interrupt while the old pool ends must not leave that one in its place.
                pool, self._pool = self._pool, ThreadPoolExecutor(self.workers)
                pool.shutdown(cancel_futures=True)


def checked_workers(workers: int | None) -> int | None:
    """Return a number of threads, checked; None stands for one for every core."""
    return None if workers is None else _validate.integer("[1, 1024]", workers=workers)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
