"""LoggedSteps: the steps of a learner, each written down before anybody sees what it did, all of it or nothing.

    answers -> sums -> releases -> log -> witness -> acknowledged -> the policy learns -> the next choice

What is passed was checked before. A step that fails halfway leaves the lock midway, and nothing comes after it.
"""

from collections.abc import Sequence
from functools import partial

from dpbandits.live.assignments import Assignment, id_of
from dpbandits.live.closings import Closing
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Answer, Learner, Release
from dpbandits.live.log import Log, Record
from dpbandits.live.ready_blocks import ReadyBlocks
from dpbandits.live.records import answer_record, assignment_record, forgetting_record, one_record, release_records
from dpbandits.live.rollback_witness import Witness, ask_witness
from dpbandits.live.snapshots import pieces_of
from dpbandits.live.step_lock import StepLock
from dpbandits.live.timing import Clock, check_leap, reading, warn_of_earlier_reading
from dpbandits.live.units import Visit


class LoggedSteps:
    """The steps of a learner.

    Args:
        learner: takes them.
        log: keeps them; None if nothing does.
        witness: is asked before a release is acknowledged.
        clock: what tells the time; None where no window needs it.
        lock: which is held around every step.
    """

    def __init__(
        self, learner: Learner, log: Log | None, witness: Witness | None, clock: Clock | None, lock: StepLock
    ) -> None:
        self._learner = learner
        self._log = log
        self._journal = log if isinstance(log, Journal) else None  # which takes snapshots
        self._witness = witness
        self._clock = clock
        self._latest: float | None = None  # the latest time at which the book was asked what is due
        self._has_warned = False  # of a clock that was put back, and is not there again
        self._lock = lock

    def now(self, *, warns: bool = False) -> float | None:
        """Return the time, which never runs backwards; None where no window needs it.

        With sealed timing no reading that an answer was checked against counts: it would tell when that came. Nor does
        an answer ever warn: that no warning came later would tell that there was one.

        Args:
            warns: whether to warn of a clock that was put far back, once until it is there again.
        """
        if self._clock is None:
            return None
        time = reading(self._clock)
        before = [seen for seen in (self._latest, self._learner.counts.now) if seen is not None]
        latest = max(time, *before) if before else time
        check_leap(time, latest=max(before, default=time))
        if warns:
            is_far_back = latest - time > (self._learner.configuration.window or 0.0)
            if is_far_back and not self._has_warned:
                warn_of_earlier_reading(time, latest)
            self._has_warned = is_far_back
        return latest

    def assign(self, visits: Sequence[Visit], now: float | None, is_selection: bool) -> list[Assignment]:
        """Release what is due, and hand out."""
        learner, log = self._learner, self._log
        self._write_snapshot(len(visits))
        if now is not None:
            self._release_due(now)
        time = self._time_to_write(now)
        assignments, records = [], []
        for visit in visits:
            again = learner.assignment_again(visit, now)
            if again is not None:
                assignments.append(self.assignment(again.number, again.arm, is_new=False))
                continue
            place = learner.choice(visit.unit, now)
            if place.block is not None:
                learner.predraw_noise(place.arm)  # long before it is needed: no step draws what it releases
            self._lock.is_midway = True
            number = learner.hand_out(place, visit, now, is_selection)
            if log is not None:
                records.append(assignment_record(place, visit, is_selection))
            assignments.append(self.assignment(number, place.arm))
        if log is not None and records:
            log.append(one_record(records, time))
        self._lock.is_midway = False
        return assignments

    def assignment(self, number: int, arm: int, *, is_new: bool = True) -> Assignment:
        """Return an assignment as a program gets it; without an id, for a number of 0, if it is of nobody."""
        learner = self._learner
        return Assignment(id_of(learner.tag, number) if number else "", learner.configuration.arms[arm], is_new)

    def close(self, closings: Sequence[Closing], now: float | None) -> None:
        """Take in answers and, with open timing, release the blocks that are complete or due."""
        if not closings:
            return
        learner = self._learner
        self._write_snapshot(len(closings))
        answers = []
        for number, value, key in closings:
            place = learner.book.place(number)
            assert place is not None
            enters = place.block is not None
            answers.append(Answer(number, learner.source.encode(value) if enters else None, key))
            if enters:
                learner.predraw_noise(place.arm)
        records = [] if self._log is None else list(map(answer_record, answers))
        ready = learner.ready_blocks()
        self._lock.is_midway = True
        learner.answer(answers, ready)
        if learner.is_sealed:  # nothing that follows from an answer may show, and its time neither
            self._finish(records, [], None)
            return
        self._add_due(ready, now)
        time = self._time_to_write(now)
        self._finish(records, learner.release(ready, now), time)

    def release_due(self, now: float | None) -> int:
        """Release the blocks that are due, and return how many they are."""
        self._write_snapshot()
        return self._release_due(now)

    def _release_due(self, now: float | None) -> int:
        learner = self._learner
        ready = learner.ready_blocks()
        self._add_due(ready, now)
        if ready.blocks:
            time = self._time_to_write(now)
            self._lock.is_midway = True
            self._finish([], learner.release(ready, now), time)
        return len(ready.blocks)

    def forget(self, person: str) -> None:
        """Forget a person who is known, by their hash."""
        self._write_snapshot()
        self._lock.is_midway = True
        self._learner.book.forget(person)
        self._finish([forgetting_record(person)], [], None)
        if self._journal is not None:
            self._journal.ask_for_snapshot()
            self._write_snapshot()

    def finish_snapshot(self) -> None:
        """Write a snapshot that was begun or is due, to its end."""
        if self._journal is not None:
            self._journal.finish_snapshot(partial(pieces_of, self._learner))

    def shorten_journal(self) -> None:
        """Write a snapshot at once where many short sessions, each too short for one, have let a journal grow."""
        if self._journal is not None and self._journal.is_overgrown:
            self.finish_snapshot()

    def _add_due(self, ready: ReadyBlocks, now: float | None) -> None:
        # The book has let go of what was over by then, so no step may come before, written down or not.
        self._latest = now
        self._learner.add_due(ready, now)

    def _finish(self, records: list[Record], releases: list[Release], time: float | None) -> None:
        """End a step. What it releases is on disk, then confirmed by the witness, then acknowledged, by the mark.

        Only then does the policy learn of it, and is it seen by anybody.
        """
        learner = self._learner
        confirm = partial(ask_witness, self._witness, learner.ledger.head) if releases else None
        if self._log is not None:
            record = one_record([*records, *release_records(releases, learner)], time)
            self._log.append(record, durable_mark=bool(releases), before_mark=confirm)
        elif confirm is not None:
            confirm()
        learner.learn(releases)
        self._lock.is_midway = False

    def _time_to_write(self, now: float | None) -> float | None:
        """Return the time, if it is not the one that the steps before have written."""
        return None if now == self._learner.counts.now else now

    def _write_snapshot(self, steps: int = 1) -> None:
        """Write a part of a snapshot, if it is time: before so many steps, when nothing is under way."""
        if self._journal is not None:
            self._journal.write_snapshot(partial(pieces_of, self._learner), steps)
