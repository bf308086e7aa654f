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

_MOST_SEQUENCES = 5
_STRETCHES = 8


class Sequences(NamedTuple):
    """Sequences of arms, as codes without their last digits: `later` is what they were divided by."""

    codes: NDArray[np.int64]
    later: int


class ActionsView(View):
    """The sequence of arms."""

    name = "actions"

    def __init__(self, trials: Trials, delta: float, smallest_mass: float, planned_trials: int) -> None:
        super().__init__(trials, delta, smallest_mass, planned_trials)
        self.statistics.is_telling = True  # every run has arms
        # Two halves of the trials on given rewards: one to order the sequences, one to see how many of them to take.
        self._outcomes: dict[Given, tuple[Outcomes, Outcomes]] = {}
        self._samples: dict[Given, list[tuple[int, int]]] = {}

    def sample(self, pairs: list[Pair], budget: int, number: int) -> int:
        """Play the rewards of these pairs, all as often."""
        every = dict.fromkeys(rewards for pair in pairs for rewards in (pair.rewards, pair.neighbours))
        half = max(1, budget // len(every) // 2)
        for rewards in every:
            halves = [self.trials.outcomes(rewards, half, SEARCH, number, side) for side in (0, 1)]
            before = self._outcomes.get(rewards)
            self._outcomes[rewards] = (
                (halves[0], halves[1]) if before is None else (before[0].joined(halves[0]), before[1].joined(halves[1]))
            )
            self._samples.setdefault(rewards, []).append((number, half))
        return 2 * half * len(every)

    def has_sampled(self, pair: Pair) -> bool:
        """Tell whether this pair was played."""
        return pair.rewards in self._outcomes and pair.neighbours in self._outcomes

    def candidates(self, pair: Pair) -> list[Candidate]:
        """Return the best sets of sequences, or of their beginnings where whole ones are too rare."""
        candidates = []
        for is_reversed in (False, True):
            sides = (pair.neighbours, pair.rewards) if is_reversed else (pair.rewards, pair.neighbours)
            of_direction = [
                candidate
                for later in self._endings()
                if (candidate := self._candidate(pair, is_reversed, sides, later)) is not None
            ]
            candidates += sorted(of_direction, key=lambda candidate: -candidate.promise)[:1]
        return candidates

    def _endings(self) -> list[int]:
        """Return what to divide codes by to leave all, three quarters and half of their arms; a hash has no parts."""
        steps = self.trials.horizon
        return (
            [self.trials.arms**ending for ending in sorted({0, steps // 4, steps // 2})]
            if self.trials.is_exact
            else [1]
        )

    def _candidate(self, pair: Pair, is_reversed: bool, sides: tuple[Given, Given], later: int) -> Candidate | None:
        one, other = ([half.beginnings(later) for half in self._outcomes[side]] for side in sides)
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
        outcomes = {
            rewards: self.trials.outcomes(rewards, trials, TEST, number) for rewards in (pair.rewards, pair.neighbours)
        }

        def hits(candidate: Candidate, rewards: Given) -> int:
            event = candidate.event
            return int(outcomes[rewards].beginnings(event.later).count(event.codes).sum())

        return [(hits(each, each.sides[0]), hits(each, each.sides[1])) for each in candidates]

    def describe(self, candidate: Candidate) -> str:
        """Say which arms, the most frequent sequences first."""
        rewards, (codes, later) = candidate.sides[0], candidate.event
        outcomes = self._outcomes[rewards][0].joined(self._outcomes[rewards][1]).beginnings(later)
        order = np.argsort(-outcomes.count(codes), kind="stable")
        sequence_texts = [self._arms(int(codes[place]), later, rewards) for place in order[:_MOST_SEQUENCES]]
        more = len(codes) - len(sequence_texts)
        others = f", or one of {more} others" if more > 1 else ", or one other" if more else ""
        return "arms " + " or ".join(sequence_texts) + others

    def _arms(self, code: int, later: int, rewards: Given) -> str:
        for number, half in self._samples[rewards]:
            for side in (0, 1):
                sequence = self.trials.sequence(code * later, rewards, half, SEARCH, number, side)
                if sequence:
                    # The arms that were divided away are zeros now.
                    ending = round(math.log(later, self.trials.arms)) if later > 1 else 0
                    arms = [arm + 1 for arm in sequence[: len(sequence) - ending]]
                    return arms_text(arms) + (" and any after" if ending else "")
        return "unknown"


def arms_text(arms: list[int]) -> str:
    """Return arms as 1,2,2 or, if there are many, as the last stretches: ... 1 x 50, 2 x 50."""
    if len(arms) <= 20:
        return ",".join(map(str, arms))
    stretches = [f"{arm} x {len(list(plays))}" for arm, plays in groupby(arms)]
    return ("... " if len(stretches) > _STRETCHES else "") + ", ".join(stretches[-_STRETCHES:])
