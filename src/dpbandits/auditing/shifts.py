"""How noises move so that a reward changes and no release does: linear algebra where one noise is in several releases.

A release is a row, with the coefficients of its noises. A change is a column: by how much each release would grow.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits.mechanisms.linear import Factor, size

Noises = list[tuple[int, Factor]]  # of a release, with their coefficients
Change = Sequence[tuple[int, Factor]]  # of releases, by their numbers
_EXACT, _NONE = 1e-9, 1e-6  # residuals, of 1: what is solved, and what has no solution


def groups_of(noises: list[Noises]) -> list[list[int]]:
    """Return the releases in groups: releases that share a noise, directly or through others, are in one group."""
    groups = list(range(len(noises)))

    def root(row: int) -> int:
        while groups[row] != row:
            groups[row] = groups[groups[row]]
            row = groups[row]
        return row

    first: dict[int, int] = {}
    for row, row_noises in enumerate(noises):
        for noise, _ in row_noises:
            groups[root(row)] = root(first.setdefault(noise, row))
    members: defaultdict[int, list[int]] = defaultdict(list)
    for row in range(len(noises)):
        members[root(row)].append(row)
    return list(members.values())


def least_losses(rows: list[tuple[int, Noises]], scales: list[float], changes: Sequence[Change]) -> list[float]:
    """Return, for every change, the smallest Σ |shift| / scale of the noises that makes up for it; infinite if none."""
    noises = sorted({noise for _, row_noises in rows for noise, _ in row_noises})
    if not changes or not all(row_noises for _, row_noises in rows):
        return [math.inf] * len(changes)  # it left without any noise
    if len(noises) == 1:  # it must move as far in all of them
        ends = [
            {Fraction(dict(change).get(row, 0)) / row_noises[0][1] for row, row_noises in rows} for change in changes
        ]
        return [float(max(map(abs, end)) / Fraction(scales[noises[0]])) if len(end) == 1 else math.inf for end in ends]
    shifts = unique_shifts(rows, noises, changes)
    if shifts is not None:
        costs = np.array([1 / scales[noise] for noise in noises])
        return [float(costs @ np.abs(shift)) if np.isfinite(shift).all() else math.inf for shift in shifts]
    return [_least_loss(rows, noises, scales, change) for change in changes]


def unique_shifts(
    rows: list[tuple[int, Noises]], noises: list[int], changes: Sequence[Change]
) -> list[NDArray[np.float64]] | None:
    """Return the only shifts of the noises that make up for each change, infinite ones if none do.

    None if there may be several.
    """
    matrix, columns, units = _equations(rows, noises, changes)
    solution, _, rank, _ = np.linalg.lstsq(matrix, columns, rcond=None)
    residuals = np.abs(matrix @ solution - columns).max(axis=0)
    if rank < len(noises) or ((residuals > _EXACT) & (residuals <= _NONE)).any():
        return None
    return list(np.where(residuals > _NONE, math.inf, solution * units).T)


def _least_loss(rows: list[tuple[int, Noises]], noises: list[int], scales: list[float], change: Change) -> float:
    """Return the least of many ways, by a linear program."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    dense, columns, units = _equations(rows, noises, [change])
    matrix: Any = csr_array(dense)
    costs = np.tile([1 / scales[noise] for noise in noises], 2)
    both: Any = hstack([matrix, -matrix])
    solution = linprog(costs, A_eq=both, b_eq=columns[:, 0], method="highs")
    return float(units[0]) * float(solution["fun"]) if solution.success else math.inf


def _equations(
    rows: list[tuple[int, Noises]], noises: list[int], changes: Sequence[Change]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return matrix, columns and units; in units of the largest change, so that a small one is not lost."""
    place = {noise: column for column, noise in enumerate(noises)}
    sizes = {row: max(Fraction(size(factor)) for _, factor in row_noises) for row, row_noises in rows}
    matrix = np.zeros((len(rows), len(noises)))
    at = {row: number for number, (row, _) in enumerate(rows)}
    for row, row_noises in rows:
        for noise, factor in row_noises:
            matrix[at[row], place[noise]] = float(factor / sizes[row])
    units = np.array([float(max(abs(factor / sizes[row]) for row, factor in change)) for change in changes])
    columns = np.zeros((len(rows), len(changes)))
    for number, change in enumerate(changes):
        for row, factor in change:
            columns[at[row], number] = float(-factor / sizes[row]) / units[number]
    return matrix, columns, units
