"""Calibration of DP-UCB-Int: the densest release intervals whose true cost stays within a budget."""

import math

import numpy as np

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.errors import InvalidInput
from dpbandits.policies.release_intervals import (
    MAX_COMPOSED,
    MAX_RELEASES,
    Series,
    interval_epsilon,
    interval_events,
    interval_guarantee,
    release_times,
)
from dpbandits.privacy.budget import Budget
from dpbandits.privacy.calibration import SMALLEST, calibrate
from dpbandits.privacy.pld import pld_epsilon
from dpbandits.privacy.renyi import zcdp_epsilon
from dpbandits.privacy.rounding import below

# With more releases than this, privacy loss distributions give the smallest bound.
_MANY = 1000
_USUAL_TRIES = 8
# Up to here releases are counted one by one to find where to begin.
_NEAR = 1_000_000


def calibrate_interval(
    budget: Budget,
    v: float = 1.1,
    series: Series = "y",
    horizon: float = math.inf,
    *,
    grid_bits: int | None = None,
    progress: bool | None = None,
) -> float:
    """Return the best internal epsilon of DP-UCB-Int for a budget, by tight accounting up to `horizon`.

    The time grows with the number of releases: some seconds for thousands, 15 s for fifty thousand
    (benchmarks/results.md), and with the horizon, which is counted through: 10 s for 10^8, minutes for 10^9.

    Args:
        budget: what may be spent on one reward.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
        horizon: up to where it is accounted; without one by the bound for ever, which needs a delta above 0.
        grid_bits: that of the live noise source, whose noise is discrete. None means continuous noise.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    >>> calibrate_interval(Budget(0.1, math.exp(-10)), v=1.1, series="y", horizon=100_000)
    0.000318
    """
    v, horizon = _validate.real("(1, 1.5]", v=v), _validate.horizon(horizon)
    if math.isinf(horizon):
        if budget.delta == 0:
            raise InvalidInput("Expected delta=0.0 in (0, 1): without a horizon the schedule has no pure bound.")
        return calibrate(
            lambda epsilon: interval_guarantee(epsilon, v, series, delta=budget.delta).epsilon,
            budget.epsilon,
            start=interval_epsilon(budget, v),
        )
    upper = min(1.0, below(MAX_RELEASES / horizon))  # no more releases than can be counted
    # Where to begin: Corollary 3.2, or Corollary 3.1 (C) for a pure budget.
    start = interval_epsilon(budget, v) if budget.delta > 0 else budget.epsilon * (1 - v / 2) / horizon ** (1 - v / 2)
    with Progress(_USUAL_TRIES, "schedules tried", progress) as bar:
        bar.describe("calibrating")
        schedules = _Schedules(budget, v, series, int(horizon), grid_bits, bar)
        quick = calibrate(schedules.quick_cost, budget.epsilon, start=max(start, SMALLEST), upper=upper, tolerance=0.01)
        return calibrate(schedules.cost, budget.epsilon, start=quick, upper=upper)


class _Schedules:
    """What the schedules of one calibration cost. Many epsilons give the same one, which is composed once."""

    def __init__(
        self, budget: Budget, v: float, series: Series, horizon: int, grid_bits: int | None, bar: Progress
    ) -> None:
        self._budget, self._kind, self._horizon = budget, (v, series), horizon
        self._grid_bits, self._bar = grid_bits, bar
        self._costs: dict[bytes, float] = {}

    def quick_cost(self, epsilon: float) -> float:
        """Return about what it costs, from sums of losses and of their squares, to begin with."""
        near = min(self._horizon, _NEAR)
        times = release_times(epsilon, *self._kind, horizon=near)
        last = float(times[-1]) if len(times) else 1.0

        def total(p: float) -> float:  # later releases have a density of epsilon
            far = epsilon * (self._horizon ** (1 - p) - last ** (1 - p)) / (1 - p) if near < self._horizon else 0.0
            return float(np.sum(times**-p)) + max(far, 0.0)

        v, delta = self._kind[0], self._budget.delta
        return min(total(v / 2), zcdp_epsilon(total(v) / 2, delta)) if delta > 0 else total(v / 2)

    def cost(self, epsilon: float) -> float:
        """Return what is proved for the schedule, or a little more."""
        times = release_times(epsilon, *self._kind, horizon=self._horizon)
        key = times.tobytes()
        if key not in self._costs:
            self._costs[key] = self._composed(epsilon, len(times))
            self._bar.advance(1)
        return self._costs[key]

    def _composed(self, epsilon: float, releases: int) -> float:
        delta, horizon, grid_bits = self._budget.delta, self._horizon, self._grid_bits
        if delta > 0 and _MANY < releases <= MAX_COMPOSED:
            # The other theorems give larger bounds for so many releases, and take longer.
            epsilon_at_delta = pld_epsilon(
                interval_events(epsilon, *self._kind, horizon=horizon, grid_bits=grid_bits), delta
            )
            if math.isfinite(epsilon_at_delta):
                return epsilon_at_delta
        return interval_guarantee(epsilon, *self._kind, delta=delta, horizon=horizon, grid_bits=grid_bits).epsilon
