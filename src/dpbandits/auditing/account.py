"""Account: what every reward has lost, over many runs.

Without delta the loss of a reward is the largest of its runs. With delta a run is not enough, since which releases come
next may depend on those before: a reward is charged with everything that it was in, in whatever run, as if it were one
schedule from which a run takes a part.
"""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import GAUSSIAN
from dpbandits.privacy import Event, compose, rho_of
from dpbandits.privacy.rounding import sum_up


class Account:
    """Runs are added; in the end `settle` says which reward is worst, and what it loses."""

    def __init__(self, steps: int) -> None:
        self.losses = np.zeros(steps)
        self.epsilon, self.worst, self.adversary = 0.0, 0, "usual"
        self._pure: dict[int, tuple[float, str]] = {}  # the largest loss of every reward, and in whose run
        self._events: dict[int, Counter[Event]] = {}
        self._has_events = True  # every release has its own noise, so that events can be composed

    def add(self, noise: TaintNoise, adversary: str) -> None:
        """Add the releases of a run."""
        self._has_events &= noise.has_noise_for_each()
        if self._has_events:
            for number, events in noise.events().items():
                self._events[number] = self._events.get(number, Counter()) | Counter(events)
        is_pure = GAUSSIAN not in noise.mechanisms
        losses = noise.losses() if is_pure else {n: _size(events) for n, events in noise.events().items()}
        for number, loss in losses.items():
            self.losses[number - 1] = max(self.losses[number - 1], loss)
            known = self._pure.get(number, (0.0, adversary))
            self._pure[number] = max(known, (loss if is_pure else math.inf, adversary), key=lambda found: found[0])

    def settle(self, delta: float, claimed: float) -> None:
        """Find the worst reward at delta; one that loses more than is claimed is bad enough."""
        if delta == 0 or not self._has_events:
            for number, (loss, adversary) in self._pure.items():
                self.say(loss, number, adversary)
            return
        for number, events in self._largest():
            self.say(compose(list(events.elements()), delta).epsilon, number, "any")
            if self.epsilon > claimed:
                return

    def say(self, epsilon: float, worst: int, adversary: str) -> None:
        """Note a loss if it is the largest so far."""
        if epsilon > self.epsilon:
            self.epsilon, self.worst, self.adversary = epsilon, worst, adversary

    def _largest(self) -> Iterator[tuple[int, Counter[Event]]]:
        """Yield the rewards whose events are not all among another's: those lose no more."""
        kept: list[Counter[Event]] = []
        for number, events in sorted(self._events.items(), key=lambda found: -found[1].total()):
            if not any(events <= other for other in kept):
                kept.append(events)
                yield number, events


def _size(events: list[Event]) -> float:
    """Return the root of twice the zCDP: for a single Gaussian release, sensitivity / σ."""
    return math.sqrt(2 * sum_up(map(rho_of, events)))
