"""DP-UCB-Int's release schedule and its privacy: Lemma B.1, Theorem 3.4, Corollaries 3.1 and 3.2.

The sum of an arm's rewards is released when its count n reaches W_1 < W_2 < ..., each time with fresh Laplace
noise of scale n^(v/2), so that a release costs n^(-v/2) (Lemma 3.1). The internal epsilon sets how dense the
W_k are, roughly one release per 1/epsilon pulls. Every bound here is for one arm: a reward enters one arm only.
The first reward is the worst placed, it is in every release.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.privacy.accountant import ZCDP, compose
from dpbandits.privacy.budget import Budget, Guarantee
from dpbandits.privacy.events import DiscreteLaplaceEvent, Event, LaplaceEvent
from dpbandits.privacy.renyi import zcdp_epsilon
from dpbandits.privacy.rounding import above, below

Series = Literal["y", "x", "constant"]
SERIES: tuple[Series, ...] = get_args(Series)
MAX_HORIZON = 1_000_000_000
MAX_RELEASES = 10_000_000
# Releases that are composed one by one, which takes some ten seconds (benchmarks/results.md). More are bounded
# by zCDP, which is looser: 0.364 instead of 0.311 for the 396 releases of a constant schedule with f = 252.
MAX_COMPOSED = 100_000
_LARGEST_BLOCK = 2**20
_LONGEST_STEP = 2**62
_MAX_IRREGULAR = 100_000
# Where the bound for an unlimited horizon changes from the exact sum to the tail of the zeta function.
_EXACT_UP_TO = 100_000


def interval_epsilon(budget: Budget, v: float = 1.1) -> float:
    """Return the internal epsilon of Corollary 3.2: valid at any horizon, far from tight.

    ε = (√((ln(1/δ') + 4ε') / 8ζ(v)) - √(ln(1/δ') / 8ζ(v)))², at most 1.

    Args:
        budget: what may be spent on one reward; its delta is above 0.
        v: the exponent of the noise, in (1, 1.5].

    >>> interval_epsilon(Budget(1.0, math.exp(-10)), v=1.1)
    0.0039643
    """
    v = _validated_v(v)
    delta = _validate.real("(0, 1)", delta=budget.delta)
    log_term, eight_zeta = -math.log(delta), 8 * _zeta(v)
    # √(a + b) - √a = b / (√(a + b) + √a), which does not cancel for small budgets.
    root = 4 * budget.epsilon / (math.sqrt(log_term + 4 * budget.epsilon) + math.sqrt(log_term))
    return min(1.0, below(root * root / eight_zeta, margins=4))


def release_times(epsilon: float, v: float = 1.1, series: Series = "y", *, horizon: float) -> NDArray[np.int64]:
    """Return the counts W_1 < W_2 < ... <= horizon at which the sum is released (Lemma B.1).

    With p = v for the y-series and p = v/2 for the x-series, W_{k+1} is the first w > W_k such that
    Σ_{i = W_k + 1..w} i^-p >= 1/(ε w^p). The constant series is every multiple of ⌈1/ε⌉.

    Args:
        epsilon: the internal epsilon: about one release per 1/epsilon plays.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
        horizon: up to which count.

    >>> release_times(0.00397, v=1.1, series="y", horizon=1000)
    array([ 46, 177, 354, 553, 765, 985])
    """
    horizon = _validate.integer(f"[1, {MAX_HORIZON}]", horizon=horizon)
    times, step = release_progression(epsilon, v, series, horizon=horizon)
    if horizon / step > MAX_RELEASES:
        raise InvalidInput(f"Expected horizon={horizon} to give at most {MAX_RELEASES} releases, one per {step} pulls.")
    rest = np.arange(times[-1] + step, horizon + 1, step, dtype=np.int64) if len(times) else times
    return np.concatenate([times, rest])


def release_progression(
    epsilon: float, v: float = 1.1, series: Series = "y", *, horizon: float
) -> tuple[NDArray[np.int64], int]:
    """Return the release times up to `horizon` in short: the irregular first ones, and the step in which they go on.

    Intervals never get shorter: W_{k+1} - W_k is the smallest l with Σ_{j = 1..l} ((W_k + l) / (W_k + j))^p >= 1/ε, and
    the left side falls as W_k grows. They never get longer than ⌈1/ε⌉ either (Lemma B.1). So from the first interval of
    that length on, all have it, and a schedule for ever needs a short table. A table of 10^5 entries, or one that
    reaches n = 10^9, ends there: steps of ⌈1/ε⌉ follow, which Lemma B.1 allows as well. (No time is listed if W_1 is
    after the horizon.)

    Args:
        epsilon: the internal epsilon: about one release per 1/epsilon plays.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
        horizon: up to which count; it may be infinite.

    >>> times, step = release_progression(0.007, v=1.1, series="y", horizon=10**15)
    >>> len(times), int(times[-1]), step
    (95, 13085, 143)
    """
    epsilon = _validate.real("(0, 1]", epsilon=epsilon)
    v = _validated_v(v)
    series = _validate.one_of(SERIES, series=series)
    horizon = _validate.horizon(horizon)
    longest = _longest_step(epsilon)
    if series == "constant":
        return np.array([longest] if longest <= horizon else [], dtype=np.int64), longest
    p = v if series == "y" else v / 2
    return np.array(_irregular_times(epsilon, p, int(min(horizon, MAX_HORIZON))), dtype=np.int64), longest


def release_sequence(epsilon: float, v: float = 1.1, series: Series = "y", *, horizon: int) -> Iterator[int]:
    """Return the release times up to `horizon` one by one, found as they are asked for: a long table takes seconds.

    >>> next(release_sequence(1e-6, v=1.1, series="y", horizon=10**15))
    47467
    """
    epsilon = _validate.real("(0, 1]", epsilon=epsilon)
    v = _validated_v(v)
    series = _validate.one_of(SERIES, series=series)
    horizon = _validate.integer("[1, inf)", horizon=horizon)
    longest = _longest_step(epsilon)
    if series == "constant":
        return iter(range(longest, horizon + 1, longest))
    return _continued(_irregular(epsilon, v if series == "y" else v / 2, min(horizon, MAX_HORIZON)), longest, horizon)


def _continued(times: Iterator[int], step: int, horizon: int) -> Iterator[int]:
    last = None
    for last in times:
        yield last
    if last is not None:
        yield from range(last + step, horizon + 1, step)


@lru_cache(maxsize=2)  # one schedule is asked for several times, and long ones take a second
def _irregular_times(epsilon: float, p: float, end: int) -> tuple[int, ...]:
    return tuple(_irregular(epsilon, p, end))


def _irregular(epsilon: float, p: float, end: int) -> Iterator[int]:
    # Σ_{i <= end} i^-p <= 1 + ∫_1^end x^-p dx. If even that is too little at the end, there is no release to find.
    at_most = 1 + math.expm1((1 - p) * math.log(end)) / (1 - p)
    if epsilon * at_most * (1 + 1e-6) < end**-p:
        return
    longest = _longest_step(epsilon)
    times: list[int] = []
    first, collected = 1, 0.0  # where the search goes on, and the sum collected since the last release
    block = int(min(longest, _LARGEST_BLOCK, end))
    while first <= end and len(times) < _MAX_IRREGULAR and (len(times) < 2 or times[-1] - times[-2] < longest):
        i = np.arange(first, min(first + block, end + 1), dtype=np.float64)
        powers = i**-p
        sums = collected + np.cumsum(powers)
        # The left side grows with w and the right side falls: the first success is found by counting failures.
        failures = int(np.count_nonzero(sums * epsilon < powers))
        if failures < len(i):
            times.append(first + failures)
            yield times[-1]
            first, collected = first + failures + 1, 0.0
        else:
            first, collected = first + len(i), float(sums[-1])


def _longest_step(epsilon: float) -> int:
    return math.ceil(min(1 / epsilon, _LONGEST_STEP))


def interval_events(
    epsilon: float, v: float = 1.1, series: Series = "y", *, horizon: float, grid_bits: int | None = None
) -> list[Event]:
    """Return the releases of one arm up to `horizon`, as sums: Laplace noise of scale n^(v/2) at n = W_k.

    Args:
        epsilon: the internal epsilon: about one release per 1/epsilon plays.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
        horizon: up to which count.
        grid_bits: that of the live noise source, whose noise is discrete. None means continuous noise.
    """
    return _events_at(release_times(epsilon, v, series, horizon=horizon), v, grid_bits)


def _events_at(times: NDArray[np.int64], v: float, grid_bits: int | None) -> list[Event]:
    scales = [float(n) ** (v / 2) for n in times]
    if grid_bits is None:
        return [LaplaceEvent(scale) for scale in scales]
    grid = 2 ** _validate.integer("[0, 30]", grid_bits=grid_bits)
    return [DiscreteLaplaceEvent(scale * grid, grid) for scale in scales]


def published_interval_guarantee(
    epsilon: float, v: float = 1.1, series: Series = "y", *, delta: float, horizon: float = math.inf
) -> Guarantee:
    """Return the bound of Corollary 3.1 at `horizon`: the smaller of its two branches that the series allows.

    C = ε (t^(1-v/2) - v/2)/(1 - v/2) is pure; it is proved for the x- and constant series only.
    D = 2 ε ζ(v) + √(2 ε ζ(v) ln(1/δ)) holds for all three, and at any horizon.

    Args:
        epsilon: the internal epsilon: about one release per 1/epsilon plays.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
        delta: that of branch D; with 0 there is branch C alone.
        horizon: up to which count; by default for ever.
    """
    epsilon = _validate.real("(0, 1]", epsilon=epsilon)
    v = _validated_v(v)
    series = _validate.one_of(SERIES, series=series)
    delta = _validate.real("[0, 1)", delta=delta)
    horizon = _validate.horizon(horizon)
    branches = []
    if delta > 0:
        spread = epsilon * _zeta(v)
        branches.append((above(2 * spread + math.sqrt(2 * spread * -math.log(delta))), delta, "Corollary 3.1 (D)"))
    if series != "y" and math.isfinite(horizon):
        bound = above(epsilon * (horizon ** (1 - v / 2) - v / 2) / (1 - v / 2))
        branches.append((bound, 0.0, "Corollary 3.1 (C)"))
    if not branches:
        raise InvalidInput(
            f"Expected delta={delta} in (0, 1): for the {series}-series at horizon {horizon} "
            "Corollary 3.1 has no pure bound."
        )
    bound, needed_delta, theorem = min(branches)
    return Guarantee(epsilon=bound, delta=needed_delta, horizon=horizon, theorem=theorem, proved=True)


def interval_guarantee(
    epsilon: float,
    v: float = 1.1,
    series: Series = "y",
    *,
    delta: float,
    horizon: float = math.inf,
    grid_bits: int | None = None,
) -> Guarantee:
    """Return the tightest guarantee known for the schedule, up to a declared horizon or for ever.

    A finite horizon is accounted release by release (`compose`). Without one, or with more than 10^5 releases, the
    squares of all losses add up to at most S (see `squared_loss_bound`), and pure releases with Σ ε² <= S are
    together S/2-zCDP.

    Args:
        epsilon: the internal epsilon: about one release per 1/epsilon plays.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
        delta: that of the guarantee; above 0 if there is no horizon.
        horizon: up to which count; by default for ever.
        grid_bits: that of the live noise source, whose noise is discrete. None means continuous noise.
    """
    horizon = _validate.horizon(horizon)
    too_long = horizon > MAX_HORIZON or horizon * epsilon > MAX_RELEASES
    if math.isinf(horizon) or (too_long and delta > 0):  # what holds for ever holds up to any horizon
        squares = squared_loss_bound(epsilon, v, series)
    else:
        times = release_times(epsilon, v, series, horizon=horizon)
        if len(times) <= MAX_COMPOSED or delta == 0:
            return compose(_events_at(times, v, grid_bits), delta, horizon)
        squares = float(np.sum(times.astype(np.float64) ** -v))
    delta = _validate.real("(0, 1)", delta=delta)
    bound = zcdp_epsilon(above(squares / 2), delta)
    return Guarantee(epsilon=bound, delta=delta, horizon=horizon, theorem=ZCDP, proved=True)


def squared_loss_bound(epsilon: float, v: float = 1.1, series: Series = "y") -> float:
    """Return a bound on Σ_k W_k^-v over the whole infinite schedule.

    The releases up to n = 10^5 are summed as they are. Beyond the last of them, W, Lemma B.1 gives (*)
    W_k^-v <= ε Σ_{W_{k-1} < i <= W_k} i^-v (for the x-series because i^(-v/2) >= W_k^(-v/2)), together at most
    ε ζ(v, W + 1). The constant series is exactly f^-v ζ(v).

    Args:
        epsilon: the internal epsilon: about one release per 1/epsilon plays.
        v: the exponent of the noise, in (1, 1.5].
        series: which intervals, Lemma B.1's "y" or "x", or "constant".
    """
    epsilon = _validate.real("(0, 1]", epsilon=epsilon)
    v = _validated_v(v)
    if _validate.one_of(SERIES, series=series) == "constant":
        return squared_loss_after(0, epsilon, v, series)
    times = release_times(epsilon, v, series, horizon=_EXACT_UP_TO)
    last = int(times[-1]) if len(times) else 0
    return above(float(np.sum(times.astype(np.float64) ** -v)) + _tail(last, epsilon, v))


def squared_loss_after(last: int, epsilon: float, v: float = 1.1, series: Series = "y") -> float:
    """Return a bound on Σ W_k^-v over all releases after the one at n = `last`, or over all of them if that is 0."""
    epsilon = _validate.real("(0, 1]", epsilon=epsilon)
    v = _validated_v(v)
    if _validate.one_of(SERIES, series=series) == "constant":
        step = _longest_step(epsilon)
        return above(step**-v * _zeta(v, last // step + 1))
    return above(_tail(last, epsilon, v))


def _tail(last: int, epsilon: float, v: float) -> float:
    # (*) holds for the W_k as computed, up to the rounding of their cumulative sums: far less than 1e-9.
    return epsilon * _zeta(v, last + 1) * (1 + 1e-9)


def _validated_v(v: float) -> float:
    return _validate.real("(1, 1.5]", v=v)


def _zeta(v: float, start: float = 1.0) -> float:
    """Return Σ_{i >= 0} (start + i)^-v: the Riemann zeta function for start = 1, the Hurwitz one otherwise."""
    from scipy.special import zeta

    return float(zeta(v, start))
