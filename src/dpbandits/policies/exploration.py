"""The numbers that UCB indices are made of: √(2 ln t), 1/n and 1/√n, from tables as far as they reach.

A logarithm, a square root and a division cost more than the rest of a decision. Tables end at 2^17 entries, beyond
which the same formulas are evaluated: memory does not grow with the horizon, and both give the same bits.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpbandits._kernel import kernel

TABLE_END = 2**17


class Tables(NamedTuple):
    """Entry t of `roots` is √(2 ln t), entry n of the others 1/n and 1/√n."""

    roots: Any
    inverses: Any
    inverse_roots: Any


@lru_cache(maxsize=8)
def tables(horizon: int) -> Tables:
    """Return tables for decisions up to `horizon`, or as far as tables go. They are shared: nobody writes to them."""
    end = min(horizon + 2, TABLE_END)  # an update may ask for the decision after the last
    n = np.arange(1, end, dtype=np.float64)
    logs = np.array([math.log(t) for t in range(1, end)])  # NumPy's logarithm may differ in the last bit
    all_tables = Tables(
        *(np.concatenate([[0.0], values]) for values in (np.sqrt(2.0 * logs), 1.0 / n, 1.0 / np.sqrt(n)))
    )
    for table in all_tables:
        table.flags.writeable = False
    return all_tables


@kernel
def root(tables: Tables, t: int) -> float:
    """Return √(2 ln t) for t >= 1."""
    if t < len(tables.roots):
        return tables.roots[t]
    return math.sqrt(2.0 * math.log(t))


@kernel
def inverse(tables: Tables, n: int) -> float:
    """Return 1/n for n >= 1."""
    if n < len(tables.inverses):
        return tables.inverses[n]
    return 1.0 / n


@kernel
def inverse_root(tables: Tables, n: int) -> float:
    """Return 1/√n for n >= 1."""
    if n < len(tables.inverse_roots):
        return tables.inverse_roots[n]
    return 1.0 / math.sqrt(n)
