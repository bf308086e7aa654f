"""Experiments and their ledgers as rows: locked, loaded as learners, brought up to date, written.

What a process remembers of an experiment changes only with releases (policy, statistics, ledger), and counts. Counts
come with the lock on its row, and releases that another process has made are caught up with. So nothing is replayed at
a start but releases, and however many assignments are open, none of them is loaded.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection

from dpbandits.errors import DatabaseError, DPBanditsError, LedgerError
from dpbandits.live.configuration import Terms
from dpbandits.live.learner import Learner
from dpbandits.live.live_noise import UndrawableNoise
from dpbandits.live.schedule_cost import TOLERANCE, check_terms
from dpbandits.mechanisms import SecureNoise
from dpbandits.mechanisms.state import to_plain
from dpbandits.privacy import Row
from dpbandits.privacy.ledger import GENESIS
from dpbandits.service.book_rows import BookRows
from dpbandits.service.database import Database
from dpbandits.service.given_rows import Read, Write, insert_text
from dpbandits.service.marks import Mark
from dpbandits.service.schema import blocks, experiments, ledger, progress
from dpbandits.service.sql_book import SqlBook
from dpbandits.service.terms_process import configuration_of

_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
MakeSource = Callable[[str, int], SecureNoise]  # for the name of an experiment and the bits of its grid


@dataclass(slots=True)
class Experiment:
    """What a process remembers of an experiment.

    Attributes:
        id: its number in the database.
        name: what people call it.
        identity: tells it from another one with the same number.
        state: as it was when its row was last locked.
        learner: its policy, statistics, ledger and counts.
        version: how many transactions had changed it.
        marked_version: that of the mark which this process knows to be written; -1 if it knows of none.
        marked_rows: how many rows of the ledger this process knows to be marked on disk.
        made: the rows that its ledger got in this transaction, each with how many decisions there were.
        is_changed: whether this transaction has changed it.
        has_new_state: whether this transaction has changed its state.
    """

    id: int
    name: str
    identity: str
    state: str
    learner: Learner
    version: int
    marked_version: int = -1
    marked_rows: int = -1
    made: list[tuple[Row, int]] = field(default_factory=list)
    is_changed: bool = False
    has_new_state: bool = False

    @property
    def mark(self) -> Mark:
        """How far it has come."""
        number, head = self.learner.ledger.head
        return Mark(self.identity, self.version, number + 1, head)


class ExperimentRow(NamedTuple):
    """The row of an experiment, and the time of a server when it was locked, or read."""

    id: int
    name: str
    identity: str
    tag: str
    unit_key: str
    state: str
    checked_by: str
    version: int
    ledger_rows: int
    counts: str
    time: float | None


def locked_rows(
    database: Database, connection: Connection, ids: Iterable[int], reads: Iterable[Read] = ()
) -> tuple[list[ExperimentRow], float, list[list[Any]]]:
    """Lock experiments, in the order of their ids, so that nobody waits for each other.

    Args:
        database: where they are.
        connection: in a transaction.
        ids: their numbers.
        reads: what is read as well, when they are locked. A generator makes them while the locks are being taken.

    Returns:
        Their rows, the time when they were locked, and what these reads have found.
    """
    given = [(number,) for number in sorted(set(ids))]
    if not given:
        return [], database.now(connection), []
    found, *others = database.given.read(connection, chain([Read(_LOCK, _ONE, given)], reads))
    rows = [ExperimentRow(*row) for row in found]
    times = [row.time for row in rows if row.time is not None] if database.tells_time else []
    return rows, max(times) if times else database.now(connection), others


def open_experiments(
    database: Database,
    connection: Connection,
    locked: Sequence[ExperimentRow],
    known: Mapping[int, Experiment],
    rows: BookRows,
    make_source: MakeSource,
) -> tuple[dict[int, Experiment], dict[int, DatabaseError]]:
    """Load experiments, or bring them up to date. Their books are of this transaction.

    Args:
        database: where they are.
        connection: in a transaction.
        locked: their rows.
        known: what this process remembers of some of them.
        rows: what their books have read.
        make_source: makes noise sources.

    Returns:
        Those that can be read, and why the others cannot. What is remembered of these is not to be used any more.
    """
    behind = {
        row.id: len(known[row.id].learner.ledger) if row.id in known else 0
        for row in locked
        if row.id not in known or known[row.id].version != row.version
    }
    stored = _stored_rows(database, connection, behind, known)
    opened: dict[int, Experiment] = {}
    unreadable: dict[int, DatabaseError] = {}
    for row in locked:
        try:
            opened[row.id] = _opened(row, known.get(row.id), stored[row.id], rows, make_source)
        except Exception as problem:  # noqa: BLE001  (whatever somebody has written there)
            reason = str(problem) if isinstance(problem, DPBanditsError) else f"{type(problem).__name__}."
            unreadable[row.id] = DatabaseError(f"Experiment {row.name!r} cannot be read: {reason}")
    _predraw_noise(database, connection, [opened[number] for number in behind if number in opened])
    return opened, unreadable


def _opened(
    row: ExperimentRow,
    experiment: Experiment | None,
    stored: list[tuple[Row, int]],
    rows: BookRows,
    make_source: MakeSource,
) -> Experiment:
    if experiment is None:
        experiment = _loaded(row, stored, rows, make_source)
    else:
        experiment.learner.book = SqlBook(rows, row.id, experiment.learner.schedule.is_cumulative)
        if experiment.version != row.version:
            experiment.learner.catch_up(json.loads(row.counts), stored)
    experiment.state, experiment.version = row.state, row.version
    experiment.is_changed = experiment.has_new_state = False
    if len(experiment.learner.ledger) != row.ledger_rows:
        raise DatabaseError(f"its ledger has lost rows, {row.ledger_rows:,} are counted.")
    return experiment


def read_experiment(database: Database, connection: Connection, number: int, rows: BookRows) -> Experiment:
    """Return an experiment as it is at one moment, to look at it. It draws nothing, and nothing of it is locked."""
    ((found,),) = database.given.read(connection, [Read(_LOCK.replace("{locked}", ""), _ONE, [(number,)])])
    row = ExperimentRow(*found)
    stored = _stored_rows(database, connection, {number: 0}, {})
    return _loaded(row, stored[number], rows, lambda name, grid_bits: UndrawableNoise(grid_bits))


def _stored_rows(
    database: Database, connection: Connection, behind: Mapping[int, int], known: Mapping[int, Experiment]
) -> dict[int, list[tuple[Row, int]]]:
    """Return the rows of ledgers from some row on, each with how many decisions there were when it was made."""
    heads = {each: known[each].learner.ledger.head[1] if each in known else GENESIS for each in behind}
    stored: dict[int, list[tuple[Row, int]]] = defaultdict(list)
    given = sorted(behind.items())
    if not given:
        return stored
    (found,) = database.given.read(connection, [Read(_LEDGER, (ledger.c.experiment, ledger.c.number), given)])
    for experiment, number, decisions, content, row_hash in found:
        stored[experiment].append((Row(number, heads[experiment], content, row_hash), decisions))
        heads[experiment] = row_hash
    return stored


def _loaded(row: ExperimentRow, stored: list[tuple[Row, int]], rows: BookRows, make_source: MakeSource) -> Experiment:
    if not stored or stored[0][0].number != 0:
        raise DatabaseError("its ledger has lost row 0.")
    content = stored[0][0].content
    configuration = configuration_of(content)
    terms = Terms.from_dict(configuration, content)
    if content != {**configuration.to_dict(), **terms.to_dict(configuration.file_format)}:
        raise DatabaseError("row 0 of its ledger is not what it was written as.")
    check_terms(configuration, terms)
    learner = Learner(
        configuration,
        terms,
        make_source(row.name, configuration.grid_bits),
        tolerance=TOLERANCE,
        make_book=lambda arms, is_cumulative: SqlBook(rows, row.id, is_cumulative),
    )
    beginning = {
        "tag": row.tag,
        "key": row.unit_key,
        "selection": None,
        "counts": learner.counts.snapshot(),
        "state": to_plain(learner.state),
    }
    learner.restore(beginning, [stored[0][0]])
    learner.catch_up(json.loads(row.counts), stored[1:])
    try:
        learner.ledger.verify()
    except LedgerError as problem:
        raise DatabaseError(f"its ledger is broken. {problem}") from None
    return Experiment(row.id, row.name, row.identity, row.state, learner, row.version)


def _predraw_noise(database: Database, connection: Connection, opened: list[Experiment]) -> None:
    """Draw the noise of experiments that were loaded or caught up, before any step may need it."""
    by_id = {experiment.id: experiment for experiment in opened}
    if not by_id:
        return
    given = [(each,) for each in sorted(by_id)]
    (found,) = database.given.read(connection, [Read(_AWAITED, (blocks.c.experiment,), given)])
    for experiment, arm in found:
        by_id[experiment].learner.predraw_noise(arm)


def experiment_writes(changed: list[Experiment]) -> Iterator[Write]:
    """Make what is to be written of experiments that a transaction has changed: counts, states, rows of ledgers."""
    counted, new_rows = [], []
    for experiment in changed:
        learner = experiment.learner
        experiment.version += 1
        for row, decisions in experiment.made:
            release = row.content
            places = release["arm"], release["release"]
            new_rows.append((experiment.id, row.number, *places, decisions, row.content_json, row.hash))
        experiment.made.clear()
        counts = _JSON.encode(learner.counts.snapshot())
        counted.append((experiment.id, experiment.version, len(learner.ledger), counts))
    states = [(experiment.id, experiment.state) for experiment in changed if experiment.has_new_state]
    yield Write(_COUNT, tuple(progress.c), counted)
    yield Write(_CHANGE_STATE, (experiments.c.id, experiments.c.state), states)
    yield Write(_ADD_ROW, tuple(ledger.c), new_rows)


_ONE = (progress.c.experiment,)
_ADD_ROW = insert_text(ledger)
_CHANGE_STATE = "UPDATE experiments SET state = given.state FROM {given} WHERE experiments.id = given.id"
# The clock is outside, where it is read once the row is locked; inside it would be read before the wait.
_LOCK = """
    SELECT found.*, {clock} FROM (
        SELECT experiments.id, experiments.name, experiments.identity, experiments.tag, experiments.unit_key,
            experiments.state, experiments.checked_by, progress.version, progress.ledger_rows, progress.counts
        FROM {given} CROSS JOIN progress CROSS JOIN experiments
        WHERE progress.experiment = given.experiment AND experiments.id = given.experiment
        ORDER BY progress.experiment {locked}) AS found
"""
_LEDGER = """
    SELECT found.experiment, found.number, found.decisions, found.content, found.hash
    FROM {given} CROSS JOIN ledger AS found
    WHERE found.experiment = given.experiment AND found.number >= given.number
    ORDER BY found.experiment, found.number
"""
_AWAITED = """
    SELECT DISTINCT found.experiment, found.arm FROM {given} CROSS JOIN blocks AS found
    WHERE found.experiment = given.experiment
"""
_COUNT = """
    UPDATE progress SET version = given.version, ledger_rows = given.ledger_rows, counts = given.counts
    FROM {given} WHERE progress.experiment = given.experiment
"""
