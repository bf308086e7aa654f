"""Blocks: a schedule that is made as far as it is needed, and which place of which block an assignment takes."""

import json
import math
from collections.abc import Iterator

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live.blocks import PendingBlock, Places, Schedule
from dpbandits.policies import Block

SINGLE = [Block(1, 2, 1.0), Block(3, 5, 1.0), Block(6, 9, 1.0)]
CUMULATIVE = [Block(1, 2, 1.0), Block(1, 5, 2.0), Block(1, 9, 3.0)]


def places_of(blocks: list[Block], arms: int = 2, horizon: float = math.inf) -> Places:
    return Places(arms, Schedule(lambda: iter(blocks)), horizon)


def taken(places: Places, *arms: int) -> list[int | None]:
    """Give the next places of these arms to the next assignments, and return their blocks."""
    blocks = []
    for arm in arms:
        blocks.append(places.free_block(arm))
        assert blocks[-1] is not None
        places.take(arm, blocks[-1], places.entered + 1)
    return blocks


# ---- schedules


def test_an_interrupted_schedule_goes_on_where_it_was() -> None:
    """An exception ends a generator for good; the schedule makes a new one."""
    trouble = iter([False, False, True, False, False])

    def blocks() -> Iterator[Block]:
        for block in Phases(epsilon=1.0).blocks(1000):
            if next(trouble, False):
                raise KeyboardInterrupt
            yield block

    schedule = Schedule(blocks)
    schedule.most_squares = 3.0
    assert schedule.block(1) == Block(9, 24, 1.0)
    with pytest.raises(KeyboardInterrupt):
        schedule.block(2)
    assert schedule.block(2) == Block(25, 56, 1.0)
    assert schedule.beginning(3) == list(Phases(epsilon=1.0).blocks(60))
    for _ in range(2):
        with pytest.raises(dpb.InvalidInput, match="to be within what its `squared_loss_after` leaves"):
            schedule.block(3)
    schedule.most_squares = 5.0  # neither was counted twice, nor is anything counted as if it had been
    assert [schedule.block(3), schedule.block(4)] == [Block(57, 120, 1.0), Block(121, 248, 1.0)]
    with pytest.raises(dpb.InvalidInput, match="to be within what its `squared_loss_after` leaves"):
        schedule.block(5)
    schedule.most_squares = math.inf
    assert schedule.block(100) is None


@pytest.mark.parametrize(
    "blocks",
    [
        [Block(2, 5, 1.0)],
        [Block(1, 5, 1.0), Block(7, 9, 1.0)],
        [Block(1, 5, 1.0), Block(1, 5, 1.0)],
        [Block(1, 5, 1.0), Block(6, 9, 1.0), Block(1, 12, 1.0)],
        [Block(1, 5, 1.0), Block(1, 9, 1.0), Block(10, 12, 1.0)],
        [Block(1, 5, 0.0)],
        [Block(1, 5, float("nan"))],
    ],
)
def test_blocks_that_do_not_fit_together_are_refused(blocks: list[Block]) -> None:
    with pytest.raises(dpb.InvalidInput, match="of a policy to follow those before, not"):
        Schedule(lambda: iter(blocks)).block(len(blocks) - 1)


def test_a_schedule_tells_what_its_releases_are_of() -> None:
    assert not Schedule(lambda: iter(SINGLE)).is_cumulative
    assert Schedule(lambda: iter(CUMULATIVE)).is_cumulative
    assert not Schedule(lambda: iter(SINGLE[:1])).is_cumulative  # of one block it is the same
    for blocks in (SINGLE, CUMULATIVE):
        schedule = Schedule(lambda blocks=blocks: iter(blocks))  # type: ignore[misc]
        assert [schedule.count(number) for number in range(4)] == [0, 2, 5, 9]


# ---- places


def test_the_places_of_an_arm_fill_in_order() -> None:
    places = places_of(SINGLE)
    assert taken(places, 0, 0, 0, 1, 0, 0, 0) == [0, 0, 1, 0, 1, 1, 2]
    assert [places.is_waiting(arm) for arm in (0, 1)] == [True, False]  # for answers alone
    assert (places.entered, places.handed_out) == (7, [6, 1])
    taken(places, 0, 0, 0)
    assert places.free_block(0) is None  # its schedule has ended
    assert places.free_block(1) == 0


def test_nothing_has_a_place_after_the_horizon() -> None:
    places = places_of(SINGLE, horizon=3)
    taken(places, 0, 1, 0)
    assert [places.free_block(arm) for arm in (0, 1)] == [None, None]
    assert not places.exhausted  # the first block of arm 0 awaits its answers
    places.answer(0, 0, 5)
    places.answer(0, 0, 6)
    places.finish_block(0)
    assert places.exhausted  # that of arm 1 will never be full


@pytest.mark.parametrize(("blocks", "totals"), [(SINGLE, [3, 28]), (CUMULATIVE, [3, 31])], ids=["single", "cumulative"])
def test_a_block_is_complete_when_all_of_it_and_all_before_it_are_answered(
    blocks: list[Block], totals: list[int]
) -> None:
    places = places_of(blocks)
    of_assignments = taken(places, 0, 0, 0, 0, 0)
    for number, reward in ((3, 4), (4, 8), (5, 16), (1, 1)):
        places.answer(0, of_assignments[number - 1] or 0, reward)
        assert not places.is_complete(0)
    places.answer(0, 0, 2)
    finished = []
    while places.is_complete(0):
        finished.append(places.finish_block(0))
    assert [block for block, _ in finished] == blocks[:2]
    assert [(pending.first, pending.last, pending.total) for _, pending in finished] == [
        (1, 2, totals[0]),
        (3, 5, totals[1]),
    ]
    assert not places.is_waiting(0)
    assert not places.all_released
    taken(places, 1, 1)
    for _ in range(2):
        places.answer(1, 0, 0)
    places.finish_block(1)
    assert places.all_released


def test_places_come_back_from_json() -> None:
    places = places_of(CUMULATIVE)
    taken(places, 0, 0, 0, 1)
    for reward in (1, 2):
        places.answer(0, 0, reward)
    places.finish_block(0)
    places.answer(0, 1, 4)
    snapshot = json.loads(json.dumps(places.snapshot()))
    again = places_of(CUMULATIVE)
    again.restore(snapshot)
    assert json.loads(json.dumps(again.snapshot())) == snapshot
    for each in (places, again):
        assert taken(each, 0, 0, 0) == [1, 1, 2]
        for _ in range(2):
            each.answer(0, 1, 8)
        assert each.finish_block(0)[1].total == 1 + 2 + 4 + 8 + 8


def test_a_sum_in_flight_is_not_printed() -> None:
    assert "271828" not in repr(PendingBlock(1, 2, 0, 271828))
