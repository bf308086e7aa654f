"""Blocks: the schedule of releases, the same for every arm.

A block is full when all its places are handed out, and complete when all of these assignments are answered.
"""

import math
import operator
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Any

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Block, Policy
from dpbandits.policies.policy import MAX_HORIZON
from dpbandits.privacy.rounding import bits_up


class Schedule:
    """The blocks of one arm, the same for all arms, made as far as they are needed.

    Args:
        blocks: makes an iterator over all of them.
    """

    def __init__(self, blocks: Callable[[], Iterator[Block]]) -> None:
        # What was promised takes this much: of single blocks, and of all squares 1/scale² where sums are of all blocks.
        self.least_scale = 0.0
        self.most_squares = math.inf
        self._blocks = blocks
        self._rest: Iterator[Block] | None = None
        # Σ 1/scale² of the blocks up to each one that was made, and what rounding has taken from it.
        self._squares: list[tuple[float, float]] = []
        self._blocks_so_far: list[Block] = []

    def block(self, number: int) -> Block | None:
        """Return block number 0, 1, ...; None after the end of the schedule."""
        while number >= len(self._blocks_so_far):
            try:
                if self._rest is None:
                    self._rest = islice(self._blocks(), len(self._blocks_so_far), None)
                self._blocks_so_far.append(self._validated_block(next(self._rest)))
            except StopIteration:
                return None
            except BaseException:
                self._rest = None  # an interrupted iterator has ended: begin again where the made ones end
                raise
        return self._blocks_so_far[number]

    def _validated_block(self, block: Block) -> Block:
        """Refuse blocks that do not follow each other, or that mix sums of all rewards with sums of single blocks."""
        number = len(self._blocks_so_far)
        last = self._blocks_so_far[-1].last if number else 0
        is_cumulative = number < 2 or self._blocks_so_far[-1].first == 1
        is_single = number < 2 or self._blocks_so_far[-1].first > 1
        follows = (block.first == 1 and is_cumulative) or (block.first == last + 1 and is_single)
        if not follows or block.last <= last or not block.scale > 0:
            raise InvalidInput(f"Expected block {number} of a policy to follow those before, not {block}.")
        if block.scale < self.least_scale:
            raise InvalidInput(
                f"Expected block {number} of a policy to have a scale of at least {self.least_scale}, as its guarantee "
                f"requires, not {block.scale}."
            )
        squares, rounding_error = self._squares[number - 1] if number else (0.0, 0.0)
        squares, more = _two_sum(squares, squared_loss(block))
        # Also if an interrupt came after this, and it is made again.
        self._squares[number:] = [(squares, rounding_error + more)]
        if self.most_squares < math.inf and not squares + rounding_error + more <= self.most_squares:
            raise InvalidInput(
                f"Expected block {number} of a policy to be within what its `squared_loss_after` leaves, not to have a "
                f"scale of {block.scale}."
            )
        return block

    @property
    def is_cumulative(self) -> bool:
        """Whether a release is the sum of all rewards of its arm so far, and not of one block alone."""
        second = self.block(1)
        return second is not None and second.first == 1

    def count(self, number: int) -> int:
        """Return how many rewards the first `number` blocks hold together; they exist."""
        block = self.block(number - 1) if number else None
        return block.last if block is not None else 0

    def beginning(self, number: int) -> list[Block]:
        """Return the first `number` blocks, or as many as there are."""
        self.block(number - 1)
        return self._blocks_so_far[:number]


def squared_loss(block: Block) -> float:
    """Return the square of what a release of the block costs; infinity if that is more than a number can hold."""
    loss = 1 / block.scale
    return loss * loss


def _two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b, and exactly what rounding has taken from it (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def entering_limit(horizon: float, source: SecureNoise) -> int:
    """Return how many assignments can enter: as declared, and no more than the sums of the noise source can hold."""
    return int(min(horizon, MAX_HORIZON, source.capacity))


def schedule_of(policy: Policy, limit: int, source: SecureNoise, scale_bits: int | None) -> Schedule:
    """Return the blocks of one arm of which at most `limit` assignments enter, as far as the noise source goes."""

    def blocks() -> Iterator[Block]:
        plain = (_plain_block(block, number, scale_bits) for number, block in enumerate(policy.blocks(limit)))
        return takewhile(lambda block: block.last <= limit and block.scale <= source.largest_scale, plain)

    return Schedule(blocks)


def _plain_block(block: Any, number: int, scale_bits: int | None) -> Block:
    """Return a block as it is written down: whole numbers, and a scale that all machines agree on."""
    try:
        first, last, scale = block
        return Block(operator.index(first), operator.index(last), live_scale(float(scale), scale_bits))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"Expected block {number} of a policy to be two whole numbers and a scale, not {value_text(block)}."
        ) from None


def live_scale(scale: float, scale_bits: int | None) -> float:
    """Return the scale that is used where a policy asks for this one; None if it is taken as it is.

    Machines differ in the last digit of a power. Rounded up to a few significant bits, they agree.
    """
    return scale if scale_bits is None else bits_up(scale, scale_bits)
