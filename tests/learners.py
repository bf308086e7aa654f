"""Learners without a bandit around them: made, asked and answered as a bandit does it."""

import json
from collections.abc import Callable
from typing import Any

from dpbandits.live.configuration import Configuration, Terms, declared_horizon
from dpbandits.live.learner import Answer, Learner, Release
from dpbandits.live.reward_scale import RewardScale
from dpbandits.live.snapshots import pieces_of
from dpbandits.live.units import Visit
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy

NOBODY = Visit(None, None)


def learner_for(
    policy: Policy, arms: int = 2, noise: SecureNoise | None = None, horizon: int | None = None, **settings: Any
) -> Learner:
    """Return a learner that begins."""
    source = SecureNoise() if noise is None else noise
    configuration = Configuration(
        policy=policy,
        arms=tuple(range(arms)),
        horizon=declared_horizon(policy, horizon),
        rewards=RewardScale(),
        accept_delta=True,
        grid_bits=source.grid_bits,
        **{"contributions": 1, **settings},
    )
    return Learner(configuration, Terms.computed(configuration), source)


def handed_out(learner: Learner, visit: Visit = NOBODY, is_selection: bool = False) -> int:
    """Make the next assignment and return its number."""
    return learner.hand_out(learner.choice(visit.unit), visit, is_selection=is_selection)


def answered(learner: Learner, number: int, reward: Any, key: str | None = None) -> list[Release]:
    """Take in a reward on the grid, None where nothing enters; return what that releases, of which nobody learns."""
    ready = learner.ready_blocks()
    learner.answer([Answer(number, reward, key)], ready)
    return learner.release(ready, None)


def closed(learner: Learner, number: int, reward: float, key: str | None = None) -> list[Release]:
    """Take in a reward from [0, 1], let the policy learn what that releases, and return it."""
    place = learner.book.place(number)
    enters_nothing = place is None or place.block is None
    releases = answered(learner, number, None if enters_nothing else learner.source.encode(reward), key)
    learner.learn(releases)
    return releases


def play(learner: Learner, rewards: Callable[[int, int], float], people: int) -> list[int]:
    """Assign and answer one at a time, by rewards of the n-th person and the arm, and return the arms."""
    arms = []
    for _ in range(people):
        arms.append(learner.choice(None).arm)
        number = handed_out(learner)
        closed(learner, number, rewards(number, arms[-1]))
    return arms


def all_of(learner: Learner) -> dict[str, Any]:
    """Return all that would be written of a learner and its book, as it would come back from a file.

    Of the tables of a book there are columns.
    """
    first, *others = json.loads(json.dumps(list(pieces_of(learner)), allow_nan=False))
    found: dict[str, Any] = first
    for piece in others:
        for table, columns in piece.items():
            if not found.get(table):
                found[table] = columns
            elif table == "ledger":
                found[table] += columns
            else:
                found[table] = (
                    [old + new for old, new in zip(found[table], columns, strict=True)] if columns else found[table]
                )
    return {name: part for name, part in found.items() if part}
