"""Confidence intervals, all at 99%, and how they are written."""

import math
from typing import NamedTuple

import numpy as np

from dpbandits._statistics import binomial_high, binomial_low, mean_margin
from dpbandits.simulation import RegretSummary

CONFIDENCE = 0.99
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Interval(NamedTuple):
    """An estimate, and where the truth is with 99% confidence."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "not known"
        half = (self.high - self.low) / 2
        if not half > 1e-9 * abs(self.value):  # all runs alike, up to rounding
            return number(self.value)
        if not math.isfinite(half):
            return f"{number(self.value)} (no interval)"
        decimals = max(0, 1 - math.floor(math.log10(half)))
        return f"{self.value:,.{decimals}f} ± {half:,.{decimals}f}"


UNKNOWN = Interval(math.nan, -math.inf, math.inf)


def number(value: float) -> str:
    """Return a number as people write it: three to five digits.

    >>> [number(x) for x in (0.00396, 0.4467, 53.1, 2457.6, 14297.2, 4.1e9, 30)]
    ['0.00396', '0.4467', '53.1', '2,457.6', '14,297', '4.1×10⁹', '30']
    """
    size = abs(value)
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if size >= 1e7 or size < 1e-4:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}×10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    if size >= 1e4:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:,.1f}".removesuffix(".0")
    return f"{value:.4g}"


def mean_at(summary: RegretSummary, t: int | None = None) -> Interval:
    """Return the mean regret at t, or at the horizon, with Student's interval."""
    place = -1 if t is None else summary.at(t)
    mean, error = float(summary.mean[place]), float(summary.standard_error[place])
    half = mean_margin([error], [summary.runs], (1 + CONFIDENCE) / 2)
    return Interval(mean, mean - half, mean + half)


def median_at(summary: RegretSummary) -> Interval:
    """Return the median regret at the horizon, with an interval between two of the runs."""
    return Interval(float(summary.quantile(0.5)[-1]), *summary.quantile_interval(0.5, CONFIDENCE))


def difference(one: Interval, other: Interval) -> Interval:
    """Return the difference of two means, independent or moving together; for the latter it is too wide."""
    half = math.hypot(one.high - one.value, other.high - other.value)
    value = one.value - other.value
    return Interval(value, value - half, value + half)


def ratio(one: Interval, other: Interval) -> Interval:
    """Return a ratio of two positive quantities, each somewhere in its interval."""
    high = one.high / other.low if other.low > 0 else math.inf
    return Interval(one.value / other.value, max(one.low, 0.0) / other.high, high)


def share(found: int, among: int) -> Interval:
    """Return a probability by Clopper & Pearson."""
    tail = (1 - CONFIDENCE) / 2
    return Interval(found / among, binomial_low(found, among, tail), binomial_high(found, among, tail))


def range_within(summary: RegretSummary, width: float, runs: int) -> float:
    """Return the probability that so many runs differ by at most `width` at the horizon, if they are like those seen.

    The least of them is x_i and all are at most x_i + width: Pr[all in [x_i, x_i + width]] - Pr[all in (x_i, ...]].
    """
    values, counts = summary.final()
    below = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
    upto = below[np.searchsorted(values, values + width * (1 + 1e-12), side="right")]
    return float(np.sum((upto - below[:-1]) ** runs - (upto - below[1:]) ** runs))


def log_ratio(found: int, other: int, among: int) -> Interval:
    """Return the logarithm of a ratio of two probabilities, each from as many trials; both intervals must hold."""
    if not found or not other:
        return UNKNOWN
    tail = (1 - CONFIDENCE) / 4
    low = binomial_low(found, among, tail) / binomial_high(other, among, tail)
    high = binomial_high(found, among, tail) / binomial_low(other, among, tail)
    return Interval(math.log(found / other), math.log(low), math.log(high))
