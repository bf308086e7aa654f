"""RegretSummary: the regret of any number of runs, in memory that does not grow with them.

Moments and extremes are kept at every checkpoint, and what quantiles need: the runs themselves as long as they are few,
then a histogram with bins that grow by 1%, so that quantiles are right to 1%. A bin remembers the mean of what fell
into it: values that repeat, as they do for policies that park, come out exactly.
"""

import math
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._writing import write_arrays
from dpbandits.errors import InvalidInput

_GROWTH = math.log(1.01)
_FEW = 1000
_ARRAYS = ("checkpoints", "totals", "squares", "least", "largest", "few", "counts", "sums")


class RegretSummary:
    """What is kept of the runs of one policy. `add` takes in runs; the order in which they are added matters to bits.

    Attributes:
        checkpoints: the times at which regret is kept; the last is the horizon.
        runs: how many runs were added.
        least, largest: the best and the worst run at every checkpoint.
    """

    def __init__(self, checkpoints: NDArray[np.int64], gaps: NDArray[np.float64]) -> None:
        self.checkpoints = checkpoints
        self.runs = 0
        positive = gaps[gaps > 0]
        # No regret but zero is below the smallest gap, and none is above horizon times the largest.
        self._smallest = float(positive.min()) if len(positive) else 1.0
        ratio = checkpoints[-1] * float(gaps.max(initial=0.0)) / self._smallest
        self._bins = 2 + math.ceil(math.log(max(ratio, 1.0)) / _GROWTH)
        points = len(checkpoints)
        self.totals, self.squares = np.zeros(points), np.zeros(points)
        self.least, self.largest = np.full(points, np.inf), np.full(points, -np.inf)
        self.few = np.empty((0, points))  # the runs, or none if they are in the histogram
        self.counts = np.zeros((points, 0), dtype=np.int64)  # the histogram, made when it is needed
        self.sums = np.zeros((points, 0))

    def add(self, regrets: NDArray[np.float64]) -> None:
        """Take in runs: a row per run, a column per checkpoint."""
        runs = len(regrets)
        # Moments around the mean so far, joined as Chan, Golub & LeVeque do, lose no digits.
        mean = regrets.mean(axis=0)
        shift = mean - self.totals / max(self.runs, 1)
        self.squares += ((regrets - mean) ** 2).sum(axis=0) + shift**2 * (self.runs * runs / (self.runs + runs))
        self.totals += regrets.sum(axis=0)
        self.least = np.minimum(self.least, regrets.min(axis=0))
        self.largest = np.maximum(self.largest, regrets.max(axis=0))
        self.runs += runs
        if self.runs <= _FEW:
            self.few = np.concatenate([self.few, regrets])
            return
        if not self.counts.size:
            shape = len(self.checkpoints), self._bins
            self.counts, self.sums = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        self._bin(np.concatenate([self.few, regrets]))
        self.few = self.few[:0]

    def _bin(self, regrets: NDArray[np.float64]) -> None:
        points, bins = self.counts.shape
        with np.errstate(divide="ignore"):
            place = np.floor(np.log(regrets / self._smallest) / _GROWTH)  # -inf for zero
        place = np.clip(np.nan_to_num(place, neginf=-1) + 1, 0, bins - 1).astype(np.int64)
        flat = (place + bins * np.arange(points)).ravel()
        self.counts += np.bincount(flat, minlength=points * bins).reshape(points, bins)
        self.sums += np.bincount(flat, weights=regrets.ravel(), minlength=points * bins).reshape(points, bins)

    @property
    def horizon(self) -> int:
        """How many steps every run has."""
        return int(self.checkpoints[-1])

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean regret at every checkpoint."""
        return np.asarray(self.totals / self.runs)

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """The standard error of the mean at every checkpoint; NaN for a single run."""
        if self.runs < 2:
            return np.full(len(self.checkpoints), np.nan)
        return np.asarray(np.sqrt(self.squares / (self.runs - 1) / self.runs))

    def quantile(self, level: float) -> NDArray[np.float64]:
        """Return a quantile of the runs at every checkpoint: exact for up to 1000 runs, then right to 1%."""
        level = _validate.real("[0, 1]", level=level)
        if len(self.few):
            return np.asarray(np.quantile(self.few, level, axis=0))
        is_reached = np.cumsum(self.counts, axis=1) >= level * self.runs
        place = np.argmax(is_reached, axis=1)[:, None]
        count = np.take_along_axis(self.counts, place, axis=1)
        values = np.take_along_axis(self.sums, place, axis=1) / np.maximum(count, 1)
        return np.clip(values[:, 0], self.least, self.largest)

    def quantile_interval(self, level: float, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval of a quantile at the horizon, between two of the runs (order statistics).

        It has at least this confidence, whatever the distribution of the runs. With few runs an end may be infinite.
        """
        from scipy.special import bdtr

        level = _validate.real("[0, 1]", level=level)
        beyond = (1 - _validate.real("(0, 1)", confidence=confidence)) / 2
        chance = bdtr(
            np.arange(self.runs + 1), self.runs, level
        )  # that this many runs, or fewer, are below the quantile
        first, last = int(np.argmax(chance >= beyond)), int(np.argmax(chance >= 1 - beyond)) + 1
        values, counts = self.final()
        cumulative = np.cumsum(counts)
        low = values[np.searchsorted(cumulative, first)] if first >= 1 else -math.inf
        high = values[np.searchsorted(cumulative, last)] if last <= self.runs else math.inf
        return float(low), float(high)

    def final(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the regrets at the horizon, rising, and how many runs have each; of many runs the means of bins."""
        if len(self.few):
            values, counts = np.unique(self.few[:, -1], return_counts=True)
            return values, counts.astype(np.int64)
        filled = np.flatnonzero(self.counts[-1])
        return self.sums[-1][filled] / self.counts[-1][filled], self.counts[-1][filled]

    def runs_above(self, regret: float) -> int:
        """Return how many runs have more than that regret at the horizon."""
        values, counts = self.final()
        return int(counts[values > regret].sum())

    def at(self, t: int) -> int:
        """Return the index of the last checkpoint that is not after t."""
        return max(int(np.searchsorted(self.checkpoints, t, side="right")) - 1, 0)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file (a NumPy .npz archive without pickles)."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        write_arrays(path, {"runs": self.runs, "smallest": self._smallest, "bins": self._bins, **arrays})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "RegretSummary":
        """Read one that was saved; more runs can be added.

        Raises:
            InvalidInput: the file is not a saved summary.
        """
        summary = cls.__new__(cls)
        with open(path, "rb") as file:
            try:
                with np.load(file) as archive:
                    for name in _ARRAYS:
                        setattr(summary, name, archive[name])
                    summary.runs, summary._bins = int(archive["runs"]), int(archive["bins"])
                    summary._smallest = float(archive["smallest"])
            except Exception:  # noqa: BLE001  (a damaged archive can raise anything)
                raise InvalidInput(f"Expected {path} to be a saved summary, but it cannot be read as one.") from None
        return summary
