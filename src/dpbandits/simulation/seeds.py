"""Seeds: which random numbers a policy gets. They depend on its settings alone, and outlive its name."""

import hashlib
from collections.abc import Iterable

import numpy as np

from dpbandits.policies.base import Policy


def number_of_policy(policy: Policy) -> int:
    """Return a number of 128 bits for a policy with its settings, the same in every process and version."""
    key = vars(type(policy)).get("key", "")  # a class that is derived from another has random numbers of its own
    text = key.format(**vars(policy)) if key else repr(policy)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])


def seeds_of_policies(seed: int, policies: Iterable[Policy]) -> list[np.random.SeedSequence]:
    """Return an independent seed for every policy; equal ones get different seeds."""
    seen: dict[int, int] = {}
    seeds = []
    for policy in policies:
        number = number_of_policy(policy)
        seen[number] = seen.get(number, 0) + 1
        seeds.append(np.random.SeedSequence(seed, spawn_key=(number, seen[number])))
    return seeds
