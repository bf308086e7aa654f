"""What the writer's own choices are worth, each against the other way, in turn; and how rows are given to a database.

Run with `make bench`, or alone: `python benchmarks/store_choices.py`. It takes five minutes. `--quick` is for a look.
"""

import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import text

from dpbandits.service import database, given_rows, writer
from dpbandits.service.book_statements import ANSWER_ASSIGNMENTS, ANSWER_COLUMNS, NUMBER_COLUMNS, READ_ASSIGNMENTS
from dpbandits.service.store import Store
from dpbandits.service.writer import StepFuture, Writer
from report import table, write_section
from store import called, filled, through_writer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgresql_server import PostgreSQLServer

QUICK = "--quick" in sys.argv
OPEN = 5_000 if QUICK else 100_000
PEOPLE = 1_000 if QUICK else 6_000  # of a round
ROUNDS = 3 if QUICK else 11
ROWS = 16  # of a statement
REPEATS = 30 if QUICK else 500
READERS = 31


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


OTHER_WAYS: dict[str, Callable[[], Any]] = {
    "no waiting for those who were answered": lambda: replaced(writer, "_LINGER", 0.0),
    "futures for those who wait": lambda: replaced(writer, "_Awaited", StepFuture),
    "connections in turn": lambda: replaced(database, "_POOL", {**database._POOL, "pool_use_lifo": False}),
    "SQLite's memory and log as they come": lambda: replaced(database, "_ROOM", ()),
}
OF_STORES = ("connections in turn", "SQLite's memory and log as they come")  # chosen when a store is opened


def compared(url: str, state: Path, server: PostgreSQLServer | None) -> list[list[str]]:
    """Return how many steps a second the writer takes in each other way, against as it is."""
    with Store(url, state) as store, Writer(store) as writing:
        filled(store, writing, OPEN)
    names = [name for name in OTHER_WAYS if server is None or "SQLite" not in name]
    ratios: dict[str, list[float]] = {name: [] for name in names}
    speeds: list[float] = []
    with ExitStack() as stack:

        def opened() -> Writer:
            return stack.enter_context(Writer(stack.enter_context(with_readers(Store(url, state)))))

        usual, others = opened(), {}
        for name in names:
            if name in OF_STORES:
                with OTHER_WAYS[name]():
                    others[name] = opened()
        for turn in range(-1, ROUNDS):
            for name in names:
                mine = speed(usual, f"{name} {turn}", server)
                with OTHER_WAYS[name]():
                    theirs = speed(others.get(name, usual), f"other {name} {turn}", server)
                if turn >= 0:
                    speeds.append(mine)
                    ratios[name].append(theirs / mine)
    kind = "SQLite" if server is None else "PostgreSQL"
    quartiles = {name: statistics.quantiles(found, n=4) for name, found in ratios.items()}
    rows = [[f"{kind}, as it is", f"{statistics.median(speeds):,.0f} a second", ""]]
    rows += [
        [f"{kind}, {name}", f"{mid:.2f}", f"{low:.2f} to {high:.2f}"] for name, (low, mid, high) in quartiles.items()
    ]
    return rows


def with_readers(store: Store) -> Store:
    """Leave as many connections in the pool as many readers would."""
    with ExitStack() as stack:
        for _ in range(READERS):
            stack.enter_context(store.database.reading())
    return store


def speed(writing: Writer, label: str, server: PostgreSQLServer | None) -> float:
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
        "read by JSON (as it is)": lambda driver, rows: driver.execute(read_json, (json.dumps(keys(rows)),)).fetchall(),
        "read by VALUES": lambda driver, rows: driver.execute(read_values, flat(keys(rows))).fetchall(),
        "read one by one": lambda driver, rows: [driver.execute(read_one, key).fetchall() for key in keys(rows)],
        "written by executemany (as it is)": lambda driver, rows: driver.executemany(own, rows),
        "written by VALUES": lambda driver, rows: driver.execute(write_values, flat(rows)),
        "written by JSON": lambda driver, rows: driver.execute(write_json, (json.dumps(rows),)),
    }


def postgresql_ways() -> dict[str, Way]:
    """Return ways to write rows, in PostgreSQL."""
    own = given_rows._postgresql_text(ANSWER_ASSIGNMENTS, ANSWER_COLUMNS)
    arrays = ANSWER_ASSIGNMENTS.format(
        given="unnest(%s::bigint[], %s::bigint[], %s::boolean[], %s::text[]) "
        "AS given(experiment, number, is_answered, answer_key)"
    )
    one = "UPDATE assignments SET is_answered = %s, answer_key = %s WHERE experiment = %s AND number = %s"

    def many(driver: Any, rows: Rows) -> None:
        with driver.cursor() as cursor:
            cursor.executemany(one, [(row[2], row[3], row[0], row[1]) for row in rows])

    return {
        "written by JSON (as it is)": lambda driver, rows: driver.execute(own, (json.dumps(rows),)),
        "written by arrays (unnest)": lambda driver, rows: driver.execute(
            arrays, [list(column) for column in zip(*rows, strict=True)]
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
        found = connection.execute(text("SELECT experiment, number FROM assignments ORDER BY number, experiment"))
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
Steps a second of the writer with 32 callers, {OPEN:,} assignments open and {READERS} connections that readers have left
in the pool; and those of every other way, as a share of them: the median of {ROUNDS} rounds that take turns, and its
quartiles.

{table(["", "steps", "quartiles"], choices)}
Microseconds a row, of {ROWS} in a statement:

{table(["", "a row"], ways)}"""
    if not QUICK:
        write_section("How experiments in a database are written", "store_choices.py", body)


if __name__ == "__main__":
    main()
