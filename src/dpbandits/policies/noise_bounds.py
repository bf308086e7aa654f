"""How far a counter's sum may be from the truth: ν = size · (offset + slope · ln t), with failure probability t^-4.

DP-UCB-Bound adds ν/n to its index at every t. What depends on the counter is looked up when the counter moves
(`noise_size`), what depends on t when an index is computed (`error_line`): an index costs no logarithm of its own.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._kernel import generic, kernel
from dpbandits.mechanisms.bits import popcount
from dpbandits.mechanisms.counter import noise_class
from dpbandits.policies.counter_policy import CounterKind
from dpbandits.policies.exploration import Tables, root, tables
from dpbandits.privacy.rounding import MARGIN

_LN_2 = math.log(2.0)


@generic
def noise_size(bound: Any, counter: Any, state: Any, arm: int) -> tuple[int, float]:
    """Return the row of the latest sum of `arm` in the bound's table, and the factor `size`."""
    raise TypeError(f"{type(bound).__name__} is not a bound on the noise of a counter.")


@generic
def error_line(bound: Any, octave: int, row: int) -> tuple[float, float]:
    """Return (offset, slope) of a row while t is in the octave [2^o, 2^(o+1))."""
    raise TypeError(f"{type(bound).__name__} is not a bound on the noise of a counter.")


class PaperBound(NamedTuple):
    """ν of Algorithm 1 and Lemma B.2: √8/ε ln(4 t^4), times (log2 n + 1) unless n is a power of two."""

    tables: Tables
    slope: float  # 4 √8/ε


@noise_size.register(PaperBound)
@kernel
def _paper_size(bound: PaperBound, counter: Any, state: Any, arm: int) -> tuple[int, float]:
    n = state.counts[arm]
    spread = root(bound.tables, n)  # √(2 ln n)
    return 0, 1.0 if popcount(n) == 1 else 0.5 * spread * spread / _LN_2 + 1.0


@error_line.register(PaperBound)
@kernel
def _paper_line(bound: PaperBound, octave: int, row: int) -> tuple[float, float]:
    return bound.slope * (0.5 * _LN_2), bound.slope  # ln(4 t^4) = 4 (ln(4)/4 + ln t)


class ChernoffBound(NamedTuple):
    """The Chernoff bound for the noises that are really there, in tables by octave of t and class of noise.

    ν(t) = [Σ -ln(1 - h² b_i²) + ln(2 t^4)] / h holds for every fixed h; kept is the best h for the octave's middle.
    """

    width: int  # classes per level
    offsets: Any
    slopes: Any


@noise_size.register(ChernoffBound)
@kernel
def _chernoff_size(bound: ChernoffBound, counter: Any, state: Any, arm: int) -> tuple[int, float]:
    level, nodes = noise_class(counter, state, arm)
    return level * bound.width + nodes, 1.0


@error_line.register(ChernoffBound)
@kernel
def _chernoff_line(bound: ChernoffBound, octave: int, row: int) -> tuple[float, float]:
    tabulated = min(octave, len(bound.offsets) - 1)  # beyond the horizon the last h stays, as valid as any
    return bound.offsets[tabulated, row], bound.slopes[tabulated, row]


def paper_bound(epsilon: float, horizon: int) -> PaperBound:
    """Return the constants of the paper's bound."""
    return PaperBound(tables(horizon), 4.0 * math.sqrt(8.0) / epsilon)


def chernoff_lines(kind: CounterKind, params: Any, horizon: int) -> ChernoffBound:
    """Return the tables for every class of noise that a counter has up to `horizon`."""
    octaves, levels = (horizon + 1).bit_length(), len(params.tree_scales)
    by_level = [kind.noises(params, level) for level in range(levels)]
    width = max(counts.shape[1] for _, counts in by_level)
    offsets, slopes = np.zeros((2, octaves, levels, width))
    log_t = (np.arange(octaves) + 0.5) * math.log(2.0)
    for level, (scales, counts) in enumerate(by_level):
        h, exponent = _best_h(np.array(scales), counts, math.log(2.0) + 4.0 * log_t)
        nodes = counts.shape[1]
        offsets[:, level, :nodes] = (exponent + math.log(2.0)) / h * (1 + MARGIN)
        slopes[:, level, :nodes] = 4.0 / h
    return ChernoffBound(width, offsets.reshape(octaves, -1), slopes.reshape(octaves, -1))


def _best_h(scales: NDArray[Any], counts: NDArray[Any], log_terms: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the h that makes the bound smallest, and Σ -ln(1 - h² b_i²), for every log term and column of counts."""
    present = counts > 0
    usable = np.where(present, scales[:, None], 0.0)  # level 0 has no tree, whose scale is then no number
    largest = np.maximum(usable.max(axis=0), 1e-300)  # before the first item there is no noise at all
    ratios = (usable / largest)[:, None, :]  # scale, log term, class

    def exponents(x: NDArray[Any]) -> NDArray[Any]:  # h = x / b_max
        terms: NDArray[Any] = -np.einsum("sc,slc->lc", counts, np.log1p(-((x * ratios) ** 2)))
        return terms

    def bounds(x: NDArray[Any]) -> NDArray[Any]:
        smaller: NDArray[Any] = (exponents(x) + log_terms[:, None]) / x
        return smaller

    # Golden section: the bound falls, then rises with h.
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    low = np.full((len(log_terms), counts.shape[1]), 1e-6)
    high = np.full_like(low, 1 - 1e-12)
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        is_left = bounds(left) < bounds(right)
        low, high = np.where(is_left, low, left), np.where(is_left, right, high)
    x = (low + high) / 2
    return x / largest, exponents(x)
