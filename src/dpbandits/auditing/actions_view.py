"""ActionsView: the arms alone. Its event is a set of sequences of arms: those with the largest estimated ratio."""

import math
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits.auditing.pairs import Pair
from dpbandits.auditing.trials import Outcomes, Trials
from dpbandits.auditing.view import SEARCH, TEST, Candidate, View
from dpbandits.environments.given import Given

_SHOWN = 5
_STRETCHES = 8


class Sequences(NamedTuple):
    """Sequences of arms, as codes without their last digits: `later` is what they were divided by."""

    codes: NDArray[np.int64]
    later: int


class ActionsView(View):
    """The sequence of arms."""

    name = "actions"

    def __init__(self, trials: Trials, delta: float, smallest_mass: float, planned: int) -> None:
        super().__init__(trials, delta, smallest_mass, planned)
        self.seen.is_telling = True  # every run has arms
        # Two halves of the trials on given rewards: one to order the sequences, one to see how many of them to take.
        self._seen: dict[Given, tuple[Outcomes, Outcomes]] = {}
        self._played: dict[Given, list[tuple[int, int]]] = {}

    def sample(self, pairs: list[Pair], budget: int, number: int) -> int:
        """Play the rewards of these pairs, all as often."""
        every = dict.fromkeys(given for pair in pairs for given in (pair.rewards, pair.changed))
        half = max(1, budget // len(every) // 2)
        for given in every:
            halves = [self.trials.outcomes(given, half, SEARCH, number, side) for side in (0, 1)]
            before = self._seen.get(given)
            self._seen[given] = (
                (halves[0], halves[1]) if before is None else (before[0].joined(halves[0]), before[1].joined(halves[1]))
            )
            self._played.setdefault(given, []).append((number, half))
        return 2 * half * len(every)

    def has_sampled(self, pair: Pair) -> bool:
        """Tell whether this pair was played."""
        return pair.rewards in self._seen and pair.changed in self._seen

    def candidates(self, pair: Pair) -> list[Candidate]:
        """Return the best sets of sequences, or of their beginnings where whole ones are too rare."""
        found = []
        for is_reversed in (False, True):
            sides = (pair.changed, pair.rewards) if is_reversed else (pair.rewards, pair.changed)
            of_direction = [
                candidate
                for later in self._endings()
                if (candidate := self._candidate(pair, is_reversed, sides, later)) is not None
            ]
            found += sorted(of_direction, key=lambda candidate: -candidate.promise)[:1]
        return found

    def _endings(self) -> list[int]:
        """Return what to divide codes by to leave all, three quarters and half of their arms; a hash has no parts."""
        steps = self.trials.horizon
        return (
            [self.trials.arms**ending for ending in sorted({0, steps // 4, steps // 2})]
            if self.trials.is_exact
            else [1]
        )

    def _candidate(self, pair: Pair, is_reversed: bool, sides: tuple[Given, Given], later: int) -> Candidate | None:
        one, other = ([half.beginnings(later) for half in self._seen[side]] for side in sides)
        # Only what the first halves have seen: to take a sequence because the second has it would flatter it.
        codes = np.union1d(one[0].codes, other[0].codes)
        ratios = (one[0].count(codes) + 0.5) / one[0].trials / ((other[0].count(codes) + 0.5) / other[0].trials)
        order = np.argsort(-ratios, kind="stable")
        # As if both had been played as often as the one that was played less.
        trials = min(one[1].trials, other[1].trials)
        counts = [np.cumsum(side[1].count(codes)[order]) * (trials / side[1].trials) for side in (one, other)]
        best = self._best(pair, is_reversed, counts[0], counts[1], trials)
        if best is None:
            return None
        place, candidate = best
        return replace(candidate, event=Sequences(codes[order[: place + 1]], later))

    def count(self, pair: Pair, candidates: list[Candidate], trials: int, number: int) -> list[tuple[int, int]]:
        """Count the runs whose sequence is one of the event's."""
        played = {given: self.trials.outcomes(given, trials, TEST, number) for given in (pair.rewards, pair.changed)}

        def found(candidate: Candidate, given: Given) -> int:
            event = candidate.event
            return int(played[given].beginnings(event.later).count(event.codes).sum())

        return [(found(each, each.sides[0]), found(each, each.sides[1])) for each in candidates]

    def describe(self, candidate: Candidate) -> str:
        """Say which arms, the most frequent sequences first."""
        given, (codes, later) = candidate.sides[0], candidate.event
        seen = self._seen[given][0].joined(self._seen[given][1]).beginnings(later)
        order = np.argsort(-seen.count(codes), kind="stable")
        shown = [self._arms(int(codes[place]), later, given) for place in order[:_SHOWN]]
        more = len(codes) - len(shown)
        others = f", or one of {more} others" if more > 1 else ", or one other" if more else ""
        return "arms " + " or ".join(shown) + others

    def _arms(self, code: int, later: int, given: Given) -> str:
        for number, half in self._played[given]:
            for side in (0, 1):
                sequence = self.trials.sequence(code * later, given, half, SEARCH, number, side)
                if sequence:
                    # The arms that were divided away are zeros now.
                    ending = round(math.log(later, self.trials.arms)) if later > 1 else 0
                    arms = [arm + 1 for arm in sequence[: len(sequence) - ending]]
                    return shortened(arms) + (" and any after" if ending else "")
        return "unknown"


def shortened(arms: list[int]) -> str:
    """Return arms as 1,2,2 or, if there are many, as the last stretches: ... 1 x 50, 2 x 50."""
    if len(arms) <= 20:
        return ",".join(map(str, arms))
    stretches = [f"{arm} x {len(list(plays))}" for arm, plays in groupby(arms)]
    return ("... " if len(stretches) > _STRETCHES else "") + ", ".join(stretches[-_STRETCHES:])
