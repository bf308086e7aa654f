"""The search for the neighbours and the event that tell most. It uses its own trials and proves nothing.

All pairs are tried where there are few; otherwise random ones, and variations of those that did best. Every round plays
the better part of the pairs again, with more trials for each.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

from dpbandits.auditing.pairs import Pair, all_pairs, first_pairs, variation
from dpbandits.auditing.view import Candidate, View

EXHAUSTIVE_STEPS = 8
_ROUNDS = 6
_STARTS = 128
_FEWEST = 32  # trials of a pair in a round
_KEPT = 4  # one pair in four goes on to the next round
_CLEAR = 5  # standard errors above the claim at which the search ends


class SearchResult(NamedTuple):
    """The candidates of the last round, the most telling first, and every candidate as it was last estimated."""

    best: list[Candidate]
    explored: list[Candidate]


def search(
    view: View, horizon: int, budget: int, seed: int, claimed: float, advance: Callable[[int], None]
) -> SearchResult:
    """Search for telling events; `advance` is called with the number of trials played."""
    dice = random.Random(seed)  # noqa: S311
    arms = view.trials.arms
    is_exhaustive = horizon <= EXHAUSTIVE_STEPS
    pairs = all_pairs(horizon, arms) if is_exhaustive else first_pairs(horizon, arms, _STARTS, dice)
    most = max(1, budget // (_ROUNDS * _FEWEST))  # few trials are for few pairs
    pairs = dice.sample(pairs, most) if len(pairs) > most else pairs
    ranked: list[Candidate] = []
    explored: dict[tuple[Pair, bool], Candidate] = {}
    for number in range(_ROUNDS):
        advance(view.sample(pairs, budget // _ROUNDS, number))
        candidates = [candidate for pair in pairs for candidate in view.candidates(pair)]
        ranked = sorted(candidates, key=lambda candidate: -candidate.promise)
        explored |= {(candidate.pair, candidate.is_reversed): candidate for candidate in candidates}
        if ranked and ranked[0].ratio - _CLEAR * ranked[0].error > claimed:
            break
        best = list(dict.fromkeys(candidate.pair for candidate in ranked)) or pairs
        pairs = best[: max(2, len(best) // _KEPT)]
        if not is_exhaustive and number < _ROUNDS - 2:
            pairs += _others(pairs, min(most, _STARTS // 2 ** (number + 1)), dice)
    return SearchResult(ranked, list(explored.values()))


def _others(best: list[Pair], many: int, dice: random.Random) -> list[Pair]:
    """Return variations of the best pairs, of the very best most."""
    new: dict[Pair, None] = {}
    for _ in range(4 * many):
        if len(new) == many:
            break
        parent = best[int(len(best) * dice.random() ** 2)]
        new[variation(parent, dice)] = None
    return [pair for pair in new if pair not in best]
