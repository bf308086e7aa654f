"""What an attacker sees: the arms alone, or every released value as well. And the events that are looked for in it.

A view samples pairs, proposes for each of them the event that tells most, and counts an event in fresh trials. The
event of the arms is a set of sequences: those with the largest estimated ratio. That of the releases is a threshold on
the likelihood-ratio score. Which sequences, and which threshold, is decided on the search's trials alone.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits.auditing.bounds import log_ratio_errors, promises
from dpbandits.auditing.pairs import Pair
from dpbandits.errors import InvalidInput
from dpbandits.simulation.script import Script
from dpbandits.simulation.trials import Outcomes, Trials

SEARCH, TEST = 0, 1  # the two parts of the trials, as the first number of a key
_SHOWN = 5
_STRETCHES = 8
_IMPOSSIBLE = 1e300
_THRESHOLDS = 200
_ROUNDING = 1e-9  # of a score: runs on one plateau of the density differ by that much


class Sequences(NamedTuple):
    """Sequences of arms, as codes without their last digits: `later` is what they were divided by."""

    codes: NDArray[np.int64]
    later: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """An event that may be likelier with the first rewards of a pair, or (`is_reversed`) with the second."""

    pair: Pair
    is_reversed: bool
    event: Any
    mass: float  # estimated, with the likelier rewards
    ratio: float  # estimated: ln of the ratio
    error: float  # of that, about
    promise: float  # about what a test can show; negative if that is nothing yet

    @property
    def sides(self) -> tuple[Script, Script]:
        """The likelier rewards first."""
        both = self.pair.rewards, self.pair.changed
        return (both[1], both[0]) if self.is_reversed else both


class View(ABC):
    """One way to look at a policy."""

    name: str

    def __init__(self, trials: Trials, delta: float, smallest_mass: float, planned: int) -> None:
        self.trials = trials
        self.delta = delta
        self.planned = planned  # trials of an event in the test, with either rewards
        self.smallest_mass = smallest_mass

    @abstractmethod
    def sample(self, pairs: list[Pair], budget: int, number: int) -> int:
        """Play about `budget` more trials of these pairs, in round `number` of the search; return how many."""

    @abstractmethod
    def candidates(self, pair: Pair) -> list[Candidate]:
        """Return the best event of each direction, from what was sampled."""

    @abstractmethod
    def count(self, pair: Pair, candidates: list[Candidate], trials: int, number: int) -> list[tuple[int, int]]:
        """Play fresh trials with either rewards of a pair and count the event of each of its candidates."""

    @abstractmethod
    def describe(self, candidate: Candidate) -> str:
        """Say in words what the event is."""

    def _best(
        self, pair: Pair, is_reversed: bool, found: NDArray[Any], other: NDArray[Any], trials: int
    ) -> tuple[int, Candidate] | None:
        """Return which of these events, given as counts, promises most."""
        promised = promises(found, other, trials, self.planned, self.delta)
        promised = np.where(found >= max(1.0, self.smallest_mass * trials), promised, -np.inf)
        place = int(np.argmax(promised))
        if not np.isfinite(promised[place]):
            return None
        mass = float(found[place]) / trials
        ratio = float(np.log(max(mass - self.delta, 1e-300) / ((other[place] + 0.5) / (trials + 1))))
        error = float(sum(side[place] for side in log_ratio_errors(found, other, trials)))
        return place, Candidate(pair, is_reversed, None, mass, ratio, error, float(promised[place]))


class ActionsView(View):
    """The sequence of arms."""

    name = "actions"

    def __init__(self, trials: Trials, delta: float, smallest_mass: float, planned: int) -> None:
        super().__init__(trials, delta, smallest_mass, planned)
        # Two halves of every script's trials: one to order the sequences, one to see how many of them to take.
        self._seen: dict[Script, tuple[Outcomes, Outcomes]] = {}
        self._played: dict[Script, list[tuple[int, int]]] = {}

    def sample(self, pairs: list[Pair], budget: int, number: int) -> int:
        """Play every script of these pairs as often."""
        scripts = dict.fromkeys(script for pair in pairs for script in (pair.rewards, pair.changed))
        half = max(1, budget // len(scripts) // 2)
        for script in scripts:
            halves = [self.trials.outcomes(script, half, SEARCH, number, side) for side in (0, 1)]
            before = self._seen.get(script)
            self._seen[script] = (
                (halves[0], halves[1]) if before is None else (before[0].joined(halves[0]), before[1].joined(halves[1]))
            )
            self._played.setdefault(script, []).append((number, half))
        return 2 * half * len(scripts)

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

    def _candidate(self, pair: Pair, is_reversed: bool, sides: tuple[Script, Script], later: int) -> Candidate | None:
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
        played = {script: self.trials.outcomes(script, trials, TEST, number) for script in (pair.rewards, pair.changed)}

        def found(candidate: Candidate, script: Script) -> int:
            event = candidate.event
            return int(played[script].beginnings(event.later).count(event.codes).sum())

        return [(found(each, each.sides[0]), found(each, each.sides[1])) for each in candidates]

    def describe(self, candidate: Candidate) -> str:
        """Say which arms, the most frequent sequences first."""
        script, (codes, later) = candidate.sides[0], candidate.event
        seen = self._seen[script][0].joined(self._seen[script][1]).beginnings(later)
        order = np.argsort(-seen.count(codes), kind="stable")
        shown = [self._arms(int(codes[place]), later, script) for place in order[:_SHOWN]]
        more = len(codes) - len(shown)
        others = f", or one of {more} others" if more > 1 else ", or one other" if more else ""
        return "arms " + " or ".join(shown) + others

    def _arms(self, code: int, later: int, script: Script) -> str:
        for number, half in self._played[script]:
            for side in (0, 1):
                sequence = self.trials.sequence(code * later, script, half, SEARCH, number, side)
                if sequence:
                    # The arms that were divided away are zeros now.
                    ending = round(math.log(later, self.trials.arms)) if later > 1 else 0
                    arms = [arm + 1 for arm in sequence[: len(sequence) - ending]]
                    return _shortened(arms) + (" and any after" if ending else "")
        return "unknown"


class ReleasesView(View):
    """Everything that was released, and the arms."""

    name = "releases"

    def __init__(self, trials: Trials, delta: float, smallest_mass: float, planned: int) -> None:
        super().__init__(trials, delta, smallest_mass, planned)
        self._seen: dict[Pair, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def sample(self, pairs: list[Pair], budget: int, number: int) -> int:
        """Play every pair as often."""
        half = max(1, budget // len(pairs) // 2)
        for pair in pairs:
            scores = self._scores(pair, half, SEARCH, number)
            before = self._seen.get(pair)
            if before is not None:
                scores = np.concatenate([before[0], scores[0]]), np.concatenate([before[1], scores[1]])
            self._seen[pair] = scores
        return 2 * half * len(pairs)

    def candidates(self, pair: Pair) -> list[Candidate]:
        """Return the best thresholds on the score and on its opposite."""
        found = []
        for is_reversed in (False, True):
            one, other = self._seen[pair]
            if is_reversed:
                one, other = -other, -one
            finite = one[np.isfinite(one)]
            limits = np.quantile(finite, np.linspace(0, 1, _THRESHOLDS)) if len(finite) else np.array([0.0])
            # The highest of equally good ones; before all others, releases that the other rewards cannot give.
            limits = np.append(_IMPOSSIBLE, np.unique(limits - _ROUNDING * (1 + np.abs(limits)))[::-1])
            counts = [len(side) - np.searchsorted(np.sort(side), limits) for side in (one, other)]
            best = self._best(pair, is_reversed, counts[0], counts[1], len(one))
            if best is not None:
                place, candidate = best
                found.append(replace(candidate, event=float(limits[place])))
        return found

    def count(self, pair: Pair, candidates: list[Candidate], trials: int, number: int) -> list[tuple[int, int]]:
        """Count the runs whose score passes the threshold."""
        one, other = self._scores(pair, trials, TEST, number)
        found = []
        for candidate in candidates:
            sides = (-other, -one) if candidate.is_reversed else (one, other)
            found.append((_passing(sides[0], candidate.event), _passing(sides[1], candidate.event)))
        return found

    def describe(self, candidate: Candidate) -> str:
        """Say what the threshold is."""
        if candidate.event >= _IMPOSSIBLE:
            return "releases and arms that the other rewards cannot give"
        limit = round(candidate.event, 4) + 0.0  # no -0.0000
        return f"releases that these rewards make at least e^{limit:.4f} times as likely as the others"

    def _scores(self, pair: Pair, trials: int, *key: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the score ln(f / f') of runs with either rewards, f being the density with the first."""
        one = self.trials.scores(pair.rewards, pair.changed, trials, *key)
        other = -self.trials.scores(pair.changed, pair.rewards, trials, *key)
        if np.isnan(one).any() or np.isnan(other).any():
            raise InvalidInput("Expected every scale of a release in (0, inf).")
        return one, other


def _passing(scores: NDArray[np.float64], limit: float) -> int:
    return int(np.count_nonzero(scores >= limit))


VIEWS: dict[str, type[View]] = {view.name: view for view in (ActionsView, ReleasesView)}


def _shortened(arms: list[int]) -> str:
    """Return arms as 1,2,2 or, if there are many, as the last stretches: ... 1 x 50, 2 x 50."""
    if len(arms) <= 20:
        return ",".join(map(str, arms))
    stretches = [f"{arm} x {len(list(plays))}" for arm, plays in groupby(arms)]
    return ("... " if len(stretches) > _STRETCHES else "") + ", ".join(stretches[-_STRETCHES:])
