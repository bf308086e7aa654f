"""A live learner with a million open assignments, and journals of a million steps: time, memory, size.

Run with `make bench`, or alone: `python benchmarks/long_journals.py`. It takes a quarter of an hour.
"""

import gc
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dpbandits as dpb
from dpbandits.live.journal import Journal
from report import table, write_section

ARMS = 10
MANY = 1_000_000
TIMED = 20_000  # steps of which the time is taken
FEW_OPEN = 10_000


def policy() -> dpb.Policy:
    return dpb.recommended(epsilon=1.0)


def memory() -> int:
    """Return how many bytes this process has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# ---- in memory


def step_time(bandit: dpb.Bandit, is_named: bool, label: str) -> float:
    """Return the CPU time of handing out and closing, in seconds, while what is open stays open."""
    waiting: deque[dpb.Assignment] = deque()
    start = time.process_time()
    for number in range(TIMED):
        waiting.append(bandit.assign(unit=f"{label} {number}" if is_named else None))
        if len(waiting) > 8:
            bandit.close(waiting.popleft(), 1.0)
    taken = time.process_time() - start
    bandit.close_many([(a, 0.0) for a in waiting])
    return taken / TIMED


def in_memory(is_named: bool) -> list[str]:
    """Return times of a step with ten and with a million open assignments, and the memory of one of them."""
    bandit = dpb.Bandit(policy(), ARMS)

    def hand_out(first: int, last: int) -> None:
        for number in range(first, last):
            bandit.assign(unit=number if is_named else None)

    hand_out(0, 10)
    step_time(bandit, is_named, "warm")
    few = min(step_time(bandit, is_named, f"few {again}") for again in range(5))
    before = memory()
    hand_out(10, MANY)
    bytes_each = (memory() - before) / MANY
    many = min(step_time(bandit, is_named, f"many {again}") for again in range(5))
    names = "people with names" if is_named else "people without names"
    return [names, f"{few * 1e6:.1f}", f"{many * 1e6:.1f}", f"{many / few:.2f}", f"{bytes_each:.0f}"]


# ---- on disk


def quantiles_text(seconds: list[float]) -> list[str]:
    times = np.array(seconds) * 1e3
    return [f"{np.quantile(times, share):.2f}" for share in (0.5, 0.999, 1.0)]


class Collector:
    """How long the garbage collector has worked, in seconds: it falls into any step, with a snapshot or without."""

    def __init__(self) -> None:
        self.seconds = self.longest = 0.0
        self._start = 0.0

    def __call__(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._start = time.perf_counter()
        else:
            taken = time.perf_counter() - self._start
            self.seconds += taken
            self.longest = max(self.longest, taken)


def written(path: Path, most_open: int) -> tuple[list[list[str]], float]:
    """Write a journal of a million steps, people named; return what steps take, and their parts of snapshots.

    And the seconds that it takes to detach when somebody was forgotten just before: a whole snapshot is written.
    """
    steps: list[float] = []
    parts: list[float] = []
    writing: list[int] = []  # the steps that wrote a part
    collector = Collector()
    write_snapshot = Journal.write_snapshot

    def timed(journal: Journal, pieces: Callable[[], Iterator[dict[str, Any]]], taken_together: int = 1) -> None:
        start, collected = time.perf_counter(), collector.seconds
        was_writing = journal._snapshot is not None
        write_snapshot(journal, pieces, taken_together)
        parts.append(time.perf_counter() - start - (collector.seconds - collected))
        if was_writing or journal._snapshot is not None:
            writing.append(len(steps))

    Journal.write_snapshot = timed  # type: ignore[assignment,method-assign]
    gc.callbacks.append(collector)
    try:
        bandit = dpb.Bandit(policy(), ARMS, journal=path)
        waiting: deque[str] = deque()
        person = 0
        while len(steps) < MANY:
            is_closing = len(waiting) >= most_open
            for _ in range(2 if is_closing else 1):  # as many come as answer
                start = time.perf_counter()
                if is_closing and len(waiting) >= most_open:
                    bandit.close(waiting.popleft(), float(person % 2))
                else:
                    person += 1
                    waiting.append(bandit.assign(unit=f"person {person}").id)
                steps.append(time.perf_counter() - start)
    finally:
        gc.callbacks.remove(collector)
        Journal.write_snapshot = write_snapshot  # type: ignore[method-assign]
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    bandit.forget("person 1")
    start = time.perf_counter()
    bandit.detach()
    detaching = time.perf_counter() - start
    label = f"{most_open:,} open"
    rows = [
        [f"{label}, {size}: a step", *quantiles_text(steps)],
        [f"{label}: one that writes a part of a snapshot", *quantiles_text([steps[number] for number in writing])],
        [f"{label}: the part alone, of all steps", *quantiles_text(parts)],
        [f"{label}: the garbage collector", "", "", f"{collector.longest * 1e3:.2f}"],
    ]
    return rows, detaching


def reopened(path: Path) -> list[str]:
    """Return how long it takes to open a journal in a process of its own, and what memory that takes."""
    program = [sys.executable, __file__, str(path)]
    runs = [subprocess.run(program, capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
    return min(runs, key=lambda run: float(run[0]))


def open_again(path: Path) -> None:
    """Open a journal and print the seconds and the megabytes that it takes."""
    dpb.Bandit(policy(), ARMS)  # what is loaded once
    before, start = memory(), time.perf_counter()
    bandit = dpb.Bandit(policy(), ARMS, journal=path)
    taken = time.perf_counter() - start
    print(f"{taken:.2f} {(memory() - before) / 1e6:.0f}")
    bandit.detach()


def main() -> None:
    if len(sys.argv) > 1:
        open_again(Path(sys.argv[1]))
        return
    in_memory_rows = [in_memory(is_named) for is_named in (False, True)]
    writing, opening = [], []
    with tempfile.TemporaryDirectory() as folder:
        for most_open in (FEW_OPEN, MANY):
            path = Path(folder) / f"{most_open}.journal"
            rows, detaching = written(path, most_open)
            writing += rows
            seconds, megabytes = reopened(path)
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            opening.append([f"{most_open:,} open", f"{detaching:.2f} s", size, f"{seconds} s", f"{megabytes} MB"])
    text = f"""
{ARMS} arms. In memory: CPU time of an assignment and its closing, in microseconds, with ten and with a million open
assignments, and the memory that one of them takes.

{table(["", "10 open", f"{MANY:,} open", "ratio", "bytes each"], in_memory_rows)}
Journals of {MANY:,} steps, people named: milliseconds that a step takes, disk included; what it takes where it writes a
part of a snapshot as well; and the part alone, of all steps, most of which write none. Python's garbage collector is in
the steps, wherever it falls, and not in the parts; its longest run has a row of its own.

{table(["", "median", "99.9%", "longest"], writing)}
Detaching when somebody was forgotten just before, so that a whole snapshot is written; and opening these journals
again, in another process (best of three):

{table(["", "detaching", "size", "opening", "memory"], opening)}"""
    write_section("A million assignments", "long_journals.py", text)


if __name__ == "__main__":
    main()
