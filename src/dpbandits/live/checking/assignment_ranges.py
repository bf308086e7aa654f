"""Ranges of assignments: whether the assignment numbers of all blocks can be true at once.

A block says how many assignments it holds and which were its first and its last. An assignment is in one block. If the
blocks leave too little room for that, some assignment would be in two of them, and its reward in two sums.
"""

from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple


class AssignmentRange(NamedTuple):
    """The assignments of one block: its first and last number, and how many it holds."""

    first: int
    last: int
    holds: int


def fit_together(ranges: Sequence[AssignmentRange]) -> bool:
    """Tell whether all blocks can hold different assignments, with the numbers, firsts and lasts that they state.

    >>> fit_together([AssignmentRange(1, 3, 2), AssignmentRange(2, 4, 2)])
    True
    >>> fit_together([AssignmentRange(1, 4, 3), AssignmentRange(2, 5, 3)])
    False
    """
    ends = Counter(number for stretch in ranges for number in {stretch.first, stretch.last})
    if any(times > 1 for times in ends.values()):
        return False
    # What is left are gaps between the ends. Every block needs some numbers out of the gaps that it spans: filled
    # from left to right, each gap goes first to the block that ends first, which is the best that can be done.
    points = sorted(ends)
    by_first = {stretch.first: stretch for stretch in ranges}
    unfilled_blocks: list[list[int]] = []  # [last, how many are still needed], the block that ends first in front
    for point, following in pairwise([*points, points[-1] + 1] if points else []):
        if point in by_first:
            _, last, holds = by_first[point]
            if last > point and holds > 2:
                heappush(unfilled_blocks, [last, holds - 2])
        if unfilled_blocks and unfilled_blocks[0][0] <= point:
            return False  # it has ended and is not full
        room = following - point - 1
        while unfilled_blocks and room > 0:
            filled = min(room, unfilled_blocks[0][1])
            room -= filled
            unfilled_blocks[0][1] -= filled
            if unfilled_blocks[0][1] == 0:
                heappop(unfilled_blocks)
    return not unfilled_blocks
