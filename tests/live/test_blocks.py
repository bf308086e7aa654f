"""Blocks: a schedule that is made as far as it is needed."""

import math
from collections.abc import Iterator

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live.blocks import Schedule
from dpbandits.policies import Block

SINGLE = [Block(1, 2, 1.0), Block(3, 5, 1.0), Block(6, 9, 1.0)]
CUMULATIVE = [Block(1, 2, 1.0), Block(1, 5, 2.0), Block(1, 9, 3.0)]


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
