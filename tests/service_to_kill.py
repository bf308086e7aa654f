"""A service with workers that assign and answer until they are killed, and say what they were told, line by line.

Lines on standard output: P pid (a worker begins), A experiment id person (assigned), B id reward key (an answer is
begun), C id (it was taken in), L id (it came too late), R experiment row hash writer (a row of the ledger was seen).
"""

import os
import random
import secrets
import sys
import threading
import time
from pathlib import Path
from typing import Any

import dpbandits as dpb
from dpbandits.mechanisms import LAPLACE, SecureNoise, reserve
from dpbandits.service.overviews import acknowledged_overview
from dpbandits.service.steps import Assign, Reward
from dpbandits.service.store import Store
from dpbandits.service.ticker import Ticker
from dpbandits.service.worker_processes import WorkerProcesses, end_with_parent
from dpbandits.service.writer import Writer
from dpbandits.service.writer_socket import WriterClient, WriterServer

EXPERIMENTS = ("plain", "open", "sealed", "cumulative")
GRID_BITS = 12
MODULUS = 2**36  # more steps than the rewards of any block; all noise is a multiple of it
WRITERS = 8
_THREADS = 4


class TelltaleNoise(SecureNoise):
    """Noise of which a released value tells the sum, that no other was drawn, and who has drawn it. For tests alone."""

    def __init__(self, writer: int) -> None:
        super().__init__(GRID_BITS)
        self.writer = writer


@reserve.register(TelltaleNoise)
def _reserve(noise: TelltaleNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> int:
    return MODULUS * (WRITERS * secrets.randbelow(2**12) + noise.writer)


def parts_of(value: float) -> tuple[int, int]:
    """Return the sum in a released value, in steps of the grid, and which writer has drawn its noise."""
    steps = int(value * 2**GRID_BITS)
    return steps % MODULUS, steps // MODULUS % WRITERS


def say(*words: object) -> None:
    """Write a line at once and as a whole, among those of other processes."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def serve(url: str, state: str, path: str, workers: int, number: int) -> None:
    """Write for workers, and show what was released."""
    with Store(url, state) as store:
        writer = Writer(store, make_source=lambda name, bits: TelltaleNoise(number))
        Ticker(store, writer)
        WriterServer(writer, path)
        command = [sys.executable, str(Path(__file__)), "work", path]
        processes = WorkerProcesses(command, workers)
        seen = dict.fromkeys(EXPERIMENTS, 0)
        while True:
            time.sleep(0.05)
            for name in EXPERIMENTS:
                try:
                    rows = list(acknowledged_overview(store, name).ledger)
                except dpb.DatabaseError:
                    continue  # it is away
                for row in rows[seen[name] :]:
                    drawn_by = parts_of(row.content["value"])[1] if row.number else "-"
                    say("R", name, row.number, row.hash, drawn_by)
                seen[name] = len(rows)
            assert len(processes.pids) <= workers


def work(path: str) -> None:
    """Send steps from several threads."""
    end_with_parent()
    client = WriterClient(path, when_lost=lambda: os._exit(0))
    say("P", os.getpid())
    threads = [threading.Thread(target=_send, args=(client, f"{os.getpid()}/{n}")) for n in range(_THREADS)]
    for thread in threads:
        thread.start()


def _send(client: WriterClient, name: str) -> None:
    dice, people = random.Random(), 0  # noqa: S311
    waiting: list[str] = []
    while True:
        if len(waiting) < dice.randrange(1, 12):
            experiment = dice.choice(EXPERIMENTS)
            people += 1
            person = f"{name}/{people}/{time.time_ns()}"
            given = insisted(client, Assign(experiment, person))
            say("A", experiment, given.id, person)
            waiting.append(given.id)
            continue
        assignment = waiting.pop(dice.randrange(len(waiting)))
        if dice.random() < 0.05:
            continue  # never answered
        reward, key = dice.choice([0.0, 0.25, 1.0]), secrets.token_hex(4)
        say("B", assignment, reward, key)
        try:
            insisted(client, Reward(assignment, reward, key))
            if dice.random() < 0.2:
                insisted(client, Reward(assignment, reward, key))  # acknowledged again
        except dpb.WindowClosed:
            say("L", assignment)
        else:
            say("C", assignment)


def insisted(client: Any, step: Assign | Reward) -> Any:
    """Take a step; ask again as long as the answer is that it may not have been taken."""
    while True:
        try:
            return client.take(step)
        except (dpb.DatabaseError, dpb.QueueFull):
            time.sleep(0.02)
        except dpb.StepError:
            os._exit(0)  # the writer has gone


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2])
    else:
        url, state, path, workers, number = sys.argv[2:]
        serve(url, state, path, int(workers), int(number))
