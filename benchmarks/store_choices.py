"""What the writer's own choices are worth, each against the other way, in turn; and how rows are given to a database.

Run with `make bench`, or alone: `python benchmarks/store_choices.py`. It takes five minutes. `--quick` is for a look.
"""

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from dpbandits.service import database, given_rows, writer
from dpbandits.service.book_statements import ANSWER_ASSIGNMENTS, ANSWER_COLUMNS, NUMBER_COLUMNS, READ_ASSIGNMENTS
from dpbandits.service.database import Database
from dpbandits.service.given_rows import _JSON
from dpbandits.service.store import Store
from dpbandits.service.writer import StepFuture, Writer
from report import table, write_section
from store import called, filled, through_writer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgresql_server import PostgreSQLServer

QUICK = "--quick" in sys.argv
OPEN = 5_000 if QUICK else 100_000
PEOPLE = 1_600 if QUICK else 6_000  # of a round
ROUNDS = 3 if QUICK else 11
ROWS = 16  # of a statement
REPEATS = 30 if QUICK else 500
READERS = 32
WARM = 1_600  # people, before anything is measured


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def from_the_pool(self: Database, _: Connection | None = None) -> AbstractContextManager[Connection]:
    return WRITING(self)


WRITING = Database.writing
OTHER_WAYS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "no time to come again": lambda: replaced(writer, "_LINGER", 0.0),
    "futures for those who wait": lambda: replaced(writer, "_Awaited", StepFuture),
    "any connection of the pool": lambda: replaced(Database, "writing", from_the_pool),
    "SQLite's memory and log as they come": lambda: replaced(database, "_ROOM", ()),
}


def compared(url: str, state: Path, server: PostgreSQLServer | None) -> list[list[str]]:
    """Return how many steps a second the writer takes as it is, and what share of them in each other way."""
    with Store(url, state) as store, Writer(store) as writing:
        filled(store, writing, OPEN)
    other_kind = "PostgreSQL" if server is None else "SQLite"
    names = [name for name in OTHER_WAYS if other_kind not in name]
    ratios: dict[str, list[float]] = {name: [] for name in names}
    speeds: list[float] = []
    for turn in range(ROUNDS):
        for name in names:
            ways = [nullcontext, OTHER_WAYS[name]]
            found = {}
            for place in (0, 1) if turn % 2 else (1, 0):
                with ways[place]():
                    found[place] = speed(url, state, f"{turn} {name} {place}", server)
            speeds.append(found[0])
            ratios[name].append(found[1] / found[0])
    kind = "SQLite" if server is None else "PostgreSQL"
    quartiles = {name: statistics.quantiles(each, n=4) for name, each in ratios.items()}
    rows = [[f"{kind}, as it is", f"{statistics.median(speeds):,.0f} a second", ""]]
    rows += [
        [f"{kind}, {name}", f"{mid:.2f}", f"{low:.2f} to {high:.2f}"] for name, (low, mid, high) in quartiles.items()
    ]
    return rows


def speed(url: str, state: Path, label: str, server: PostgreSQLServer | None) -> float:
    """Return the steps a second of a writer that was opened just now, and has all experiments in its memory."""
    with Store(url, state) as store:
        with ExitStack() as stack:
            for _ in range(READERS):  # who leave their connections in the pool
                stack.enter_context(store.database.reading())
        with Writer(store) as writing:
            called(through_writer(writing, f"{label} warm"), WARM, server)
            gc.collect()
            return called(through_writer(writing, label), PEOPLE, server).throughput


# ---- rows that are given


Rows = list[tuple[Any, ...]]
Way = Callable[[Any, Rows], Any]  # with a connection of the driver


def sqlite_ways() -> dict[str, Way]:
    """Return ways to read and to write rows, in SQLite."""
    pairs, fours = (", ".join([f"({marks})"] * ROWS) for marks in ("?, ?", "?, ?, ?, ?"))
    keys_of = "column1 AS experiment, column2 AS number"
    values_of = f"{keys_of}, column3 AS is_answered, column4 AS answer_key"
    json_of = ", ".join(f"value ->> {place} AS {column.name}" for place, column in enumerate(ANSWER_COLUMNS))
    read_json = given_rows._sqlite_reading(READ_ASSIGNMENTS, NUMBER_COLUMNS)
    read_values = READ_ASSIGNMENTS.format(given=f"(SELECT {keys_of} FROM (VALUES {pairs})) AS given")
    read_one = READ_ASSIGNMENTS.format(given="(SELECT ? AS experiment, ? AS number) AS given")
    write_values = ANSWER_ASSIGNMENTS.format(given=f"(SELECT {values_of} FROM (VALUES {fours})) AS given")
    write_json = ANSWER_ASSIGNMENTS.format(given=f"(SELECT {json_of} FROM json_each(?)) AS given")
    own = given_rows._sqlite_writing(ANSWER_ASSIGNMENTS, ANSWER_COLUMNS)
    return {
        "read by JSON (as it is)": lambda driver, rows: driver.execute(
            read_json, (_JSON.encode(keys(rows)),)
        ).fetchall(),
        "read by VALUES": lambda driver, rows: driver.execute(read_values, flat(keys(rows))).fetchall(),
        "read one by one": lambda driver, rows: [driver.execute(read_one, key).fetchall() for key in keys(rows)],
        "written by executemany (as it is)": lambda driver, rows: driver.executemany(own, rows),
        "written by VALUES": lambda driver, rows: driver.execute(write_values, flat(rows)),
        "written by JSON": lambda driver, rows: driver.execute(write_json, (_JSON.encode(rows),)),
    }


def postgresql_ways() -> dict[str, Way]:
    """Return ways to write rows, in PostgreSQL."""
    own = given_rows._postgresql_text(ANSWER_ASSIGNMENTS, ANSWER_COLUMNS)

    def piped(driver: Any, sql: str, values: Sequence[Any]) -> None:
        with driver.pipeline():
            driver.execute(sql, values)

    arrays = ANSWER_ASSIGNMENTS.format(
        given="unnest(%s::bigint[], %s::bigint[], %s::boolean[], %s::text[]) "
        "AS given(experiment, number, is_answered, answer_key)"
    )
    one = "UPDATE assignments SET is_answered = %s, answer_key = %s WHERE experiment = %s AND number = %s"

    def many(driver: Any, rows: Rows) -> None:
        with driver.cursor() as cursor:  # which makes a pipeline
            cursor.executemany(one, [(row[2], row[3], row[0], row[1]) for row in rows])

    return {
        "written by JSON (as it is)": lambda driver, rows: piped(driver, own, [_JSON.encode(rows)]),
        "written by arrays (unnest)": lambda driver, rows: piped(
            driver, arrays, [list(column) for column in zip(*rows, strict=True)]
        ),
        "written by executemany": many,
    }


def keys(rows: Rows) -> Rows:
    return [row[:2] for row in rows]


def flat(rows: Rows) -> list[Any]:
    return [cell for row in rows for cell in row]


def given(url: str, state: Path) -> list[list[str]]:
    """Return the microseconds that a row takes in every way: other rows each time, in one transaction."""
    with Store(url, state) as store, store.database.writing() as connection:
        kind, ways = ("SQLite", sqlite_ways()) if store.database.is_sqlite else ("PostgreSQL", postgresql_ways())
        driver = connection.connection.driver_connection
        most = (REPEATS + 20) * len(ways) * ROWS
        found = connection.execute(text(f"SELECT experiment, number FROM assignments LIMIT {most}"))
        left = iter([(experiment, number, True, "ab" * 16) for experiment, number in found])
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(-20, REPEATS):  # the first ones are not counted
            for name, act in ways.items():
                rows = [next(left) for _ in range(ROWS)]
                start = time.perf_counter()
                act(driver, rows)
                if turn >= 0:
                    times[name].append(time.perf_counter() - start)
        connection.rollback()
    return [[f"{kind}, {name}", f"{statistics.median(each) / ROWS * 1e6:.1f}"] for name, each in times.items()]


def main() -> None:
    server = PostgreSQLServer(memory=False)
    choices, ways = [], []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("SQLite", "PostgreSQL"):
                state = Path(folder) / kind
                state.mkdir()
                is_file = kind == "SQLite"
                url, own_server = (str(state / "trials.db"), None) if is_file else (server.new_database(), server)
                choices += compared(url, state, own_server)
                ways += given(url, state)
                print(table(["", "", ""], choices), table(["", ""], ways), flush=True)
    finally:
        server.remove()
    body = f"""
Steps a second of the writer with 32 callers and {READERS} connections that readers have left in the pool; and those of
every other way, as a share of them: the median of {ROUNDS} rounds of {PEOPLE:,} people, and quartiles. Every round is a
writer of its own, after a warm-up; which way comes first takes turns. {OPEN:,} assignments are open in the
beginning, and the table grows by those of the rounds.

{table(["", "steps", "quartiles"], choices)}
Microseconds a row, of {ROWS} in a statement:

{table(["", "a row"], ways)}"""
    if not QUICK:
        write_section("How experiments in a database are written", "store_choices.py", body)


if __name__ == "__main__":
    main()
