"""Account: what every reward has lost, over many runs.

Without delta the loss of a reward is the largest of its runs. With delta a run is not enough, since which releases come
next may depend on those before: a reward is charged with everything that it was in, in whatever run, as if it were one
schedule from which a run takes a part. The largest of its runs bounds it with any delta, too, and the smaller of the
two counts.

All these bound the loss from above. `certain_loss` is what is certainly lost: by the releases that a reward begins with
in every run, whatever the noise, for they are fixed in advance; or by a run that witnesses it (witness.py).
"""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits.auditing.taint import TaintNoise, event_of
from dpbandits.mechanisms import GAUSSIAN
from dpbandits.privacy import Event, compose, epsilon_below, rho_of
from dpbandits.privacy.rounding import sum_up

_FIRST = 1024  # rewards of which it is noted what they begin with
_COMPOSED = 3  # beginnings that are composed, of each order


class CertainLoss(NamedTuple):
    """A loss that is certain, of which reward, and who chose the noise."""

    epsilon: float = 0.0
    reward: int = 0
    adversary: str = "any"


class _Charge(NamedTuple):
    """What rewards from `first` to `last` lost in a run: its releases, by their place among all that were ever seen."""

    first: int
    last: int
    releases: int


class Account:
    """Runs are added; in the end `settle` says which reward is worst, and what it loses at delta."""

    def __init__(self, steps: int, delta: float) -> None:
        self.delta = delta
        self.losses = np.zeros(steps)
        self.epsilon, self.worst, self.adversary = 0.0, 0, "usual"
        self._pure = np.zeros(steps)  # the largest loss of every reward
        self._worst_runs = np.zeros(steps, dtype=np.int64)  # and in whose run
        self._adversaries: list[str] = []
        self._charges: list[_Charge] = []
        self._columns: dict[Event, int] = {}  # a number for every event that was seen
        self._places: dict[frozenset[tuple[int, int]], int] = {}
        self._release_sets: list[
            tuple[Counter[int], float]
        ] = []  # the releases of a reward in a run, and their pure loss
        self._has_events = delta > 0  # and every release has its own noise, so that events can be composed
        self.certain_loss = CertainLoss()
        self.is_followed = np.zeros(steps, dtype=np.bool_)
        self._beginnings: dict[int, tuple[tuple[float, int], ...]] = {}  # of the first rewards, in all runs so far
        self._times: Counter[int] = Counter()  # in how many runs they were followed
        self._has_draws = False  # random numbers that nobody sees

    def add(self, noise: TaintNoise, adversary: str, until: dict[int, int] | None = None) -> dict[int, float]:
        """Add the releases of a run, in which a term means all rewards up to that in `until`; return their losses."""
        until = until or {}
        self._adversaries.append(adversary)
        self._follow(noise, until)
        self._has_draws |= noise.draws > 0
        is_pure = GAUSSIAN not in noise.mechanisms
        self._has_events &= noise.has_noise_for_each()
        events = {} if is_pure and not self._has_events else noise.events()
        losses = noise.losses() if is_pure else {n: _size(releases) for n, releases in events.items()}
        places: dict[tuple[int, ...], int] = {}  # of lists of the same events, which are the same objects here
        for number, loss in losses.items():
            last = until.get(number, number)
            pure = loss if is_pure else math.inf
            self._note(number, last, loss, pure)
            if self._has_events:
                same = tuple(map(id, events[number]))
                if same not in places:
                    places[same] = self._place(events[number], pure)
                self._charges.append(_Charge(number, last, places[same]))
        return losses if is_pure else dict.fromkeys(losses, math.inf)

    def _follow(self, noise: TaintNoise, until: dict[int, int]) -> None:
        """Note which rewards are followed, and cut what they begin with to what it is in this run, too."""
        beginnings = noise.beginnings(_FIRST)
        for first, last in (until or {number: number for number in beginnings}).items():
            self.is_followed[first - 1 : last] = True
            beginning = beginnings.get(first, ())
            for number in range(first, min(last, _FIRST) + 1):
                before = self._beginnings.get(number, beginning)
                if before is not beginning and before != beginning:
                    before = tuple(
                        one
                        for one, _ in takewhile(lambda both: both[0] == both[1], zip(before, beginning, strict=False))
                    )
                self._beginnings[number] = before
                self._times[number] += 1

    def note_certain_loss(self, epsilon: float, reward: int, adversary: str) -> None:
        """Note a loss that is certain, if it is the largest so far."""
        if epsilon > self.certain_loss.epsilon:
            self.certain_loss = CertainLoss(epsilon, reward, adversary)

    def _note_beginnings(self, enough: float) -> None:
        """Releases that a reward begins with in all runs are fixed in advance, and what they lose is certain.

        Not if random numbers were drawn: a coin that leaves rewards out now and then protects all of them.
        """
        if self._has_draws:
            return
        first: dict[tuple[tuple[float, int], ...], int] = {}
        for number, beginning in sorted(self._beginnings.items()):
            if self._times[number] == len(self._adversaries):
                first.setdefault(beginning, number)
        candidates = [(number, [event_of(*each) for each in beginning]) for beginning, number in first.items()]
        if self.delta > 0:  # composing takes its time
            by_rho = sorted(candidates, key=lambda each: -sum_up(map(rho_of, each[1])))
            by_loss = sorted(candidates, key=lambda each: -epsilon_below(each[1], 0.0))
            candidates = by_rho[:_COMPOSED] + by_loss[:_COMPOSED]
        for number, events in candidates:
            loss = epsilon_below(events, self.delta)
            if loss > enough:
                self.note_certain_loss(loss, number, "any")

    def _note(self, first: int, last: int, loss: float, pure: float) -> None:
        rewards = slice(first - 1, last)
        self.losses[rewards] = np.maximum(self.losses[rewards], loss)
        self._worst_runs[rewards] = np.where(
            self._pure[rewards] < pure, len(self._adversaries) - 1, self._worst_runs[rewards]
        )
        self._pure[rewards] = np.maximum(self._pure[rewards], pure)

    def _place(self, events: list[Event], pure: float) -> int:
        event_counter = Counter(self._columns.setdefault(event, len(self._columns)) for event in events)
        key = frozenset(event_counter.items())
        if key not in self._places:
            self._places[key] = len(self._release_sets)
            self._release_sets.append((event_counter, pure))
        return self._places[key]

    def settle(self, enough: float) -> None:
        """Find the worst reward; one that loses more than `enough` is bad enough. Then see what of it is certain."""
        self._settle(enough)
        if self.epsilon > enough:
            self._note_beginnings(enough)

    def _settle(self, enough: float) -> None:
        if not self._has_events:
            worst = int(np.argmax(self._pure))
            if self._adversaries:
                self.note_loss(float(self._pure[worst]), worst + 1, self._adversaries[self._worst_runs[worst]])
            return
        for number, events, pure in self._largest():
            composed = compose(events, self.delta).epsilon
            by = self._adversaries[self._worst_runs[number - 1]] if pure <= composed else "any"
            self.note_loss(min(pure, composed), number, by)
            if self.epsilon > enough:
                return

    def note_loss(self, epsilon: float, worst: int, adversary: str) -> None:
        """Note a loss if it is the largest so far."""
        if epsilon > self.epsilon:
            self.epsilon, self.worst, self.adversary = epsilon, worst, adversary

    def _largest(self) -> Iterator[tuple[int, list[Event], float]]:
        """Yield rewards, all their events and their largest pure loss, unless another has as much of both."""
        counts = np.zeros((len(self._release_sets), len(self._columns)), dtype=np.int64)
        for place, (event_counter, _) in enumerate(self._release_sets):
            counts[place, list(event_counter)] = list(event_counter.values())
        pure = np.array([loss for _, loss in self._release_sets])
        together: dict[frozenset[int], int] = {}
        for number, places in self._together():
            together.setdefault(places, number)
        candidates = [
            (number, counts[list(places)].max(axis=0), float(pure[list(places)].max()))
            for places, number in together.items()
        ]
        events = list(self._columns)
        largest: list[tuple[NDArray[np.int64], float]] = []
        for number, event_counts, loss in sorted(candidates, key=lambda each: (-int(each[1].sum()), -each[2])):
            if not any(loss <= larger and (event_counts <= other).all() for other, larger in largest):
                largest.append((event_counts, loss))
                yield number, [events[column] for column in np.repeat(np.arange(len(events)), event_counts)], loss

    def _together(self) -> Iterator[tuple[int, frozenset[int]]]:
        """Yield, for every stretch of rewards, its first and what it was charged with in any run."""
        changes = sorted(
            change
            for charge in self._charges
            for change in ((charge.first, 1, charge.releases), (charge.last + 1, -1, charge.releases))
        )
        open_now: Counter[int] = Counter()
        for place, (number, change, releases) in enumerate(changes):
            open_now[releases] += change
            if not open_now[releases]:
                del open_now[releases]
            if open_now and (place + 1 == len(changes) or changes[place + 1][0] != number):
                yield number, frozenset(open_now)


def _size(events: list[Event]) -> float:
    """Return the root of twice the zCDP: for a single Gaussian release, sensitivity / σ."""
    return math.sqrt(2 * sum_up(map(rho_of, events)))
