"""Closings: answers as they are passed, one or many, checked before any of them is taken in."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dpbandits.errors import AlreadyClosed, InvalidInput
from dpbandits.live.assignments import Assignment, id_of, number_of
from dpbandits.live.learner import Learner
from dpbandits.live.reward_scale import RewardScale

# An assignment or its id, its reward, and a key if it may be passed again.
Answer = tuple[Assignment | str, float | None] | tuple[Assignment | str, float | None, str | None]


class Closing(NamedTuple):
    """An answer that was checked: the number of its assignment, the reward from [0, 1], the hash of its key."""

    number: int
    reward: float
    key: str | None


def checked_closings(answers: Sequence[Any], learner: Learner, rewards: RewardScale) -> list[Closing]:
    """Return what is to be closed; nothing for an answer that comes again with its key."""
    closings: dict[int, Closing] = {}
    for place, answer in enumerate(answers, start=1):
        try:
            closing = _validated_closing(answer, closings, learner, rewards)
        except InvalidInput as problem:
            if len(answers) == 1:
                raise
            raise type(problem)(f"Answer {place} of {len(answers)}: {problem}") from None
        if closing is not None:
            closings[closing.number] = closing
    return list(closings.values())


def _validated_closing(
    answer: Any, closings: dict[int, Closing], learner: Learner, rewards: RewardScale
) -> Closing | None:
    if not isinstance(answer, tuple | list) or len(answer) not in (2, 3):
        raise InvalidInput("Expected an answer to be (assignment, reward), or (assignment, reward, key).")
    assignment, reward, *key = answer
    number = number_of(assignment, learner.tag, learner.assigned)
    closing = Closing(number, rewards.to_unit(reward), learner.units.hashed_key(key[0] if key else None))
    if number in learner.awaited and number not in closings:
        return closing
    # By the key alone: to compare rewards would tell what the first one was.
    earlier = closings[number].key if number in closings else learner.keys.get(number)
    if closing.key is None or closing.key != earlier:
        name = id_of(learner.tag, number)
        raise AlreadyClosed(f"Expected assignment={name!r} to be open: it was closed before.")
    return None
