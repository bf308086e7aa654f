"""Closings: answers as they are passed, one or many, checked before any of them is taken in."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dpbandits._phrases import duration_text
from dpbandits.errors import AlreadyClosed, InvalidInput, WindowClosed
from dpbandits.live.assignments import Assignment, id_of, number_of
from dpbandits.live.learner import Learner

# An assignment or its id, its reward, and a key if it may be passed again.
PassedAnswer = tuple[Assignment | str, float | None] | tuple[Assignment | str, float | None, str | None]


class Closing(NamedTuple):
    """An answer that was checked: the number of its assignment, the reward from [0, 1], the hash of its key."""

    number: int
    reward: float
    key: str | None


def checked_closings(answers: Sequence[Any], learner: Learner, now: float | None) -> list[Closing]:
    """Return what is to be closed; nothing for an answer that comes again with its key."""
    closings: dict[int, Closing] = {}
    for place, answer in enumerate(answers, start=1):
        try:
            closing = _validated_closing(answer, closings, learner, now)
        except InvalidInput as problem:
            if len(answers) == 1:
                raise
            raise type(problem)(f"Answer {place} of {len(answers)}: {problem}") from None
        if closing is not None:
            closings[closing.number] = closing
    return list(closings.values())


def _validated_closing(
    answer: Any, closings: dict[int, Closing], learner: Learner, now: float | None
) -> Closing | None:
    if not isinstance(answer, tuple | list) or len(answer) not in (2, 3):
        raise InvalidInput("Expected an answer to be (assignment, reward), or (assignment, reward, key).")
    assignment, reward, *key = answer
    number = number_of(assignment, learner.tag, learner.counts.assigned)
    name = f"assignment={id_of(learner.tag, number)!r}"
    unit_reward = learner.configuration.rewards.to_unit(reward)
    closing = Closing(number, unit_reward, learner.units.hashed_key(key[0] if key else None))
    # A repetition is known by the key alone: to compare rewards would tell what the first one was.
    earlier_key = closings[number].key if number in closings else learner.book.answer_key(number)
    if closing.key is not None and closing.key == earlier_key:
        return None
    check_open(number, learner, now, name)
    if number in closings:
        raise InvalidInput(f"Expected {name} once in a batch, not twice.")
    return closing


def check_open(number: int, learner: Learner, now: float | None, name: str) -> None:
    """Refuse an answer that comes too late, whether there was one or not, or that comes after another one.

    Args:
        number: of the assignment.
        learner: whose it is.
        now: the time.
        name: what errors call it.
    """
    place, window = learner.book.place(number), learner.configuration.window
    if window is not None and (place is None or place.is_over(now)):
        raise WindowClosed(f"Expected {name} to be closed within {duration_text(window)}: its window is over.")
    if place is None or place.is_answered:
        raise AlreadyClosed(f"Expected {name} to be open: it was closed before.")
