"""Foresight: what the steps of a batch will ask the books of their experiments, read for all of them at once.

A book that is asked for what was not read here reads it alone: foresight saves statements, and decides nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

from dpbandits.errors import InvalidInput
from dpbandits.live.units import Visit
from dpbandits.service.book_rows import BookRows, Wanted
from dpbandits.service.experiment_rows import Experiment
from dpbandits.service.steps import Assign, Reward, Step
from dpbandits.service.work import Work

_MOST_FORESEEN = 4  # arms of an experiment whose next blocks are read without having been asked for


def foreseen(
    steps: Sequence[Step], found: Sequence[int | None], known: Mapping[int, Experiment]
) -> tuple[Wanted, dict[int, Visit]]:
    """Return what can be read in one message with the locks: all of experiments that this process remembers.

    Ids, hashes of people and blocks that are next are what they were. Whatever else is needed is read after that.

    Args:
        steps: of a batch.
        found: the ids of their experiments.
        known: what this process remembers of experiments, which may have changed since.

    Returns:
        What to read, and who asks for assignments, by the places of their steps.
    """
    visits: dict[int, Visit] = {}
    assignments: set[tuple[int, int]] = set()
    blocks: set[tuple[int, int, int]] = set()
    for place, (step, number) in enumerate(zip(steps, found, strict=True)):
        experiment = None if number is None else known.get(number)
        if number is None or experiment is None:
            continue
        learner = experiment.learner
        if isinstance(step, Reward):
            assignments.add((number, step.assignment_number))
            if not learner.is_sealed:
                waiting = [arm for arm in range(len(learner.statistics)) if learner.counts.is_waiting(arm)]
                blocks.update((number, arm, learner.counts.released[arm]) for arm in waiting[:_MOST_FORESEEN])
        elif isinstance(step, Assign):
            with suppress(InvalidInput):  # which is said later
                (visits[place],) = learner.units.hashed_visits([(step.unit, step.key)])
    known_visits = [(found[place], visit) for place, visit in visits.items()]
    wanted = Wanted(
        assignments=assignments,
        people=(
            (number, visit.unit) for number, visit in known_visits if number is not None and visit.unit is not None
        ),
        visits=((number, visit.key) for number, visit in known_visits if number is not None and visit.key is not None),
        blocks=blocks,
    )
    return wanted, visits


def read_ahead(rows: BookRows, work_of: Mapping[int, Work]) -> None:
    """Read what the steps of a batch will ask for, of all its experiments at once."""
    numbers = [
        (number, assignment)
        for number, work in work_of.items()
        for _, _, assignment in work.rewards
        if 0 < assignment <= work.experiment.learner.counts.assigned
    ]
    visits = [(number, visit) for number, work in work_of.items() for _, _, visit in work.assigns]
    rows.read_ahead(
        Wanted(
            assignments=numbers,
            people=((number, visit.unit) for number, visit in visits if visit.unit is not None),
            visits=((number, visit.key) for number, visit in visits if visit.key is not None),
            due=(
                number
                for number, work in work_of.items()
                if work.now == work.time and (work.hands_out or (work.rewards and not work.is_sealed))
            ),
            now=max((work.time for work in work_of.values()), default=0.0),
        )
    )
    _read_blocks_ahead(rows, work_of)


def _read_blocks_ahead(rows: BookRows, work_of: Mapping[int, Work]) -> None:
    """Read the blocks that answers may complete: those that are next and full, and those that wait behind them."""
    answers: dict[tuple[int, int, int], int] = defaultdict(int)  # by block
    for number, work in work_of.items():
        learner = work.experiment.learner
        if learner.is_sealed:
            continue
        for _, _, assignment in work.rewards:
            if 0 < assignment <= learner.counts.assigned:
                place = rows.assignment((number, assignment)).place
                if place.block is not None and not place.is_answered:
                    answers[number, place.arm, place.block] += 1
    nexts = {}  # the blocks that are released next, of arms that have answers and wait for more
    for number, arm, _ in answers:
        counts = work_of[number].experiment.learner.counts
        if counts.is_waiting(arm):
            nexts[number, arm] = (number, arm, counts.released[arm])
    rows.read_ahead(Wanted(blocks=nexts.values()))
    completed = {arm for arm, key in nexts.items() if rows.unanswered_before(key) <= answers.get(key, 0)}
    behind = [key for key in answers if key[:2] in completed]
    rows.read_ahead(Wanted(blocks=behind, answered_blocks=completed))
