"""A million open assignments in a database: steps through the writer against one row and one commit a step, and starts.

Run with `make bench`, or alone: `python benchmarks/store.py`. It takes twenty minutes. `--quick` is for a look.
"""

import gc
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection, text

import dpbandits as dpb
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.reward_scale import RewardScale
from dpbandits.service.beginning import insert_experiment
from dpbandits.service.book_statements import ADD_ASSIGNMENTS, ANSWER_ASSIGNMENTS
from dpbandits.service.database import Database
from dpbandits.service.given_rows import GivenRows, Read, Write
from dpbandits.service.steps import Assign, Reward
from dpbandits.service.store import Store
from dpbandits.service.writer import Writer
from report import table, write_section

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgresql_server import PostgreSQLServer

QUICK = "--quick" in sys.argv
EXPERIMENTS = 100
OPEN = 20_000 if QUICK else 1_000_000
CALLERS = 32
ROUNDS = 3 if QUICK else 5
PEOPLE = 2_000 if QUICK else 20_000  # of a round: so many assignments, and as many rewards
BARE_PEOPLE = 500 if QUICK else 4_000
POOLS = (1, 8, 32)
TICKS = os.sysconf("SC_CLK_TCK")
POLICY = dpb.recommended(epsilon=1.0)


def configuration() -> Configuration:
    return Configuration(
        policy=POLICY,
        arms=("A", "B"),
        horizon=float("inf"),
        rewards=RewardScale(),
        contributions=1,
        accept_delta=False,
        grid_bits=12,
    )


@dataclass
class Round:
    """What 32 callers have got done."""

    steps: int
    seconds: float
    cpu: float
    server_cpu: float
    latencies: list[float] = field(default_factory=list)

    @property
    def throughput(self) -> float:
        return self.steps / self.seconds


def cpu_of_server(server: PostgreSQLServer | None) -> float:
    """Return the CPU time of a server and of all that it has started, in seconds."""
    if server is None:
        return 0.0
    total = 0
    for pid in server.pids():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def called(act: Callable[[int, int], float], people: int, server: PostgreSQLServer | None) -> Round:
    """Have callers assign and answer, a person after the other, and return what that took."""
    latencies: list[list[float]] = [[] for _ in range(CALLERS)]
    start = threading.Barrier(CALLERS + 1)
    of_server = cpu_of_server(server)

    def call(place: int) -> None:
        start.wait()
        for person in range(people // CALLERS):
            latencies[place].append(act(place, person))

    threads = [threading.Thread(target=call, args=(place,)) for place in range(CALLERS)]
    for thread in threads:
        thread.start()
    start.wait()
    before, cpu = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.join()
    seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    steps = people // CALLERS * CALLERS * 2
    return Round(steps, seconds, cpu, cpu_of_server(server) - of_server, sorted(chain.from_iterable(latencies)))


AnyGiven = TypeVar("AnyGiven", Read, Write)


class CountedRows:
    """Given rows, and how many batches, steps and statements there were."""

    def __init__(self, rows: GivenRows) -> None:
        self._rows = rows
        self.batches = self.steps = self.statements = 0

    def read(self, connection: Connection, reads: Iterable[Read]) -> list[list[Any]]:
        return self._rows.read(connection, map(self._counted, reads))

    def write(self, connection: Connection, writes: Iterable[Write]) -> None:
        self.batches += 1
        self._rows.write(connection, map(self._counted, writes))

    def _counted(self, given: AnyGiven) -> AnyGiven:
        self.statements += 1
        if given.statement in (ADD_ASSIGNMENTS, ANSWER_ASSIGNMENTS):
            self.steps += len(given.rows)
        return given

    def reset(self) -> None:
        self.batches = self.steps = self.statements = 0


def filled(store: Store, writer: Writer, many: int = OPEN) -> None:
    """Begin the experiments, and leave so many assignments open in half of them: nothing is released there."""
    terms = Terms.computed(configuration())
    for number in range(EXPERIMENTS):
        insert_experiment(store, f"trial-{number}", configuration(), terms, "running")
    for first in range(0, many, 500):
        futures = writer.submit_many(
            [Assign(f"trial-{n % (EXPERIMENTS // 2)}", f"open {n}") for n in range(first, first + 500)]
        )
        for future in futures:
            future.result()


def through_writer(writer: Writer, label: str) -> Callable[[int, int], float]:
    dice = [random.Random(f"{label} {place}") for place in range(CALLERS)]  # noqa: S311

    def act(place: int, person: int) -> float:
        name = f"trial-{dice[place].randrange(EXPERIMENTS)}"
        start = time.perf_counter()
        given = writer.take(Assign(name, f"{label} {place} {person}"))
        middle = time.perf_counter()
        writer.take(Reward(given.id, dice[place].random(), f"{place} {person}"))
        return max(middle - start, time.perf_counter() - middle)

    return act


_BARE = """
    CREATE TABLE bare (
        experiment BIGINT NOT NULL, number BIGINT NOT NULL, arm INTEGER NOT NULL, unit TEXT NOT NULL,
        is_answered BOOLEAN NOT NULL, answer_key TEXT, reward FLOAT, PRIMARY KEY (experiment, number))
"""
_BARE_INSERT = text("INSERT INTO bare VALUES (:experiment, :number, :arm, :unit, false, NULL, NULL)")
_BARE_UPDATE = text(
    "UPDATE bare SET is_answered = true, answer_key = :key, reward = :reward WHERE experiment = :experiment AND "
    "number = :number"
)


def bare_rows(store: Store) -> None:
    """Make the table of the bare steps, with as many rows and the same index."""
    with store.database.writing() as connection:
        connection.execute(text(_BARE))
        connection.execute(text("CREATE INDEX bare_units ON bare (experiment, unit)"))
        for first in range(0, OPEN, 10_000):
            rows = [
                {"experiment": n % EXPERIMENTS, "number": n, "arm": 0, "unit": f"{random.getrandbits(128):032x}"}
                for n in range(first, min(first + 10_000, OPEN))
            ]
            connection.execute(_BARE_INSERT, rows)


def bare(database: Database, pool: int, numbers: Iterator[int]) -> Callable[[int, int], float]:
    """Return steps that are one row and one commit each, over so many connections, which no others use."""
    connections = threading.Semaphore(pool)
    lock = threading.Lock()

    def act(place: int, person: int) -> float:
        with lock:
            number = next(numbers)
        experiment = number % EXPERIMENTS
        start = time.perf_counter()
        with connections, database.writing() as connection:
            unit = f"{random.getrandbits(128):032x}"
            connection.execute(_BARE_INSERT, {"experiment": experiment, "number": number, "arm": 0, "unit": unit})
        middle = time.perf_counter()
        with connections, database.writing() as connection:
            values = {"experiment": experiment, "number": number, "key": "ab" * 16, "reward": 0.5}
            connection.execute(_BARE_UPDATE, values)
        return max(middle - start, time.perf_counter() - middle)

    return act


@contextmanager
def opened(url: str, state: Path) -> Iterator[tuple[Store, Writer]]:
    with Store(url, state) as store, Writer(store) as writer:
        yield store, writer


def load(url: str, state: Path, server: PostgreSQLServer | None) -> tuple[list[list[str]], str]:
    """Compare the writer with bare steps, in turn."""
    with opened(url, state) as (store, writer):
        counted = store.database.given = CountedRows(store.database.given)
        filled(store, writer)
        bare_rows(store)
        numbers = iter(range(OPEN, 10**9))
        databases = {pool: Database(url) for pool in POOLS}
        ours: list[Round] = []
        bares: dict[int, list[Round]] = {pool: [] for pool in POOLS}
        sizes, statements = [], []
        for turn in range(-1, ROUNDS):  # the first one is not counted
            counted.reset()
            gc.collect()
            mine = called(through_writer(writer, f"round {turn}"), PEOPLE, server)
            size, per_batch = counted.steps / counted.batches, counted.statements / counted.batches
            theirs = {pool: called(bare(databases[pool], pool, numbers), BARE_PEOPLE, server) for pool in POOLS}
            if turn >= 0:
                ours.append(mine)
                sizes.append(size)
                statements.append(per_batch)
                for pool in POOLS:
                    bares[pool].append(theirs[pool])
        for database in databases.values():
            database.close()
        with store.database.reading() as connection:
            releases = connection.execute(text("SELECT count(*) FROM ledger WHERE number > 0")).scalar_one()
        ratios = [
            mine.throughput / max(bares[pool][turn].throughput for pool in POOLS) for turn, mine in enumerate(ours)
        ]
    rows = [
        ["the writer", *described(ours), f"{statistics.median(sizes):.0f}", f"{statistics.median(statements):.1f}"],
        *([f"bare, {pool} at a time", *described(bares[pool]), "1", "2"] for pool in POOLS),
    ]
    ratio = (
        f"{statistics.median(ratios):.2f} ({', '.join(f'{each:.2f}' for each in ratios)}) times the best of the bare"
    )
    return rows, f"{ratio} ones; {releases:,} releases"


def described(rounds: list[Round]) -> list[str]:
    middle = statistics.median(each.throughput for each in rounds)
    cpu = statistics.median(each.cpu / each.steps for each in rounds) * 1e6
    of_server = statistics.median(each.server_cpu / each.steps for each in rounds) * 1e6
    slow = statistics.median(float(np.quantile(each.latencies, 0.99)) for each in rounds) * 1e3
    return [f"{middle:,.0f}", f"{cpu:.0f}", f"{of_server:.0f}" if of_server else "", f"{slow:.1f}"]


# ---- starts


def start_once(url: str, state: str) -> None:
    """Start in a process of its own, and print the milliseconds to the first assignment and the memory after 200."""
    warm_up()
    start = time.perf_counter()
    with opened(url, Path(state)) as (_, writer):
        writer.take(Assign("trial-7", f"start {random.getrandbits(60)}"))
        taken = time.perf_counter() - start
        for person in range(200):
            writer.take(Assign(f"trial-{person % EXPERIMENTS}", f"start {person} {random.getrandbits(60)}"))
        print(f"{taken * 1000:.3f} {memory() / 1e6:.1f}")


def warm_up() -> None:
    """Load what is loaded once, such as OpenDP."""
    with tempfile.TemporaryDirectory() as folder, opened(f"{folder}/x.db", Path(folder)) as (store, writer):
        insert_experiment(store, "x", configuration(), Terms.computed(configuration()), "running")
        writer.take(Assign("x", 1))


def memory() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


def starts(full: tuple[str, Path], empty: tuple[str, Path]) -> list[list[str]]:
    """Compare starts with a million open assignments and with none, in turn."""
    with opened(*empty) as (store, _):
        terms = Terms.computed(configuration())
        for number in range(EXPERIMENTS):
            insert_experiment(store, f"trial-{number}", configuration(), terms, "running")
    found: dict[str, list[tuple[float, float]]] = {"full": [], "empty": []}
    for _ in range(3 if QUICK else 11):
        for name, (url, state) in (("full", full), ("empty", empty)):
            command = [sys.executable, __file__, "--start", url, str(state)]
            words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            found[name].append((float(words[0]), float(words[1])))
    first = {name: statistics.median(seconds for seconds, _ in runs) for name, runs in found.items()}
    size = {name: statistics.median(megabytes for _, megabytes in runs) for name, runs in found.items()}
    return [
        [name, f"{values['empty']:.0f}", f"{values['full']:.0f}", f"{values['full'] / values['empty']:.2f}"]
        for name, values in (("milliseconds to the first assignment", first), ("MB of memory", size))
    ]


def main() -> None:
    if "--start" in sys.argv:
        start_once(*sys.argv[sys.argv.index("--start") + 1 :])
        return
    sections = []
    server = PostgreSQLServer(memory=False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("SQLite", "PostgreSQL"):
                places = []
                for name in ("full", "empty"):
                    state = Path(folder) / f"{kind}-{name}"
                    state.mkdir()
                    url = str(state / "trials.db") if kind == "SQLite" else server.new_database()
                    places.append((url, state))
                rows, ratio = load(*places[0], None if kind == "SQLite" else server)
                header = ["", "steps a second", "CPU a step", "of the server", "p99", "batch", "statements"]
                sections.append(f"**{kind}**: {ratio}.\n\n{table(header, rows)}")
                print(sections[-1], flush=True)
                rows = starts(places[0], places[1])
                sections.append(table([f"{kind}, a start", "empty", f"{OPEN:,} open", "ratio"], rows))
                print(sections[-1], flush=True)
    finally:
        server.remove()
    body = "\n".join(sections)
    text_of_all = f"""
{CALLERS} callers in one process, {EXPERIMENTS} experiments, {OPEN:,} assignments open before it begins, all of them in
half of the experiments, so that the others release; {ROUNDS} rounds of {PEOPLE:,} assignments with rewards. A bare step
is one row and one commit in the same database. They take turns.
CPU in microseconds, callers included; p99 in milliseconds; batch: steps in one transaction; statements: of one.

{body}"""
    if not QUICK:
        write_section("Experiments in a database", "store.py", text_of_all)


if __name__ == "__main__":
    main()
