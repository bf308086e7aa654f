"""Seeds: which random numbers a policy gets. They depend on its settings alone, and outlive its name."""

import hashlib
from collections.abc import Iterable

import numpy as np

from dpbandits.policies.policy import Policy


def number_of_policy(policy: Policy) -> int:
    """Return a number of 128 bits for a policy with its settings, the same in every process and version."""
    earlier = vars(type(policy)).get("seed_text")  # a class that is derived from another has random numbers of its own
    text = earlier.format(**vars(policy)) if earlier else repr(policy)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])


def seed_of_policy(seed: int, policy: Policy, copy: int = 0) -> np.random.SeedSequence:
    """Return the seed of a policy, or of another copy of it; those of different ones are independent."""
    return np.random.SeedSequence(seed, spawn_key=(number_of_policy(policy), copy + 1))


def copies_before(policies: Iterable[Policy]) -> list[int]:
    """Return for every policy how many of those before it are the same."""
    numbers = list(map(number_of_policy, policies))
    return [numbers[:i].count(number) for i, number in enumerate(numbers)]
