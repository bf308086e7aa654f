"""ReleasesView: every released value, and the arms. Its event is a threshold on a score of the run.

The score is the likelihood ratio, or one of those of scores.py that need no density. Choices that are drawn
at random are in none of them: the arms of a policy that draws some are attacked as well, as in the other view.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits.auditing.actions_view import ActionsView
from dpbandits.auditing.pairs import Pair
from dpbandits.auditing.scores import (
    CLOSEST_WITH_SECOND,
    DREW,
    LARGEST_WITH_FIRST,
    LARGEST_WITH_SECOND,
    NEARNESS,
    NOTE,
    RATIO,
    SCORES,
    UNSCORED,
)
from dpbandits.auditing.trials import Trials
from dpbandits.auditing.view import SEARCH, TEST, Candidate, View
from dpbandits.errors import InvalidInput

_IMPOSSIBLE = 1e300
_THRESHOLDS = 200
_FIRST_LOOK = 16
_LUCK = 0.05
_ROUNDING = 1e-9  # of a score: runs on one plateau of the density differ by that much


class Threshold(NamedTuple):
    """Runs with at least that score, or, where the second rewards are the likelier ones, with at least its opposite."""

    score: int
    limit: float


class ReleasesView(View):
    """Everything that was released, and the arms."""

    name = "releases"

    def __init__(self, trials: Trials, delta: float, smallest_mass: float, planned_trials: int) -> None:
        super().__init__(trials, delta, smallest_mass, planned_trials)
        self._sampled_scores: dict[Pair, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._arms = ActionsView(trials, delta, smallest_mass, planned_trials)
        self._draws = False

    def sample(self, pairs: list[Pair], budget: int, number: int) -> int:
        """Play every pair as often; half of the runs are for the arms if the policy draws random numbers."""
        trials_played = 0
        if not self.statistics.runs:  # a first look
            self._scores(pairs[0], _FIRST_LOOK, SEARCH, number, 1)
            trials_played = 2 * _FIRST_LOOK
        if self._draws:
            trials_played += self._arms.sample(pairs, budget // 2, number)
            budget //= 2
        half = max(1, budget // len(pairs) // 2)
        for pair in pairs:
            scores = self._scores(pair, half, SEARCH, number)
            before = self._sampled_scores.get(pair)
            if before is not None:
                scores = np.concatenate([before[0], scores[0]]), np.concatenate([before[1], scores[1]])
            self._sampled_scores[pair] = scores
        return trials_played + 2 * half * len(pairs)

    def candidates(self, pair: Pair) -> list[Candidate]:
        """Return the best threshold of each direction, and the best set of arms."""
        candidates = self._arms.candidates(pair) if self._arms.has_sampled(pair) else []
        one, other = (np.sort(side, axis=0) for side in self._sampled_scores[pair])
        for is_reversed in (False, True):
            if is_reversed:
                one, other = -other[::-1], -one[::-1]
            of_direction = [
                candidate
                for score in range(SCORES)
                if (candidate := self._candidate(pair, is_reversed, score, one[:, score], other[:, score])) is not None
            ]
            candidates += sorted(of_direction, key=_rank)[:1]
        return candidates

    def _candidate(
        self, pair: Pair, is_reversed: bool, score: int, one: NDArray[Any], other: NDArray[Any]
    ) -> Candidate | None:
        """Return the best threshold on a score, given in order."""
        finite = one[np.isfinite(one)]
        limits = finite[np.linspace(0, len(finite) - 1, _THRESHOLDS).astype(int)] if len(finite) else np.array([0.0])
        # The highest of equally good ones; before all others, what the other rewards cannot give.
        limits = np.append(_IMPOSSIBLE, np.unique(limits - _ROUNDING * (1 + np.abs(limits)))[::-1])
        counts = [len(side) - np.searchsorted(side, limits) for side in (one, other)]
        best = self._best(pair, is_reversed, counts[0], counts[1], len(one))
        return None if best is None else replace(best[1], event=Threshold(score, float(limits[best[0]])))

    def group(self, candidate: Candidate) -> Any:
        """Return the pair, and whether scores or arms are counted."""
        return candidate.pair, isinstance(candidate.event, Threshold)

    def count(self, pair: Pair, candidates: list[Candidate], trials: int, number: int) -> list[tuple[int, int]]:
        """Count the runs whose scores pass the thresholds, or whose arms are the events'."""
        if not isinstance(candidates[0].event, Threshold):
            return self._arms.count(pair, candidates, trials, number)
        sides = self._scores(pair, trials, TEST, number)
        counts = []
        for candidate in candidates:
            score, limit = candidate.event
            one, other = (side[:, score] for side in sides)
            if candidate.is_reversed:
                one, other = -other, -one
            counts.append((int(np.count_nonzero(one >= limit)), int(np.count_nonzero(other >= limit))))
        return counts

    def describe(self, candidate: Candidate) -> str:
        """Say what the threshold is."""
        if not isinstance(candidate.event, Threshold):
            return self._arms.describe(candidate)
        score, limit = candidate.event
        if score == RATIO:
            if limit >= _IMPOSSIBLE:
                return "releases and arms that the other rewards cannot give"
            exponent = round(limit, 4) + 0.0  # no -0.0000
            return f"releases that these rewards make at least e^{exponent:.4f} times as likely as the others"
        return _noises(score, limit, candidate.is_reversed)

    def _scores(self, pair: Pair, trials: int, *key: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of runs with either rewards."""
        one, other = (
            self.trials.scores(rewards, pair.rewards, pair.neighbours, trials, *key)
            for rewards in (pair.rewards, pair.neighbours)
        )
        for side in (one, other):
            if np.isnan(side[:, RATIO]).any():
                raise InvalidInput("Expected every scale of a release in (0, inf).")
            notes = side[:, NOTE].astype(np.int64)
            self.statistics.runs += len(side)
            self.statistics.unscored += int(np.count_nonzero(notes & UNSCORED))
            self.statistics.is_telling |= bool(side[:, RATIO].any() or (notes == DREW).any())  # arms tell, too
            self._draws |= bool((notes & DREW).any())
        return one, other


def _rank(candidate: Candidate) -> float:
    """Order candidates: where it is known no score is better than the likelihood ratio, only luckier."""
    return -candidate.promise + (0.0 if candidate.event.score == RATIO else _LUCK * abs(candidate.promise))


def _noises(score: int, limit: float, is_reversed: bool) -> str:
    """Say which noises a run of the event takes."""
    if score == NEARNESS:
        return f"releases whose noise, in squares of its scale, is smaller by {2 * limit:.4g} with these rewards"
    whose = "the other" if (score in (LARGEST_WITH_SECOND, CLOSEST_WITH_SECOND)) != is_reversed else "these"
    if score in (LARGEST_WITH_SECOND, LARGEST_WITH_FIRST):
        size = f"of at least {limit:.4g}" if limit > 0 else f"of at most {-limit:.4g}"
    else:
        size = f"of at most {1 / limit:.4g}" if limit > 0 else f"of at least {-1 / limit:.4g}"
    kind = "largest" if score in (LARGEST_WITH_SECOND, LARGEST_WITH_FIRST) else "smallest"
    return f"releases whose {kind} noise, with {whose} rewards, is one {size} scales"
