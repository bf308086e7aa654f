"""Pairs of neighbouring reward sequences: all of them, some to begin with, and others that are a little different."""

import random
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from dpbandits.environments.given import Given


class Pair(NamedTuple):
    """Two reward sequences that differ at one time, where the first has 0 and the second has 1."""

    rewards: Given
    neighbours: Given
    position: int  # from 1


def pair_of(rewards: Iterable[float], position: int, arms: int) -> Pair:
    """Return the pair that differs at this time from 1 on, whatever the rewards have there."""
    sequence = list(rewards)
    sequence[position - 1] = 0.0
    first = Given(sequence, arms)
    sequence[position - 1] = 1.0
    return Pair(first, Given(sequence, arms), position)


def all_pairs(steps: int, arms: int) -> list[Pair]:
    """Return every pair of sequences with this many steps."""
    return [
        pair_of(rewards, position, arms)
        for rewards in product((0.0, 1.0), repeat=steps)
        for position in range(1, steps + 1)
        if rewards[position - 1] == 0.0
    ]


def first_pairs(steps: int, arms: int, many: int, dice: random.Random) -> list[Pair]:
    """Return pairs to begin with: plain and random ones, changed early more often than late."""

    def sequences() -> Iterator[list[float]]:
        yield [0.0] * steps
        yield [1.0] * steps
        yield [float(t % 2) for t in range(steps)]
        yield [float(t % 2 == 0) for t in range(steps)]
        while True:
            yield _segments(steps, dice)

    return [
        pair_of(rewards, early_time(steps, dice), arms) for rewards, _ in zip(sequences(), range(many), strict=False)
    ]


def variation(pair: Pair, dice: random.Random) -> Pair:
    """Return a neighbour in the search: another time, or a stretch of rewards that is turned or all the same."""
    steps = len(pair.rewards.rewards)
    if dice.random() < 0.3:
        return pair_of(pair.rewards.rewards, early_time(steps, dice), pair.rewards.arms)
    rewards = pair.rewards.rewards.tolist()
    start = early_time(steps, dice) - 1
    length = min(steps - start, early_time(steps, dice))
    value = dice.choice((0.0, 1.0, None))
    rewards[start : start + length] = [1.0 - r if value is None else value for r in rewards[start : start + length]]
    return pair_of(rewards, pair.position, pair.rewards.arms)


def early_time(steps: int, dice: random.Random) -> int:
    """Return a time from 1 to `steps`, every scale as likely: early rewards are in most releases."""
    return min(steps, int((steps + 1) ** dice.random()))


def _segments(steps: int, dice: random.Random) -> list[float]:
    """Return rewards that stay the same for random stretches."""
    rewards: list[float] = []
    while len(rewards) < steps:
        rewards += [float(dice.random() < 0.5)] * early_time(steps, dice)
    return rewards[:steps]
