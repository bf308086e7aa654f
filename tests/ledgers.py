"""Ledgers in tests: what is in them after some people have answered."""

import random
from typing import Any

import dpbandits as dpb
from dpbandits.policies import Policy
from shared_noise import SharedNoise
from tampering import Content
from ways_of_answering import WAYS


def contents_of(
    policy: Policy, way: str = "shuffled", people: int = 150, arms: Any = 2, seed: int = 3, **settings: Any
) -> list[Content]:
    """Return the contents of the rows after so many people have answered in a way, with one reward each or more."""
    bandit = dpb.Bandit(policy, arms, noise=SharedNoise(seed), accept_delta=True, **settings)
    dice = random.Random(seed)  # noqa: S311
    if settings.get("contributions", 1) == 1:
        WAYS[way](bandit, lambda person, arm: dice.random(), people)
    else:
        for person in range(people):
            visit, reward = bandit.assign(unit=person % (people // 3)), dice.random()
            if visit.is_new:
                bandit.close(visit, reward)
    return [row.content for row in bandit.ledger]
