"""The writer: steps become batches, refused ones change nothing, and a failure is that of one step alone."""

import gc
import os
import signal
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import select, text, update

import dpbandits as dpb
from dpbandits.service import batch, book_statements, database, experiment_rows, promise_checks
from dpbandits.service.book_rows import BookRows
from dpbandits.service.database import Database, DatabaseAway, UnknownOutcome
from dpbandits.service.given_rows import GivenRows, Read, Write
from dpbandits.service.overviews import acknowledged_overview
from dpbandits.service.schema import assignments, experiments, ledger, progress
from dpbandits.service.steps import Assign, ChangeState, Forget, ReleaseDue, Reward, Step
from dpbandits.service.store import Store
from dpbandits.service.ticker import Ticker, look_for_due_blocks
from dpbandits.service.writer import Writer
from service_stores import Place, begun, configured
from shared_noise import ConstantNoise

pytestmark = pytest.mark.slow


@contextmanager
def writer_of(store: Store, **options: Any) -> Iterator[Writer]:
    with Writer(store, make_source=lambda name, bits: ConstantNoise(bits), **options) as writer:
        yield writer


@contextmanager
def held(store: Store) -> Iterator[None]:
    """Hold the lock that every batch needs, so that all steps that are submitted meanwhile become one batch."""
    with store.database.writing() as connection:
        if not store.database.is_sqlite:
            connection.execute(select(progress).with_for_update())
        yield


def keep_busy(writer: Writer) -> None:
    """Have the writer begin a batch, which waits for the lock that is held."""
    writer.submit(ReleaseDue("busy"))
    while writer.waiting:
        threading.Event().wait(0.001)


def together(store: Store, writer: Writer, steps: list[Step]) -> list[Any]:
    """Take steps in one batch, after one that keeps the writer busy; return their answers or errors."""
    with held(store):
        keep_busy(writer)
        futures = writer.submit_many(steps)
    return [future.exception() or future.result() for future in futures]


class CountedRows:
    """Given rows, with the statements that were asked for."""

    def __init__(self, rows: GivenRows) -> None:
        self._rows = rows
        self.seen: list[str] = []
        self.found = 0  # rows

    def read(self, connection: Any, reads: Iterable[Read]) -> list[list[Any]]:
        found = self._rows.read(connection, map(self._noted, reads))
        self.found += sum(map(len, found))
        return found

    def write(self, connection: Any, writes: Iterable[Write]) -> None:
        self._rows.write(connection, map(self._noted, writes))

    def _noted(self, given: Any) -> Any:
        self.seen.append(given.statement)
        return given


def test_a_person_is_assigned_and_answers(store: Store) -> None:
    begun(store, "trial")
    with writer_of(store) as writer:
        first = writer.take(Assign("trial", "p-1"))
        assert first.arm == "A"
        assert first.is_new
        again = writer.take(Assign("trial", "p-1"))
        assert (again, again.is_new) == (first, False)
        assert writer.take(Reward(first.id, 0.5, "key")) is None
        assert writer.take(Reward(first.id, 0.75, "key")) is None  # the same answer again, whatever it says
        with pytest.raises(dpb.AlreadyClosed):
            writer.take(Reward(first.id, 0.5, "another key"))


REFUSED: dict[str, tuple[Callable[[str], Step], type[Exception], str]] = {
    "an experiment that is none": (lambda _: Assign("nothing", "p"), dpb.NotFound, "no experiment='nothing'"),
    "a name that can be none": (lambda _: Assign("\0\ud800", "p"), dpb.NotFound, "no experiment="),
    "an assignment that is none": (lambda _: Reward("0123456789abcdef-1", 1.0), dpb.NotFound, "no assignment="),
    "one that was not made yet": (lambda tag: Reward(f"{tag}-9", 1.0), dpb.NotFound, "no assignment="),
    "one that can be none": (lambda tag: Reward(f"{tag}-99999999999999999999999", 1.0), dpb.NotFound, "no assign"),
    "an id in other words": (lambda tag: Reward(f"{tag}-01", 1.0), dpb.NotFound, "no assignment="),
    "a reward that is too large": (lambda tag: Reward(f"{tag}-1", 1.5), dpb.InvalidInput, r"in \[0.0, 1.0\]"),
    "no number": (lambda tag: Reward(f"{tag}-1", float("nan")), dpb.InvalidInput, r"in \[0.0, 1.0\]"),
    "a key without letters": (lambda tag: Reward(f"{tag}-1", 1.0, ""), dpb.InvalidInput, "key=''"),
    "a person without a name": (lambda _: Assign("trial", ""), dpb.InvalidInput, "unit=''"),
    "nobody to be forgotten": (lambda _: Forget(""), dpb.InvalidInput, "unit=''"),
    "another state": (lambda _: ChangeState("trial", "draft"), dpb.NotRunning, "which is running"),
}


@pytest.mark.parametrize("what", REFUSED, ids=str)
def test_a_refused_step_changes_nothing_and_no_other_step(store: Store, what: str) -> None:
    make, kind, text = REFUSED[what]
    begun(store, "trial")
    begun(store, "busy")
    with writer_of(store) as writer:
        first = writer.take(Assign("trial", "p-1"))
        before = all_rows(store)
        step = make(first.id.split("-")[0])
        with pytest.raises(kind, match=text):
            writer.take(step)
        assert all_rows(store) == before
        problem, given, taken = together(store, writer, [step, Assign("trial", "p-2"), Reward(first.id, 1.0)])
        assert type(problem) is kind
        assert (given.id.split("-")[1], taken) == ("2", None)


def test_what_a_step_is_made_of_is_looked_at_first() -> None:
    with pytest.raises(dpb.InvalidInput, match="experiment=7 to be text"):
        Assign(7, "p")  # type: ignore[arg-type]
    with pytest.raises(dpb.InvalidInput, match="state='gone'"):
        ChangeState("trial", "gone")  # type: ignore[arg-type]
    assert "0.5" not in repr(Reward("a-1", 0.5, "key"))


def all_rows(store: Store) -> dict[str, list[Any]]:
    """Return all that the database has."""
    from dpbandits.service.schema import metadata

    with store.database.reading() as connection:
        return {table.name: sorted(map(repr, connection.execute(select(table)))) for table in metadata.sorted_tables}


# ---- batches


def test_a_batch_has_every_statement_once_however_many_steps_and_experiments(store: Store) -> None:
    names = [f"trial-{number}" for number in range(12)]
    for name in ["busy", *names]:
        begun(store, name, configured(window=60.0 if name == "trial-3" else None))
    with writer_of(store) as writer:
        for name in ["busy", *names]:  # so that nobody has to be loaded
            writer.take(Assign(name, "first"))
        all_seen: set[str] = set()
        for size in (12, 60, 240):
            opened = [writer.take(Assign(names[i % 12], f"{size}/{i}")) for i in range(size)]
            steps: list[Step] = [Reward(given.id, 1.0, "key") for given in opened]
            steps += [Assign(names[i % 12], f"{size}/new {i}") for i in range(size)]
            with held(store):
                keep_busy(writer)
                futures = writer.submit_many(steps)
                counted = store.database.given = CountedRows(store.database.given)
            assert not any(future.exception() for future in futures)
            # The step that keeps the writer busy locks its experiment as well. Blocks are read as they are foreseen,
            # as they are next, and as they wait behind those. The time comes with the locks.
            times = Counter(counted.seen)
            assert times.pop(book_statements.READ_BLOCKS, 0) <= 3
            repeated = [statement for statement in times if times[statement] > 1]
            assert [statement for statement in repeated if statement != experiment_rows._LOCK] == []
            assert database._TIME.statement not in times
            all_seen |= set(counted.seen)
    assert any("INSERT INTO ledger" in statement for statement in all_seen)


def test_a_start_reads_as_much_however_many_assignments_are_open(store: Store) -> None:
    begun(store, "trial", configured(dpb.NoiseAwareIMED(epsilon=1.0)))
    found = []
    for many in (50, 1000):
        with writer_of(store) as writer:
            for future in writer.submit_many([Assign("trial", f"{many} {person}") for person in range(many)]):
                future.result()
        given = store.database.given
        counted = store.database.given = CountedRows(given)
        with writer_of(store) as writer:
            writer.take(Assign("trial", f"{many} more"))
        store.database.given = given
        found.append(counted.found)
    assert found[0] == found[1] <= 8


def test_in_a_batch_answers_come_before_releases_and_these_before_assignments(store: Store) -> None:
    """All people of the first blocks answer in the batch that hands out: who comes then gets the policy's choice."""
    policy = dpb.NoiseAwareIMED(epsilon=9.0, first_phase=2, growth=2.0)
    begun(store, "trial", configured(policy))
    begun(store, "busy")
    with writer_of(store) as writer:
        opened = [writer.take(Assign("trial", f"p-{i}")) for i in range(6)]
        by_arm = {"A": 0.0, "B": 1.0}
        steps: list[Step] = [Assign("trial", f"new {i}") for i in range(4)]
        steps += [Reward(given.id, by_arm[str(given.arm)]) for given in opened]
        answers = together(store, writer, steps)
        assert len(acknowledged_overview(store, "trial").ledger) > 2
        assert {answer.arm for answer in answers[:4]} == {"B"}


def test_the_same_person_twice_in_a_batch_gets_one_assignment(store: Store) -> None:
    begun(store, "trial")
    begun(store, "busy")
    with writer_of(store) as writer:
        one, other = together(store, writer, [Assign("trial", "p-1"), Assign("trial", "p-1")])
    assert one == other
    assert (one.is_new, other.is_new) == (True, False)


def test_the_queue_is_bounded_and_a_step_that_finds_it_full_is_not_taken(store: Store) -> None:
    begun(store, "busy")
    with writer_of(store, most_waiting=5) as writer:
        with held(store):
            keep_busy(writer)
            futures = [writer.submit(Assign("busy", number)) for number in range(5)]
            with pytest.raises(dpb.QueueFull, match="More than 5 steps"):
                writer.submit(Assign("busy", "one more"))
        assert futures[-1].result().id.endswith("-5")
        assert writer.take(Assign("busy", "next")).id.endswith("-6")


def test_what_waits_is_taken_before_the_writer_ends_and_nothing_after(store: Store) -> None:
    begun(store, "trial")
    writer = Writer(store)
    with held(store):
        futures = [writer.submit(Assign("trial", number)) for number in range(20)]
    writer.close()
    assert [future.result().id.split("-")[1] for future in futures] == [str(number) for number in range(1, 21)]
    with pytest.raises(dpb.StepError, match="closed"):
        writer.submit(Assign("trial", "late"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_writer_that_has_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(store, "trial")
    begins, ends = threading.Event(), threading.Event()

    def ending(*_: Any) -> Any:
        begins.set()
        ends.wait()
        raise SystemExit

    monkeypatch.setattr(Writer, "_taken", ending)
    writer = Writer(store)
    first = writer.submit(Assign("trial", 1))
    begins.wait()
    second = writer.submit(Assign("trial", 2))
    ends.set()
    assert type(first.exception()) is UnknownOutcome
    with pytest.raises(dpb.StepError, match="not taken"):
        second.result()
    with pytest.raises(dpb.StepError, match="was closed"):
        writer.take(Assign("trial", 3))
    writer.close()


def test_an_error_keeps_nobody_in_memory(store: Store) -> None:
    class Name(str):
        """Text that can be watched."""

    with writer_of(store) as writer:
        gc.collect()
        gc.disable()
        try:
            watched = weakref.ref(refused_name(writer, Name("nobody")))
            with pytest.raises(dpb.NotFound):
                writer.take(Assign("nothing", "somebody else"))  # so that the writer holds nothing of the last batch
            assert watched() is None
        finally:
            gc.enable()


def refused_name(writer: Writer, name: str) -> str:
    with suppress(dpb.NotFound):
        writer.take(Assign("nothing", name))
    return name


def test_a_writer_keeps_nothing_open_that_its_store_has_let_go_of(place: Place) -> None:
    store = place.store()
    begun(store, "trial")
    writer = Writer(store)
    writer.take(Assign("trial", 1))
    connection = writer._connection
    assert connection is not None
    driver: Any = connection.connection.driver_connection
    store.close()
    writer.close()
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError)):
        driver.execute("SELECT 1")


def test_a_forked_process_gets_nothing_of_a_store(store: Store) -> None:
    begun(store, "trial")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "this_process", lambda: (1, 1))
        for use in (lambda: acknowledged_overview(store, "trial"), lambda: begun(store, "other")):
            with pytest.raises(dpb.StepError, match="a forked one needs its own"):
                use()
    assert acknowledged_overview(store, "trial").assigned == 0


def test_a_close_that_was_interrupted_waits_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(store, "trial")
    writer = Writer(store)
    with held(store):
        future = writer.submit(Assign("trial", 1))
        with monkeypatch.context() as patch:
            patch.setattr(writer._has_ended, "wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                writer.close()
        again = threading.Thread(target=writer.close)
        again.start()
    again.join()
    assert future.done()


def test_a_forked_process_takes_nothing_from_its_parent(store: Store) -> None:
    begun(store, "trial")
    with writer_of(store) as writer:
        writer.take(Assign("trial", 1))
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # which ends it, should it wait
            writer.close()
            store.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert writer.take(Assign("trial", 2)).id.endswith("-2")
        url = store.database.url.render_as_string(hide_password=False)
        with closing(Database(url)) as other, pytest.raises(dpb.DatabaseError, match="is in use"):
            other.use(alone=True)


def test_whoever_is_answered_may_end_the_writer(store: Store) -> None:
    begun(store, "trial")
    writer = Writer(store)
    with held(store):
        futures = writer.submit_many([Assign("trial", person) for person in range(3)])
        futures[0].add_done_callback(lambda _: writer.close())
    assert [future.result().id[-2:] for future in futures] == ["-1", "-2", "-3"]
    writer.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_answer_that_ends_the_thread_leaves_nobody_waiting(store: Store) -> None:
    def ending(_: Any) -> None:
        raise SystemExit

    begun(store, "trial")
    writer = Writer(store)
    with held(store):
        futures = writer.submit_many([Assign("trial", person) for person in range(3)])
        futures[0].add_done_callback(ending)
    assert futures[0].result().id.endswith("-1")
    assert [type(future.exception()) for future in futures[1:]] == [UnknownOutcome] * 2
    writer.close()


def interrupted() -> None:
    raise KeyboardInterrupt


# ---- failures


def test_a_step_that_breaks_a_batch_fails_alone_and_says_nothing_of_why(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(store, "trial")
    begun(store, "busy")
    add = BookRows.add

    def failing(self: BookRows, experiment: int, number: int, place: Any, visit: Any, *rest: Any) -> None:
        add(self, experiment, number, place, visit, *rest)
        if visit.key is not None:
            raise RuntimeError("the secret is 0.123")

    monkeypatch.setattr(BookRows, "add", failing)
    with writer_of(store) as writer:
        answers = together(store, writer, [Assign("trial", "a"), Assign("trial", "b", "key"), Assign("trial", "c")])
        assert [answers[0].id[-2:], answers[2].id[-2:]] == ["-1", "-2"]
        assert type(answers[1]) is dpb.StepError
        assert "0.123" not in str(answers[1])
        assert answers[1].__cause__ is answers[1].__context__ is None


def test_a_statement_that_fails_undoes_the_step_and_the_next_one_works(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(store, "trial")
    write = experiment_rows.experiment_writes
    broken = [True]

    def failing(changed: Any) -> list[Write]:
        nonsense = Write("INSERT INTO nowhere SELECT id FROM {given}", (experiments.c.id,), [(1,)])
        return [*write(changed), *([nonsense] if broken and broken.pop() else [])]

    with writer_of(store) as writer:
        first = writer.take(Assign("trial", "a"))
        before = all_rows(store)
        monkeypatch.setattr(batch, "experiment_writes", failing)
        with pytest.raises(dpb.DatabaseError, match="has failed") as caught:
            writer.take(Reward(first.id, 0.123))
        assert "0.123" not in str(caught.value)
        assert all_rows(store) == before
        assert writer.take(Reward(first.id, 0.123)) is None
        assert writer.take(Assign("trial", "b")).id.endswith("-2")


def test_a_release_whose_transaction_failed_is_made_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of the experiment has a release that the database does not have."""
    begun(store, "trial")
    write = experiment_rows.experiment_writes
    nonsense = Write("INSERT INTO nowhere SELECT id FROM {given}", (experiments.c.id,), [(1,)])
    with writer_of(store) as writer:
        opened = [writer.take(Assign("trial", person)) for person in range(4)]
        for given in opened[:-2]:
            writer.take(Reward(given.id, 1.0))
        for given in opened[-2:]:
            monkeypatch.setattr(batch, "experiment_writes", lambda changed: [*write(changed), nonsense])
            with pytest.raises(dpb.DatabaseError):
                writer.take(Reward(given.id, 1.0))
            monkeypatch.setattr(batch, "experiment_writes", write)
            assert writer.take(Reward(given.id, 1.0)) is None
    assert [row.content["value"] for row in acknowledged_overview(store, "trial").releases] == [2.0, 2.0]
    with store.database.reading() as connection:
        assert connection.scalars(select(ledger.c.decisions).order_by(ledger.c.number)).all() == [0, 4, 4]


def test_in_sealed_timing_a_batch_of_rewards_alone_releases_nothing(place: Place) -> None:
    now = [1e9]
    with place.store(clock=lambda: now[0]) as store:
        begun(store, "trial", configured(window=60.0, timing="sealed"))
        with writer_of(store) as writer:
            for person in range(4):
                writer.take(Assign("trial", person))
            now[0] += 30.0
            late = writer.take(Assign("trial", "late"))
            now[0] += 40.0  # the first blocks are due
            assert writer.take(Reward(late.id, 1.0)) is None
            assert len(acknowledged_overview(store, "trial").ledger) == 1
            assert look_for_due_blocks(store, writer) == 2


def test_an_experiment_that_cannot_be_loaded_stops_no_other(store: Store) -> None:
    broken = begun(store, "broken")
    begun(store, "trial")
    begun(store, "busy")
    with store.database.writing() as connection:
        connection.execute(update(progress).where(progress.c.experiment == broken).values(counts="{}"))
    with writer_of(store) as writer:
        problem, given = together(store, writer, [Assign("broken", "a"), Assign("trial", "a")])
        assert isinstance(problem, dpb.StepError | dpb.DatabaseError)
        assert given.id.endswith("-1")


# ---- states, time, people


def test_who_is_known_keeps_their_assignment_where_nobody_new_is_taken(store: Store) -> None:
    begun(store, "trial", state="draft")
    with writer_of(store) as writer:
        with pytest.raises(dpb.NotRunning, match="to be running, not draft"):
            writer.take(Assign("trial", "p-1"))
        writer.take(ChangeState("trial", "running"))
        first = writer.take(Assign("trial", "p-1"))
        for state in ("paused", "stopped"):
            writer.take(ChangeState("trial", state))
            assert writer.take(Assign("trial", "p-1")) == first
            with pytest.raises(dpb.NotRunning, match=f"not {state}"):
                writer.take(Assign("trial", "p-2"))
        assert writer.take(Reward(first.id, 1.0)) is None  # its window runs on
        writer.take(ChangeState("trial", "archived"))
        with pytest.raises(dpb.NotFound):
            writer.take(Reward(first.id, 1.0))
        with pytest.raises(dpb.NotRunning):
            writer.take(Assign("trial", "p-1"))


@pytest.mark.parametrize("state", ["running", "paused", "stopped"])
def test_nothing_is_released_after_stop(store: Store, state: Any) -> None:
    begun(store, "trial")
    with writer_of(store) as writer:
        opened = [writer.take(Assign("trial", number)) for number in range(4)]
        if state != "running":
            writer.take(ChangeState("trial", state))
        for given in opened:
            writer.take(Reward(given.id, 1.0))
    assert (len(acknowledged_overview(store, "trial").ledger) > 1) == (state != "stopped")


def test_the_ticker_releases_what_is_due_and_nothing_else(place: Place) -> None:
    now = [1e9]
    with place.store(clock=lambda: now[0]) as store:
        for name, state in [("sealed", "running"), ("stopped", "running"), ("open", "running")]:
            begun(store, name, configured(window=60.0, timing="open" if name == "open" else "sealed"), state=state)
        with writer_of(store) as writer:
            for name in ("sealed", "stopped", "open"):
                for number in range(4):
                    given = writer.take(Assign(name, number))
                    if name == "sealed":
                        writer.take(Reward(given.id, 1.0))
            writer.take(ChangeState("stopped", "stopped"))
            now[0] += 59.9
            assert look_for_due_blocks(store, writer) == 0
            now[0] += 0.1
            assert look_for_due_blocks(store, writer) == 4
            assert look_for_due_blocks(store, writer) == 0
        assert {name: len(acknowledged_overview(store, name).ledger) for name in ("sealed", "stopped", "open")} == {
            "sealed": 3,
            "stopped": 1,
            "open": 3,
        }


def test_a_ticker_looks_by_itself(place: Place) -> None:
    with place.store() as store:
        begun(store, "trial", configured(window=0.3))
        with writer_of(store) as writer:
            for number in range(4):
                writer.take(Assign("trial", number))
            ticker = Ticker(store, writer)
            while len(acknowledged_overview(store, "trial").ledger) < 3:
                threading.Event().wait(0.05)
            ticker.close()


def test_a_clock_of_another_time_is_refused_and_nothing_changes(place: Place) -> None:
    now = [1e9]
    with place.store(clock=lambda: now[0]) as store:
        begun(store, "trial", configured(window=60.0))
        with writer_of(store) as writer:
            first = writer.take(Assign("trial", 1))
            now[0] += 4e8
            for step in (Assign("trial", 2), Reward(first.id, 1.0), ReleaseDue("trial")):
                with pytest.raises(dpb.InvalidInput, match="within ten years"):
                    writer.take(step)
            now[0] -= 4e8
            assert writer.take(Reward(first.id, 1.0)) is None


def test_somebody_who_was_forgotten_enters_nowhere_and_no_link_is_left(store: Store) -> None:
    for name in ("one", "other", "unknown"):
        begun(store, name, configured(contributions=3))
    with writer_of(store) as writer:
        opened = [writer.take(Assign(name, "p-1", f"visit {n}")) for name in ("one", "other") for n in range(2)]
        assert writer.take(Forget("p-1")) is None
        assert writer.take(Forget("p-1")) is None
        assert writer.take(Forget("somebody else")) is None
        for name in ("one", "other"):
            again = writer.take(Assign(name, "p-1"))
            assert (again.id, again.is_new) == ("", False)
        assert writer.take(Assign("unknown", "p-1")).is_new  # a name that is not known is not kept out
        assert writer.take(Reward(opened[0].id, 1.0)) is None  # what is open can still be answered
    with store.database.reading() as connection:
        linked = connection.execute(
            select(assignments.c.experiment).where(
                assignments.c.unit.is_not(None) | assignments.c.visit_key.is_not(None)
            )
        ).all()
    assert len(linked) == 1


def test_somebody_who_has_only_just_come_or_was_in_what_is_archived_is_forgotten_too(store: Store) -> None:
    for name in ("busy", "old", "new"):
        begun(store, name)
    with writer_of(store) as writer:
        writer.take(Assign("old", "p-1"))
        for state in ("stopped", "archived"):
            writer.take(ChangeState("old", state))
        assert not any(
            isinstance(each, Exception) for each in together(store, writer, [Assign("new", "p-1"), Forget("p-1")])
        )
        assert writer.take(Assign("new", "p-1")).id == ""
    with store.database.reading() as connection:
        assert connection.scalars(select(assignments.c.unit)).all() == [None, None]


def test_a_state_that_changes_while_a_batch_waits_for_the_lock_counts(postgresql_place: Place) -> None:
    with postgresql_place.store() as store:
        number = begun(store, "trial")
        with writer_of(store) as writer:
            writer.take(Assign("trial", "p-1"))
            with store.database.writing() as connection:
                connection.execute(select(progress).with_for_update())
                future = writer.submit(Assign("trial", "p-2"))
                wait_until_a_lock_is_waited_for(store)
                connection.execute(update(experiments).values(state="stopped"))
                connection.execute(update(progress).values(version=progress.c.version + 1))
            assert isinstance(future.exception(), dpb.NotRunning)
            assert number == 1


def test_the_time_of_a_batch_is_that_after_it_has_waited_for_all_its_locks(postgresql_place: Place) -> None:
    with postgresql_place.store() as store:
        for name in ("one", "other", "busy"):
            begun(store, name, configured(window=60.0))
        with writer_of(store) as writer:
            for last in (1, 2):  # the experiment that is waited for
                with store.database.writing() as busy, store.database.writing() as connection:
                    busy.execute(select(progress).where(progress.c.experiment == 3).with_for_update())
                    connection.execute(select(progress).where(progress.c.experiment == last).with_for_update())
                    keep_busy(writer)
                    futures = writer.submit_many([Assign(name, f"p-{last}") for name in ("one", "other")])
                    busy.rollback()
                    wait_until_a_lock_is_waited_for(store)
                    released_at = store.database.now(connection)
                for future in futures:
                    future.result()
                with store.database.reading() as connection:
                    times = connection.scalars(select(assignments.c.until).where(assignments.c.number == last)).all()
                assert len(times) == 2
                assert min(times) >= released_at + 60.0


def test_a_writer_keeps_its_connection_whoever_reads(store: Store) -> None:
    begun(store, "trial")
    with writer_of(store) as writer, ExitStack() as stack:
        writer.take(Assign("trial", 0))
        used = store.database.given = NotedConnections(store.database.given)
        for person in range(1, 9):
            stack.enter_context(store.database.reading())  # who take what was used last, or longest ago
            writer.take(Assign("trial", person))
        stack.close()
        for person in range(9, 19):
            writer.take(Assign("trial", person))
    assert len(used.seen) == 1


class NotedConnections:
    """Given rows, with the connections of the driver through which they went."""

    def __init__(self, rows: GivenRows) -> None:
        self._rows = rows
        self.seen: set[int] = set()

    def read(self, connection: Any, reads: Iterable[Read]) -> list[list[Any]]:
        self.seen.add(id(connection.connection.driver_connection))
        return self._rows.read(connection, reads)

    def write(self, connection: Any, writes: Iterable[Write]) -> None:
        self.seen.add(id(connection.connection.driver_connection))
        self._rows.write(connection, writes)


def wait_until_a_lock_is_waited_for(store: Store) -> None:
    waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    while True:
        with store.database.reading() as connection:
            if connection.scalar(waiting):
                return
        threading.Event().wait(0.005)


def test_where_somebody_else_holds_the_lock_for_long_a_batch_waits_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(store, "trial")
    times = []
    with writer_of(store) as writer:
        writer.take(Assign("trial", 0))

        def locked(*_: Any) -> Any:
            times.append(1)
            raise DatabaseAway("The database is locked.")

        monkeypatch.setattr(Writer, "_together", locked)
        futures = writer.submit_many([Assign("trial", person) for person in range(1, 7)])
        assert all(isinstance(future.exception(), DatabaseAway) for future in futures)
        assert len(times) <= 2


def test_few_experiments_are_remembered_and_the_others_read_again(store: Store) -> None:
    for number in range(5):
        begun(store, f"trial-{number}")
    with writer_of(store, most_learners=2) as writer:
        for turn in range(4):
            for number in range(5):
                given = writer.take(Assign(f"trial-{number}", f"p-{turn}"))
                assert given.id.endswith(f"-{turn + 1}")
                writer.take(Reward(given.id, 1.0))
        assert len(writer._cache.known) == 2
    assert len(acknowledged_overview(store, "trial-0").ledger) == 3


# ---- promises of earlier versions


def test_an_old_promise_is_checked_beside_the_writer_before_anybody_goes_on(store: Store) -> None:
    number = begun(store, "old")
    begun(store, "trial")
    with store.database.writing() as connection:
        connection.execute(update(experiments).where(experiments.c.id == number).values(checked_by="0.0.1"))
    with writer_of(store) as writer:
        with pytest.raises(dpb.DatabaseError, match=r"began with version 0.0.1 .* Ask again in a moment"):
            writer.take(Assign("old", "p-1"))
        assert writer.take(Assign("trial", "p-1")).is_new
        assert wait_for(writer, "old").is_new


def wait_for(writer: Writer, name: str) -> Any:
    while True:
        try:
            return writer.take(Assign(name, "p-1"))
        except dpb.DatabaseError as problem:
            if "in a moment" not in str(problem):
                raise
            threading.Event().wait(0.05)


def test_a_promise_that_is_known_to_be_broken_is_not_gone_on_from(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = begun(store, "old")
    with store.database.writing() as connection:
        connection.execute(update(experiments).where(experiments.c.id == number).values(checked_by="0.0.1"))
    monkeypatch.setattr(promise_checks, "promise_problem_of", lambda row_0, started: "It costs twice as much.")
    with writer_of(store) as writer, pytest.raises(dpb.DatabaseError, match="'old' cannot go on"):
        wait_for(writer, "old")


def test_a_name_that_is_refused_keeps_no_lock_for_the_next_batch(store: Store) -> None:
    for name in ("trial", "busy"):
        begun(store, name)
    with writer_of(store) as writer:
        future = writer.submit(Forget(""))  # refused at the first of the experiments
        problem = future.exception()
        assert isinstance(problem, dpb.InvalidInput)
        begun(store, "other")  # by somebody else, so that what was read is no longer the newest
        assert writer.take(Assign("trial", "p-1")).is_new
