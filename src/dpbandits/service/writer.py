"""Writer: the one thread that writes. It takes all steps that came while the last transaction was being written.

    submit -> queue -> batch -> commit -> marks -> everyone is answered

One fsync serves a whole batch, so a disk that is slow makes batches larger, and no step waits for more than the one
before. A batch that fails is taken again step by step, so that one step cannot fail another's. If a commit fails, or
its answer is lost, nobody knows whether it happened: the steps are told so, what is remembered of their experiments is
forgotten, and it is read again before anything is drawn. Whoever asks again with the same key is counted once.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from dpbandits import _validate
from dpbandits._forks import this_process
from dpbandits._frames import clean
from dpbandits._phrases import one_line
from dpbandits.errors import DatabaseError, DPBanditsError, QueueFull, StepError
from dpbandits.mechanisms import SecureNoise
from dpbandits.service.batch import Batch, Refusal
from dpbandits.service.book_rows import BookRows, Wanted
from dpbandits.service.database import DatabaseAway, UnknownOutcome
from dpbandits.service.directory import Directory
from dpbandits.service.experiment_rows import Experiment, ExperimentRow, MakeSource, locked_rows, open_experiments
from dpbandits.service.given_rows import Read
from dpbandits.service.learner_cache import LearnerCache
from dpbandits.service.marks import Mark, check_mark
from dpbandits.service.promise_checks import PromiseChecks
from dpbandits.service.schema import ledger
from dpbandits.service.steps import Step, check_step
from dpbandits.service.store import Store

_MOST_IN_A_BATCH = 512
_MOST_WAITING = 10_000
# Seconds to wait for those who were answered just now: most come again at once, and a batch with them costs little
# more. Without that, 32 callers of PostgreSQL get a sixth fewer steps a second (benchmarks/store_choices.py).
_LINGER = 0.0005


class StepFuture(Future[Any]):
    """The answer that a step will have. It cannot be cancelled: a step that waits is taken."""

    def cancel(self) -> bool:
        """Return False: it goes on."""
        return False


class _Awaited:
    """The answer that a thread of this process waits for, with `set_result` and `set_exception` of a future.

    With futures, 32 threads get 5% fewer steps a second (benchmarks/store_choices.py).
    """

    __slots__ = ("_answer", "_arrival", "_error")

    def __init__(self) -> None:
        self._answer: Any = None
        self._error: BaseException | None = None
        self._arrival = threading.Lock()
        self._arrival.acquire()

    def set_result(self, answer: Any) -> None:
        self._answer = answer
        self._arrival.release()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._arrival.release()

    def result(self) -> Any:
        """Wait for the answer, once. An error is let go of, so that it does not keep itself."""
        self._arrival.acquire()
        error, self._error = self._error, None
        if error is None:
            return self._answer
        try:
            raise error
        finally:
            del error


Entry = tuple[Step, StepFuture | _Awaited]


class Writer:
    """Takes the steps of experiments, many in one transaction.

    Args:
        store: where they are written.
        most_waiting: how many steps may wait; one more is refused.
        most_learners: how many experiments are remembered at a time.
        make_source: makes noise sources, for tests; secure ones by default.
    """

    def __init__(
        self,
        store: Store,
        *,
        most_waiting: int = _MOST_WAITING,
        most_learners: int = 1000,
        make_source: MakeSource | None = None,
    ) -> None:
        _validate.check_kind(Store, "a Store", store=store)
        self._process = this_process()
        self._database = store.database
        self._marks = store.marks
        self._most_waiting = _validate.integer("[1, 10000000]", most_waiting=most_waiting)
        self._make_source = _secure_source if make_source is None else make_source
        self._cache = LearnerCache(_validate.integer("[1, 10000000]", most_learners=most_learners))
        self._checks = PromiseChecks(store.database)
        self._directory = Directory()
        self._locked: set[int] = set()  # the experiments of the transaction that is under way
        self._connection: Connection | None = None  # that of the thread that writes
        self._waiting: deque[Entry] = deque()
        self._under_way: deque[Entry] = deque()  # those of a batch that were not answered yet
        self._came = threading.Condition()
        self._wanted = 1  # so many steps wake the writer
        self._is_closing = False
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._write_to_the_end, name="dpbandits writer", daemon=True)
        self._thread.start()

    def submit(self, step: Step) -> StepFuture:
        """Put a step into the queue, and return what will have its answer.

        Raises:
            QueueFull: too many steps wait.
            StepError: the writer was closed.
        """
        return self.submit_many([step])[0]

    def submit_many(self, steps: Sequence[Step]) -> list[StepFuture]:
        """Put steps into the queue, all or none, and return what will have their answers."""
        futures = [StepFuture() for _ in steps]
        self._put(steps, futures)
        return futures

    def take(self, step: Step) -> Any:
        """Take a step and return its answer."""
        awaited = _Awaited()
        self._put([step], [awaited])
        return awaited.result()

    def _put(self, steps: Sequence[Step], answers: Sequence[StepFuture | _Awaited]) -> None:
        for step in steps:
            check_step(step)
        if this_process() != self._process:
            raise StepError("This writer belongs to the process that made it: a forked one needs its own.")
        with self._came:
            if self._is_closing:
                raise StepError("The writer was closed: it takes no more steps.")
            if len(self._waiting) + len(steps) > self._most_waiting:
                raise QueueFull(f"More than {self._most_waiting:,} steps are waiting to be written. Ask again.")
            self._waiting.extend(zip(steps, answers, strict=True))
            if len(self._waiting) >= self._wanted:
                self._came.notify()

    @property
    def waiting(self) -> int:
        """How many steps wait for the batch under way to end."""
        return len(self._waiting)

    def close(self) -> None:
        """Take the steps that wait, and end. Neither a forked process nor the thread that writes waits for that."""
        if this_process() != self._process:
            return
        with self._came:
            self._is_closing = True
            self._came.notify()
        if threading.current_thread() is not self._thread:
            self._has_ended.wait()  # a join that was interrupted would not wait a second time
            self._thread.join()
        self._checks.close()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- in the thread that writes

    def _write_to_the_end(self) -> None:
        """Write until the writer is closed. Should that fail, nobody waits for ever."""
        try:
            self._write_all()
        finally:
            with self._came:
                self._is_closing = True
                left = list(self._waiting)
                self._waiting.clear()
            lost = "The writer has ended: whether this step was taken is not known. Ask again, with the same key."
            for _, awaited in self._under_way:
                with suppress(BaseException):  # of whoever is told
                    awaited.set_exception(UnknownOutcome(lost))
            for _, awaited in left:
                with suppress(BaseException):
                    awaited.set_exception(StepError("The writer has ended: this step was not taken."))
            self._let_go()
            self._has_ended.set()

    def _write_all(self) -> None:
        expected = 1  # steps in a batch, if all who were answered come again at once
        while True:
            with self._came:
                while not self._waiting and not self._is_closing:
                    self._wanted = 1
                    self._came.wait()
                if len(self._waiting) < expected and not self._is_closing:
                    self._wanted = expected
                    self._came.wait(_LINGER)
                if not self._waiting:
                    return
                size = min(len(self._waiting), _MOST_IN_A_BATCH)
                self._under_way.extend(self._waiting.popleft() for _ in range(size))
            outcomes = self._taken([step for step, _ in self._under_way])
            assert len(outcomes) == size
            for outcome in outcomes:
                # Of errors one of its own for everybody, without the frames of this one.
                error = type(outcome.error)(str(outcome.error)) if isinstance(outcome, Refusal) else None
                _, awaited = self._under_way.popleft()
                if error is None:
                    awaited.set_result(outcome)
                else:
                    awaited.set_exception(error)
            expected = min(size + len(self._waiting), _MOST_IN_A_BATCH)

    def _taken(self, steps: Sequence[Step]) -> list[Any]:
        """Take steps together; step by step if that fails for a reason that one of them may be."""
        try:
            return self._together(steps)
        except (DatabaseAway, UnknownOutcome) as problem:
            return [Refusal(problem)] * len(steps)
        except DPBanditsError as problem:
            if len(steps) == 1:
                return [Refusal(problem)]
        return [outcome for step in steps for outcome in self._taken([step])]

    @clean
    def _together(self, steps: Sequence[Step]) -> list[Any]:
        """Take steps in one transaction. If it fails, nothing is remembered of its experiments."""
        self._locked = set()
        try:
            if self._connection is None:
                self._connection = self._database.connection()
            with self._database.writing(self._connection) as connection:
                opened = partial(self._opened, connection)
                batch = Batch(steps, self._database, connection, self._directory, self._cache.known, opened)
                batch.take()
            self._mark([work.experiment for work in batch.work.values()])
        except BaseException:
            self._cache.forget(self._locked)
            self._let_go()
            raise
        self._cache.keep([work.experiment for work in batch.work.values()])
        return batch.outcomes

    def _let_go(self) -> None:
        """End the connection, whatever has become of it: the next batch gets one that is whole."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.detach()  # from its pool, which would keep it, also after the store was closed
            with suppress(Exception):
                connection.close()

    def _opened(
        self, connection: Connection, ids: Iterable[int], rows: BookRows, foreseen: Callable[[], Wanted]
    ) -> tuple[dict[int, Experiment], dict[int, DPBanditsError], float]:
        """Return experiments, locked and up to date, of those that cannot go on the reasons, and the time."""
        reads: list[Read] = []

        def reads_meanwhile() -> Iterator[Read]:
            reads.extend(rows.reads(foreseen()))
            yield from reads

        locked, time, found = locked_rows(self._database, connection, ids, reads_meanwhile())
        rows.take(reads, found)
        self._locked = {row.id for row in locked}
        refused = {row.id: refusal for row in locked if (refusal := self._refusal(row)) is not None}
        self._cache.forget(refused)
        sound = [row for row in locked if row.id not in refused]
        opened, unreadable = open_experiments(
            self._database, connection, sound, self._cache.known, rows, self._make_source
        )
        self._cache.forget(unreadable)
        for experiment in opened.values():
            if experiment.marked_version != experiment.version:  # else this process has written it
                check_mark(experiment.mark, self._marks.mark(experiment.id), experiment.name)
        return opened, {**refused, **unreadable}, time

    def _refusal(self, row: ExperimentRow) -> DPBanditsError | None:
        """Return why an experiment cannot go on, before anything else of it is believed; None if it can."""
        try:
            check_mark(Mark(row.identity, row.version, row.ledger_rows, None), self._marks.mark(row.id), row.name)
        except DatabaseError as problem:
            return problem
        return self._checks.refusal(row)

    def _mark(self, experiments: Sequence[Experiment]) -> None:
        """Write the marks of what was committed; on disk, if somebody may see a release that was not marked there."""
        behind = [experiment for experiment in experiments if experiment.marked_version < experiment.version]
        if not behind:
            return
        marks = {experiment.id: experiment.mark for experiment in behind}
        is_durable = any(experiment.marked_rows < marks[experiment.id].rows for experiment in behind)
        try:
            further = self._marks.raise_to(marks, durable=is_durable)
            if further:
                self._check_history({number: marks[number] for number in further})
        except Exception as problem:  # noqa: BLE001  (it is committed: none of its steps may be taken again)
            reason = one_line(problem) if isinstance(problem, OSError | DatabaseError) else type(problem).__name__
            failure = UnknownOutcome(
                f"This step is in the database, and cannot be acknowledged, since its mark could not be written: "
                f"{reason} Ask again, with the same key."
            )
        else:
            for experiment in behind:
                experiment.marked_version = experiment.version
                if is_durable:
                    experiment.marked_rows = marks[experiment.id].rows
            return
        raise failure

    def _check_history(self, marks: Mapping[int, Mark]) -> None:
        """Refuse what was committed if another host has gone on from a database that does not have it."""
        with self._database.reading() as connection:
            for number, mark in marks.items():
                is_last = (ledger.c.experiment == number) & (ledger.c.number == mark.rows - 1)
                if connection.scalar(select(ledger.c.hash).where(is_last)) != mark.head:
                    raise DatabaseError(f"The database has another history of experiment {number} than its mark.")


def _secure_source(name: str, grid_bits: int) -> SecureNoise:
    return SecureNoise(grid_bits)
