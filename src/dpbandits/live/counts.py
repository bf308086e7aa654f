"""Counts: how many assignments there were, and which places they have. All of it is public.

An assignment is given its place when it is handed out, the next free one of its arm, and never moves: counts depend
on assignments, never on answers. The blocks of an arm fill in order and release in order; any number of them may be
waiting. (docs/live_learner.md)
"""

from typing import Any

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.live.blocks import Schedule
from dpbandits.live.timing import is_reading


class Counts:
    """What a choice depends on besides releases.

    Args:
        arms: how many there are.
        schedule: the blocks of one arm.
        horizon: how many assignments enter.
    """

    def __init__(self, arms: int, schedule: Schedule, horizon: float) -> None:
        self.schedule = schedule
        self.horizon = horizon
        self.assigned = 0
        self.assigned_to = [0] * arms
        self.decisions = 0  # assignments of an arm that was chosen, and not kept from an earlier one
        self.decided = [0] * arms
        self.entered = 0  # assignments that have a place
        self.handed_out = [0] * arms  # places of every arm
        self.filling = [0] * arms  # the block of every arm that has the next free place
        self.released = [0] * arms  # blocks of every arm
        self.now: float | None = None  # the latest reading of the clock that a step has written down

    def free_block(self, arm: int) -> int | None:
        """Return the block with the arm's next free place; None at the horizon or the end of the schedule."""
        if self.entered >= self.horizon or self.schedule.block(self.filling[arm]) is None:
            return None
        return self.filling[arm]

    def is_waiting(self, arm: int) -> bool:
        """Tell whether the arm's next release awaits nothing but answers, or its time."""
        return self.filling[arm] > self.released[arm]

    def assign(self, arm: int, is_decision: bool) -> int:
        """Count an assignment and return its number."""
        self.assigned += 1
        self.assigned_to[arm] += 1
        if is_decision:
            self.decisions += 1
            self.decided[arm] += 1
        return self.assigned

    def fills(self, arm: int, block: int) -> bool:
        """Tell whether the next place of the arm, which is in this block, is the last one of the block."""
        return self.handed_out[arm] + 1 == self.schedule.count(block + 1)

    def take(self, arm: int, block: int) -> None:
        """Count the next place of the arm, which is in this block, as handed out."""
        self.filling[arm] += self.fills(arm, block)
        self.handed_out[arm] += 1
        self.entered += 1

    def later(self, time: float) -> float:
        """Return a reading of the clock; one that is earlier than the latest counts as that."""
        return time if self.now is None else max(self.now, time)

    @property
    def all_released(self) -> bool:
        """Whether every arm has had a release."""
        return all(self.released)

    @property
    def exhausted(self) -> bool:
        """Whether no release can come any more, whatever is played and answered."""
        return not any(self.is_waiting(arm) or self._can_fill(arm) for arm in range(len(self.released)))

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs."""
        return {
            "assigned": self.assigned,
            "assigned_to": list(self.assigned_to),
            "decisions": self.decisions,
            "decided": list(self.decided),
            "entered": self.entered,
            "handed_out": list(self.handed_out),
            "filling": list(self.filling),
            "released": list(self.released),
            "now": self.now,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Put a snapshot in place of these counts, all of it or nothing."""
        for name in _COUNTED:
            value, own = snapshot[name], getattr(self, name)
            if isinstance(own, list):
                is_right = isinstance(value, list) and len(value) == len(own) and all(map(_is_count, value))
            else:
                is_right = is_reading(value) or value is None if name == "now" else _is_count(value)
            if not is_right:
                raise InvalidInput(f"Expected {name}={value_text(value)} to be counts, as a bandit writes them.")
        for name in _COUNTED:
            value = snapshot[name]
            setattr(self, name, list(value) if isinstance(value, list) else value)

    def _can_fill(self, arm: int) -> bool:
        block = self.schedule.block(self.filling[arm])
        return block is not None and block.last - self.handed_out[arm] <= self.horizon - self.entered


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


_COUNTED = (
    "assigned",
    "assigned_to",
    "decisions",
    "decided",
    "entered",
    "handed_out",
    "filling",
    "released",
    "now",
)
