"""Counts: which place of which block an assignment takes, and when nothing more can be released."""

import json
import math

from dpbandits.live.blocks import Schedule
from dpbandits.live.counts import Counts
from dpbandits.policies import Block

BLOCKS = [Block(1, 2, 1.0), Block(3, 5, 1.0), Block(6, 9, 1.0)]


def counts_of(arms: int = 2, horizon: float = math.inf) -> Counts:
    return Counts(arms, Schedule(lambda: iter(BLOCKS)), horizon)


def taken(counts: Counts, *arms: int) -> list[int]:
    """Give the next places of these arms to the next assignments, and return their blocks."""
    blocks = []
    for arm in arms:
        block = counts.free_block(arm)
        assert block is not None
        counts.assign(arm, is_decision=True)
        is_full = counts.fills(arm, block)
        counts.take(arm, block)
        assert is_full is (counts.filling[arm] > block)
        blocks.append(block)
    return blocks


def test_the_places_of_an_arm_fill_in_order() -> None:
    counts = counts_of()
    assert taken(counts, 0, 0, 0, 1, 0, 0, 0) == [0, 0, 1, 0, 1, 1, 2]
    assert [counts.is_waiting(arm) for arm in (0, 1)] == [True, False]  # for answers alone
    assert (counts.entered, counts.handed_out) == (7, [6, 1])
    taken(counts, 0, 0, 0)
    assert counts.free_block(0) is None  # its schedule has ended
    assert counts.free_block(1) == 0


def test_nothing_has_a_place_after_the_horizon() -> None:
    counts = counts_of(horizon=3)
    taken(counts, 0, 1, 0)
    assert [counts.free_block(arm) for arm in (0, 1)] == [None, None]
    assert not counts.exhausted  # the first block of arm 0 awaits its answers
    counts.released[0] += 1
    assert counts.exhausted  # that of arm 1 will never be full


def test_an_arm_waits_until_all_of_its_full_blocks_are_released() -> None:
    counts = counts_of()
    taken(counts, 0, 0, 0, 0, 0)
    for _ in range(2):
        assert counts.is_waiting(0)
        counts.released[0] += 1
    assert not counts.is_waiting(0)
    assert not counts.all_released
    taken(counts, 1, 1)
    counts.released[1] += 1
    assert counts.all_released


def test_what_was_kept_from_an_earlier_assignment_is_no_decision() -> None:
    counts = counts_of()
    numbers = [counts.assign(arm, is_decision) for arm, is_decision in ((0, True), (0, False), (1, True), (1, False))]
    assert numbers == [1, 2, 3, 4]
    assert (counts.assigned, counts.assigned_to) == (4, [2, 2])
    assert (counts.decisions, counts.decided) == (2, [1, 1])
    assert (counts.entered, counts.handed_out) == (0, [0, 0])  # none of them has taken a place


def test_a_clock_that_is_put_back_stands_still() -> None:
    counts = counts_of()
    assert counts.later(-7.0) == -7.0
    counts.now = 5.0
    assert [counts.later(time) for time in (4.0, 5.0, 6.0)] == [5.0, 5.0, 6.0]


def test_counts_come_back_from_json() -> None:
    counts = counts_of()
    taken(counts, 0, 0, 0, 1)
    counts.released[0] += 1
    counts.assign(1, is_decision=False)
    counts.now = 2.5
    text = json.dumps(counts.snapshot())
    snapshot = json.loads(text)
    again = counts_of()
    again.restore(snapshot)
    assert again.snapshot() == snapshot
    for each in (counts, again):
        assert taken(each, 0, 0, 0) == [1, 1, 2]
        assert each.is_waiting(0)
        assert (each.assigned, each.assigned_to, each.decisions, each.decided) == (8, [6, 2], 7, [6, 1])
    assert json.dumps(snapshot) == text  # they share nothing with what they came from
