"""Ledgers in tests and benchmarks: how they come about, and how they are tampered with."""

import json
import random
from collections.abc import Iterable
from typing import Any

import dpbandits as dpb
from dpbandits.policies import Policy
from serving import WAYS, SharedNoise

Content = dict[str, Any]


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
            bandit.close(bandit.assign(unit=person % (people // 3)), dice.random())
    return [row.content for row in bandit.ledger]


def chained(contents: Iterable[Content]) -> str:
    """Return the export of a ledger with these rows, whatever they say, all hashes fitting."""
    ledger = dpb.Ledger()
    for content in contents:
        ledger.append(content)
    return ledger.to_jsonl()


def copied(contents: list[Content]) -> list[Content]:
    """Return a copy that can be changed."""
    fresh: list[Content] = json.loads(json.dumps(contents))
    return fresh
