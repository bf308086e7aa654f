"""Ways in which people come to a live bandit and their answers come back."""

import random
from collections.abc import Callable
from typing import Any

import dpbandits as dpb
from dpbandits.live import Assignment

Rewards = Callable[[int, Any], float | None]  # of the n-th assignment and its arm


def step_by_step(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
    """Play one at a time and return the arms."""
    arms = []
    for person in range(1, people + 1):
        arm = bandit.select()
        bandit.update(arm, rewards(person, arm))
        arms.append(arm)
    return arms


def with_delays(delay: Callable[[random.Random], int]) -> Callable[[dpb.Bandit, Rewards, int], list[Any]]:
    """Return a way to play in which the answer of a person comes so many people later; in the end all have answered."""

    def play(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
        dice = random.Random(5)  # noqa: S311
        due: dict[int, list[tuple[int, Assignment]]] = {}
        arms = []
        for person in range(1, people + 1):
            assignment = bandit.assign()
            arms.append(assignment.arm)
            due.setdefault(person + delay(dice), []).append((person, assignment))
            for number, late in due.pop(person, []):
                bandit.close(late, rewards(number, late.arm))
        for _, answers in sorted(due.items()):
            for number, late in answers:
                bandit.close(late.id, rewards(number, late.arm))
        return arms

    return play


def in_batches(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
    """Hand out fifty at a time, then close them in any order."""
    dice = random.Random(7)  # noqa: S311
    arms = []
    for start in range(1, people + 1, 50):
        batch = [(person, bandit.assign()) for person in range(start, min(start + 50, people + 1))]
        arms += [assignment.arm for _, assignment in batch]
        dice.shuffle(batch)
        for person, assignment in batch:
            bandit.close(assignment, rewards(person, assignment.arm))
    return arms


def many_at_once(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
    """Hand out and close by batches, each one step; some answers come in the batch after next."""
    dice = random.Random(9)  # noqa: S311
    arms: list[Any] = []
    late: list[tuple[int, Assignment]] = []
    while len(arms) < people:
        size = min(dice.randrange(1, 60), people - len(arms))
        late += list(enumerate(bandit.assign_many([None] * size), start=len(arms) + 1))
        arms += [assignment.arm for _, assignment in late[-size:]]
        dice.shuffle(late)
        cut = len(late) if len(arms) == people else dice.randrange(len(late) + 1)
        bandit.close_many([(assignment, rewards(person, assignment.arm)) for person, assignment in late[:cut]])
        late = late[cut:]
    return arms


WAYS: dict[str, Callable[[dpb.Bandit, Rewards, int], list[Any]]] = {
    "step": step_by_step,
    "at once": with_delays(lambda dice: 0),
    "late": with_delays(lambda dice: 40),
    "shuffled": with_delays(lambda dice: dice.randrange(60)),
    "batches": in_batches,
    "many": many_at_once,
}
