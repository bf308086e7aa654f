"""View: it samples pairs, proposes for each of them the event that tells most, and counts it in fresh trials.

Which event that is, is decided on the search's trials alone.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpbandits.auditing.epsilon_bounds import log_ratio_errors, promises
from dpbandits.auditing.pairs import Pair
from dpbandits.auditing.trials import Trials
from dpbandits.environments.given import Given

ViewName = Literal["actions", "releases"]
SEARCH, TEST = 0, 1  # the two parts of the trials, as the first number of a key


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
    def sides(self) -> tuple[Given, Given]:
        """The likelier rewards first."""
        both = self.pair.rewards, self.pair.neighbours
        return (both[1], both[0]) if self.is_reversed else both


@dataclass
class RunStatistics:
    """How many runs a view has seen, and how many of them it could not score."""

    runs: int = 0
    unscored: int = 0  # runs with a release whose likelihood is not known
    is_telling: bool = False  # some run is likelier with one of its rewards than with the other

    @property
    def unscored_share(self) -> float:
        """The share of such runs."""
        return self.unscored / self.runs if self.runs else 0.0


class View(ABC):
    """One way to look at a policy."""

    name: ClassVar[ViewName]

    def __init__(self, trials: Trials, delta: float, smallest_mass: float, planned_trials: int) -> None:
        self.trials = trials
        self.delta = delta
        self.planned_trials = planned_trials  # trials of an event in the test, with either rewards
        self.smallest_mass = smallest_mass
        self.statistics = RunStatistics()

    @abstractmethod
    def sample(self, pairs: list[Pair], budget: int, number: int) -> int:
        """Play about `budget` more trials of these pairs, in round `number` of the search; return how many."""

    @abstractmethod
    def candidates(self, pair: Pair) -> list[Candidate]:
        """Return the best event of each direction, from what was sampled."""

    def group(self, candidate: Candidate) -> Any:
        """Return a key that is equal for candidates that are counted in the same runs."""
        return candidate.pair

    @abstractmethod
    def count(self, pair: Pair, candidates: list[Candidate], trials: int, number: int) -> list[tuple[int, int]]:
        """Play fresh trials with either rewards of a pair and count the event of each of its candidates."""

    @abstractmethod
    def describe(self, candidate: Candidate) -> str:
        """Say in words what the event is."""

    def _best(
        self, pair: Pair, is_reversed: bool, hits: NDArray[Any], neighbour_hits: NDArray[Any], trials: int
    ) -> tuple[int, Candidate] | None:
        """Return which of these events, given as counts, promises most."""
        promised = promises(hits, neighbour_hits, trials, self.planned_trials, self.delta)
        promised = np.where(hits >= max(1.0, self.smallest_mass * trials), promised, -np.inf)
        place = int(np.argmax(promised))
        if not np.isfinite(promised[place]):
            return None
        mass = float(hits[place]) / trials
        ratio = float(np.log(max(mass - self.delta, 1e-300) / ((neighbour_hits[place] + 0.5) / (trials + 1))))
        error = float(sum(side[place] for side in log_ratio_errors(hits, neighbour_hits, trials)))
        return place, Candidate(pair, is_reversed, None, mass, ratio, error, float(promised[place]))
