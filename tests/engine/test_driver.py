"""Chunks come in order, have the seeds of `spawn`, and end when whoever asked for them goes away."""

import os
import signal
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.engine.driver import Chunk, Driver, chunks_of, cores

SEED = np.random.SeedSequence(7, spawn_key=(3,))


def test_chunks_are_all_runs_with_the_seeds_that_spawn_gives() -> None:
    whole = list(chunks_of(SEED, 130, 64))
    assert [(chunk.first, chunk.runs) for chunk in whole] == [(0, 64), (64, 64), (128, 2)]
    spawned = np.random.SeedSequence(7, spawn_key=(3,)).spawn(3)
    assert [chunk.seed.generate_state(4).tolist() for chunk in whole] == [
        child.generate_state(4).tolist() for child in spawned
    ]
    rest = list(chunks_of(SEED, 200, 64, done=64))
    assert [(chunk.first, chunk.runs) for chunk in rest] == [(64, 64), (128, 64), (192, 8)]
    assert rest[0].seed.generate_state(4).tolist() == whole[1].seed.generate_state(4).tolist()


def test_results_come_in_order_whoever_is_ready_first() -> None:
    """The first waits for the second; the last two are not begun before one of the first three was asked for."""
    second = threading.Event()
    begun: list[int] = []

    def play(chunk: Chunk) -> int:
        begun.append(chunk.first)
        if chunk.first == 0:
            assert second.wait(60)
        if chunk.first == 10:
            second.set()
        return chunk.first

    results = Driver(2).results(play, chunks_of(SEED, 50, 10), np.zeros(1, dtype=np.int64))
    assert next(results) == 0
    assert set(begun) <= {0, 10, 20, 30}
    assert list(results) == [10, 20, 30, 40]


@pytest.mark.parametrize("leaves", ["closed", "failed"])
def test_who_leaves_early_ends_the_others_and_can_begin_again(leaves: str) -> None:
    stop = np.zeros(1, dtype=np.int64)
    ended: list[int] = []

    def play(chunk: Chunk) -> int:
        if chunk.first == 0:
            return 0
        if leaves == "failed" and chunk.first == 10:
            raise dpb.InvalidInput("Expected something else.")
        while not stop[0]:  # as the loop does
            pass
        ended.append(chunk.first)
        return chunk.first

    driver = Driver(2)
    results: Any = driver.results(play, chunks_of(SEED, 1000, 10), stop)
    assert next(results) == 0
    if leaves == "failed":
        with pytest.raises(dpb.InvalidInput, match="something else"):
            next(results)
    else:
        results.close()
    assert len(ended) <= 3
    assert stop[0] == 0
    assert list(driver.results(lambda chunk: chunk.runs, chunks_of(SEED, 25, 10), stop)) == [10, 10, 5]


def test_an_interrupt_ends_what_is_played() -> None:
    """It comes while a thread is at work, and reaches the one that waits, which ends the thread."""
    stop = np.zeros(1, dtype=np.int64)

    def play(chunk: Chunk) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while not stop[0]:
            pass

    with pytest.raises(KeyboardInterrupt):
        list(Driver(1).results(play, chunks_of(SEED, 10, 10), stop))
    assert stop[0] == 0


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
