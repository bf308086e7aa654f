"""Blocks: which place of which block an assignment takes, and when a block is complete.

An assignment is given its place when it is handed out, the next free one of its arm, and never moves: counts depend
on assignments, never on answers. A block is full when all its places are handed out, and complete when all of these
assignments are closed. The blocks of an arm fill in order and release in order; any number of them may be waiting.
"""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Block, Policy
from dpbandits.policies.policy import MAX_HORIZON
from dpbandits.privacy.rounding import bits_up


@dataclass
class PendingBlock:
    """A block that is being filled and answered. The sum is secret, in the units of the noise source."""

    first: int  # the numbers of its first and last assignment
    last: int
    unanswered: int
    total: Any = field(repr=False)


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


class Places:
    """The places of all arms. Everything but the sums is public."""

    def __init__(self, arms: int, schedule: Schedule, horizon: float) -> None:
        self.schedule = schedule
        self.horizon = horizon
        self.entered = 0  # assignments that have a place
        self.handed_out = [0] * arms  # places of every arm
        self.filling = [0] * arms  # the block of every arm that has the next free place
        self.released = [0] * arms  # blocks of every arm
        self.pending: dict[tuple[int, int], PendingBlock] = {}  # by arm and block
        # Of every arm, all that was released: the beginning of its next sum, where sums are of all rewards so far.
        self.released_sums: list[Any] = [0] * arms

    def free_block(self, arm: int) -> int | None:
        """Return the block with the arm's next free place; None at the horizon or the end of the schedule."""
        if self.entered >= self.horizon or self.schedule.block(self.filling[arm]) is None:
            return None
        return self.filling[arm]

    def is_waiting(self, arm: int) -> bool:
        """Tell whether the arm's next release awaits nothing but answers."""
        return self.filling[arm] > self.released[arm]

    def take(self, arm: int, number: int, assignment: int) -> None:
        """Give the next place of the arm, which is in this block, to the assignment."""
        pending_block = self.pending.setdefault((arm, number), PendingBlock(assignment, assignment, 0, 0))
        pending_block.last = assignment
        pending_block.unanswered += 1
        self.handed_out[arm] += 1
        self.entered += 1
        if self.handed_out[arm] == self.schedule.count(number + 1):
            self.filling[arm] += 1

    def answer(self, arm: int, number: int, reward: Any) -> None:
        """Add the reward of one assignment to its block."""
        pending_block = self.pending[arm, number]
        pending_block.total = pending_block.total + reward
        pending_block.unanswered -= 1

    def is_complete(self, arm: int) -> bool:
        """Tell whether the arm's next block to release is full and answered."""
        return self.is_waiting(arm) and self.pending[arm, self.released[arm]].unanswered == 0

    def finish_block(self, arm: int) -> tuple[Block, PendingBlock]:
        """Count the arm's next block as released and return it, with the sum that its release is of."""
        number = self.released[arm]
        block = self.schedule.block(number)
        assert block is not None
        pending_block = self.pending.pop((arm, number))
        if self.schedule.is_cumulative:
            pending_block.total = self.released_sums[arm] = self.released_sums[arm] + pending_block.total
        self.released[arm] += 1
        return block, pending_block

    @property
    def all_released(self) -> bool:
        """Whether every arm has had a release."""
        return all(self.released)

    @property
    def exhausted(self) -> bool:
        """Whether no release can come any more, whatever is played and answered."""
        return not any(self.is_waiting(arm) or self._can_fill(arm) for arm in range(len(self.released)))

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs, secrets included."""
        return {
            "entered": self.entered,
            "handed_out": self.handed_out,
            "filling": self.filling,
            "released": self.released,
            "flights": [
                [*key, pending_block.first, pending_block.last, pending_block.unanswered, int(pending_block.total)]
                for key, pending_block in self.pending.items()
            ],
            "landed": [int(total) for total in self.released_sums],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Put a snapshot into fresh places."""
        self.entered = snapshot["entered"]
        self.handed_out = list(snapshot["handed_out"])
        self.filling = list(snapshot["filling"])
        self.released = list(snapshot["released"])
        self.pending = {
            (arm, block): PendingBlock(*pending_block) for arm, block, *pending_block in snapshot["flights"]
        }
        self.released_sums = list(snapshot["landed"])

    def _can_fill(self, arm: int) -> bool:
        block = self.schedule.block(self.filling[arm])
        return block is not None and block.last - self.handed_out[arm] <= self.horizon - self.entered
