"""Chunks come in order, have the seeds of `spawn`, and end when whoever asked for them goes away."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.engine.driver import Chunk, Driver, chunks_of, cores

SEED = np.random.SeedSequence(7, spawn_key=(3,))


def number_of(chunk: Chunk) -> int:
    return chunk.seed.spawn_key[-1]


@pytest.fixture
def threads() -> Iterator[None]:
    """Everybody who begins to play ends again."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()


def test_chunks_are_all_runs_with_the_seeds_that_spawn_gives() -> None:
    whole = list(chunks_of(SEED, 130, 64))
    assert [chunk.runs for chunk in whole] == [64, 64, 2]
    spawned = np.random.SeedSequence(7, spawn_key=(3,)).spawn(3)
    assert [chunk.seed.generate_state(4).tolist() for chunk in whole] == [
        child.generate_state(4).tolist() for child in spawned
    ]
    rest = list(chunks_of(SEED, 200, 64, done=64))
    assert [chunk.runs for chunk in rest] == [64, 64, 8]
    assert rest[0].seed.generate_state(4).tolist() == whole[1].seed.generate_state(4).tolist()


def test_results_come_in_order_whoever_is_ready_first() -> None:
    """The first waits for the second; the last two are not begun before one of the first three was asked for."""
    second = threading.Event()
    begun: list[int] = []

    def play(chunk: Chunk, stop: Any) -> int:
        begun.append(number_of(chunk))
        if number_of(chunk) == 0:
            assert second.wait(60)
        if number_of(chunk) == 1:
            second.set()
        return number_of(chunk)

    results = Driver(2).results(play, chunks_of(SEED, 50, 10))
    assert next(results) == 0
    assert set(begun) <= {0, 1, 2, 3}
    assert list(results) == [1, 2, 3, 4]


@pytest.mark.parametrize("leaves", ["closed", "failed"])
def test_who_leaves_early_ends_the_others_and_can_begin_again(leaves: str) -> None:
    ended: list[int] = []

    def play(chunk: Chunk, stop: Any) -> int:
        if number_of(chunk) == 0:
            return 0
        if leaves == "failed" and number_of(chunk) == 1:
            raise dpb.InvalidInput("Expected something else.")
        while not stop[0]:  # as the loop does
            pass
        ended.append(number_of(chunk))
        return number_of(chunk)

    driver = Driver(2)
    results = driver.results(play, chunks_of(SEED, 1000, 10))
    assert next(results) == 0
    if leaves == "failed":
        with pytest.raises(dpb.InvalidInput, match="something else"):
            next(results)
    else:
        results.close()
    assert len(ended) <= 3
    assert list(driver.results(lambda chunk, stop: (chunk.runs, int(stop[0])), chunks_of(SEED, 25, 10))) == [
        (10, 0),
        (10, 0),
        (5, 0),
    ]


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Whoever started the tests may have it ignored, as a script does that starts them in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("threads", "_interruptible")
def test_an_interrupt_ends_what_is_played() -> None:
    """It comes while a thread is at work, and reaches the one that waits, which ends the thread."""

    def play(chunk: Chunk, stop: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while not stop[0]:
            pass

    with pytest.raises(KeyboardInterrupt):
        list(Driver(1).results(play, chunks_of(SEED, 10, 10)))


@pytest.mark.usefixtures("threads")
def test_a_driver_that_was_interrupted_twice_can_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time while it waits for those that the first one ended."""

    def interrupted(pool: ThreadPoolExecutor, **options: bool) -> None:
        shutdown(pool, **options)
        raise KeyboardInterrupt

    def play(chunk: Chunk, stop: Any) -> int:
        return chunk.runs

    shutdown, driver = ThreadPoolExecutor.shutdown, Driver(1)
    results = driver.results(play, chunks_of(SEED, 1000, 10))
    assert next(results) == 10
    with monkeypatch.context() as patch:
        patch.setattr(ThreadPoolExecutor, "shutdown", interrupted)
        with pytest.raises(KeyboardInterrupt):
            results.throw(KeyboardInterrupt)
    assert list(driver.results(play, chunks_of(SEED, 10, 10))) == [10]


@pytest.mark.usefixtures("threads")
def test_an_interrupt_while_a_thread_starts_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool does not know of that thread, and nobody waits for it."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    def play(chunk: Chunk, stop: Any) -> None:
        while not stop[0]:
            pass

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(Driver(1).results(play, chunks_of(SEED, 10, 10)))


def test_compiling_is_not_done_by_the_thread_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt within numba's callbacks would be lost there."""
    from dpbandits.engine import compiling

    compiled_loop, threads = compiling.compiled_loop, []

    def watched(*arguments: object) -> object:
        threads.append(threading.current_thread())
        return compiled_loop(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(compiling, "compiled_loop", watched)
    dpb.simulate(dpb.UCB(), dpb.Bernoulli([0.9, 0.6]), horizon=10, runs=2, workers=1)
    dpb.auditing.count_actions(dpb.UCB(), [0, 1], arms=2, trials=3)
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 8})
    assert cores() == Driver().workers == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert cores() == 7
    with pytest.raises(dpb.InvalidInput, match=r"Expected workers=0 in \[1, 1024\]"):
        Driver(0)


def test_threads_that_begin_together_share_one_loop() -> None:
    """All ask at the same moment, for classes that nobody has asked for before."""
    from dpbandits.engine.compiling import compiled_loop
    from dpbandits.engine.loop import play_runs

    class Params(NamedTuple):
        unused: int

    together, loops = threading.Barrier(8), set()

    def ask() -> None:
        together.wait()
        loops.add(compiled_loop(play_runs, Params(0)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loops) == 1
