"""Batch: the steps that came while the last transaction was being written, taken together in one.

    lock the experiments -> catch up -> answers -> releases -> assignments -> commit -> marks -> everyone is answered

All of them cost a fixed number of statements. In `sealed` timing a batch that brings an experiment only rewards
releases nothing, although it holds its lock: what is due is released by a batch that hands out, or by the ticker. What
a step is refused for changes nothing and concerns that step alone; any other failure undoes the whole batch.

Only our own policies are served here, whose kernels fail on no value. So a batch that failed has failed for a reason
that no released value had a part in, and what was drawn in it was seen by nobody.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from dpbandits._validate import value_text
from dpbandits.errors import DPBanditsError, InvalidInput, NotFound, NotRunning
from dpbandits.live.assignments import Assignment, id_of
from dpbandits.live.book import FORGOTTEN
from dpbandits.live.closings import checked_closings
from dpbandits.live.learner import Answer
from dpbandits.live.timing import check_leap
from dpbandits.live.units import Visit
from dpbandits.service.book_rows import BookRows, Wanted
from dpbandits.service.database import Database
from dpbandits.service.directory import Directory, links_of
from dpbandits.service.experiment_rows import Experiment, experiment_writes
from dpbandits.service.foresight import foreseen, read_ahead
from dpbandits.service.steps import BEFORE, Assign, ChangeState, Forget, ReleaseDue, Reward, Step
from dpbandits.service.work import Work

# Those that can go on, why the others cannot, and the time.
Opened = tuple[dict[int, Experiment], dict[int, DPBanditsError], float]
OpenLocked = Callable[[Iterable[int], BookRows, Callable[[], Wanted]], Opened]


@dataclass(slots=True)
class Refusal:
    """Why a step was not taken."""

    error: DPBanditsError


class Batch:
    """Steps in one transaction.

    Args:
        steps: in the order in which they came. Of an experiment, states are changed first, then it is answered, then
            released, then handed out; people are forgotten last.
        database: where they are written.
        connection: in the transaction.
        directory: finds experiments by name and by tag.
        known: what this process remembers of experiments, which may have changed since.
        open_locked: locks experiments, asks meanwhile what is to be read with them, and returns them as they are.

    Attributes:
        outcomes: what every step is answered, or its Refusal.
        work: what there was to do, by experiment.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        database: Database,
        connection: Connection,
        directory: Directory,
        known: Mapping[int, Experiment],
        open_locked: OpenLocked,
    ) -> None:
        self._steps = steps
        self._database = database
        self._connection = connection
        self._rows = BookRows(database, connection)
        self._directory = directory
        self._known = known
        self._open_locked = open_locked
        self._visits: dict[int, Visit] = {}  # who asks for an assignment, by the place of the step
        self.outcomes: list[Any] = [None] * len(steps)
        self.work: dict[int, Work] = {}

    def take(self) -> None:
        """Take all steps, up to the commit."""
        forgets = self._sort()
        read_ahead(self._rows, self.work)
        for work in self.work.values():
            self._change_states(work)
            self._answer_and_release(work)
        for work in self.work.values():
            self._assign(work)
        for step in forgets:
            self._forget(step)
        changed = [work.experiment for work in self.work.values() if work.experiment.is_changed]
        self._rows.write(experiment_writes(changed))

    # ---- before the first change

    def _sort(self) -> list[Forget]:
        """Lock the experiments of all steps, and put every step to the work on its experiment.

        Returns:
            Who is to be forgotten; nobody of whom that would be true in some experiments alone.
        """
        found = self._directory.experiments_of(self._steps, self._connection)
        links = [
            (place, number)
            for place, step in enumerate(self._steps)
            if isinstance(step, Forget)
            for number, _ in self._links(place, step)
        ]
        numbers = {number for number in found if number is not None}.union(number for _, number in links)
        opened, refused, time = self._open_locked(numbers, self._rows, partial(self._foreseen, found))
        self.work = {number: Work(opened[number], time) for number in sorted(opened)}
        for place, (step, number) in enumerate(zip(self._steps, found, strict=True)):
            if number in self.work:
                self._put(place, step, self.work[number])
            elif number in refused:
                self.outcomes[place] = Refusal(refused[number])
            elif not isinstance(step, Forget):
                self.outcomes[place] = Refusal(_not_found(step))
        for work in self.work.values():
            self._look_at_the_clock(work)
        for place, number in links:
            if number in refused:
                self.outcomes[place] = Refusal(refused[number])
        return [
            step for place, step in enumerate(self._steps) if isinstance(step, Forget) and self.outcomes[place] is None
        ]

    def _foreseen(self, found: Sequence[int | None]) -> Wanted:
        wanted, self._visits = foreseen(self._steps, found, self._known)
        return wanted

    def _links(self, place: int, step: Forget) -> list[tuple[int, str]]:
        try:
            return links_of(step.unit, self._database, self._connection)
        except InvalidInput as problem:
            self.outcomes[place] = Refusal(problem)
            return []

    def _put(self, place: int, step: Step, work: Work) -> None:
        if isinstance(step, Reward):
            work.rewards.append((place, step, step.assignment_number))
        elif isinstance(step, Assign):
            try:
                if place not in self._visits:
                    (self._visits[place],) = work.experiment.learner.units.hashed_visits([(step.unit, step.key)])
            except InvalidInput as problem:
                self.outcomes[place] = Refusal(problem)
            else:
                work.assigns.append((place, step, self._visits[place]))
        elif isinstance(step, ReleaseDue):
            work.due.append((place, step))
        elif isinstance(step, ChangeState):
            work.states.append((place, step))

    def _look_at_the_clock(self, work: Work) -> None:
        """Set the time of an experiment, which never runs backwards; refuse its steps if it leaps."""
        learner = work.experiment.learner
        if learner.configuration.window is None:
            return
        latest = learner.counts.now
        try:
            check_leap(work.time, work.time if latest is None else latest)
        except InvalidInput as problem:
            refused = [place for place, *_ in work.rewards]
            refused += [place for place, *_ in work.assigns] + [place for place, _ in work.due]
            for place in refused:
                self.outcomes[place] = Refusal(problem)
            work.rewards, work.assigns, work.due = [], [], []
        work.now = learner.counts.later(work.time)

    # ---- the steps

    def _change_states(self, work: Work) -> None:
        experiment = work.experiment
        for place, step in work.states:
            if experiment.state not in BEFORE[step.state]:
                before = " or ".join(BEFORE[step.state])
                rule = (
                    f"to be {before} before it can be {step.state}"
                    if before
                    else "to go on: none becomes a draft again"
                )
                self.outcomes[place] = Refusal(
                    NotRunning(f"Expected experiment={experiment.name!r}, which is {experiment.state}, {rule}.")
                )
            else:
                experiment.state, experiment.is_changed, experiment.has_new_state = step.state, True, True

    def _answer_and_release(self, work: Work) -> None:
        """Take in answers. Release what they complete, with open timing, and what is due, as far as timing allows."""
        experiment, now = work.experiment, work.now
        learner = experiment.learner
        ready = learner.ready_blocks()
        answers = 0
        for place, step, assignment in work.rewards:
            try:
                if experiment.state in ("draft", "archived") or not 0 < assignment <= learner.counts.assigned:
                    raise _not_found(step)
                closings = checked_closings([(step.assignment, step.value, step.key)], learner, now)
            except InvalidInput as problem:
                self.outcomes[place] = Refusal(problem)
                continue
            for number, value, key in closings:
                own = learner.book.place(number)
                assert own is not None
                reward = None
                if own.block is not None:
                    reward = learner.source.encode(value)
                    learner.predraw_noise(own.arm)
                learner.answer([Answer(number, reward, key)], ready)
                answers += 1
        experiment.is_changed |= answers > 0
        for place, _ in work.due:
            self.outcomes[place] = 0
        if not work.rewards and now is None:
            return  # nothing is answered, and nothing is ever due
        may_release = experiment.state in ("running", "paused")
        if not may_release or (learner.is_sealed and not work.hands_out):
            return
        if work.hands_out or answers:
            learner.add_due(ready, now)
        before = len(learner.ledger)
        # With sealed timing no time at which an answer came is written down.
        if ready.blocks or (answers and not learner.is_sealed):
            releases = learner.release(ready, now)
            experiment.is_changed = True
            decisions = learner.counts.decisions
            experiment.made += [(learner.ledger[row], decisions) for row in range(before, len(learner.ledger))]
            learner.learn(releases)
        for place, _ in work.due:
            self.outcomes[place] = len(learner.ledger) - before

    def _assign(self, work: Work) -> None:
        experiment, now = work.experiment, work.now
        learner = experiment.learner
        for place, step, visit in work.assigns:
            again = None if experiment.state in ("draft", "archived") else learner.assignment_again(visit, now)
            if again is not None:
                self.outcomes[place] = self._assignment(experiment, again.number, again.arm, is_new=False)
                continue
            if experiment.state != "running":
                self.outcomes[place] = Refusal(
                    NotRunning(
                        f"Expected experiment={step.experiment!r} to be running, not {experiment.state}: nobody new is "
                        "assigned."
                    )
                )
                continue
            chosen = learner.choice(visit.unit, now)
            if chosen.block is not None:
                learner.predraw_noise(chosen.arm)
            number = learner.hand_out(chosen, visit, now)
            experiment.is_changed = True
            self.outcomes[place] = self._assignment(experiment, number, chosen.arm, is_new=True)

    def _forget(self, step: Forget) -> None:
        """Forget somebody in all experiments of this batch: those that know them, and those that have only now met."""
        for work in self.work.values():
            learner = work.experiment.learner
            unit = learner.units.hashed_unit(step.unit)
            if unit is not None and learner.book.person(unit) not in (None, FORGOTTEN):
                learner.book.forget(unit)
                work.experiment.is_changed = True

    @staticmethod
    def _assignment(experiment: Experiment, number: int, arm: int, *, is_new: bool) -> Assignment:
        learner = experiment.learner
        return Assignment(id_of(learner.tag, number) if number else "", learner.configuration.arms[arm], is_new)


def _not_found(step: Any) -> NotFound:
    if isinstance(step, Reward):
        return NotFound(f"There is no assignment={value_text(step.assignment)}.")
    return NotFound(f"There is no experiment={value_text(step.experiment)}.")
