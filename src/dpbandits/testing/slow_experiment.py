"""SlowExperiment: what a live experiment does, written in the most obvious way: a list that is searched for everything.

It is the oracle of `check_book`. It knows the rules of docs/live_learner.md. With the learner that it is compared with
it shares what has no book in it: the schedule, the kernels of the policy, the formula of the estimates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbandits.live.blocks import entering_limit, schedule_of
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.estimates import Estimator, Statistic
from dpbandits.live.live_noise import LiveNoise
from dpbandits.policies import Block, select, update
from dpbandits.testing.given_noise import GivenNoise

AGAIN, LATE, CLOSED, TAKEN = "again", "late", "closed", "taken"  # what becomes of an answer


@dataclass
class Entry:
    """One assignment, with all that is known of it."""

    number: int
    arm: int
    block: int | None
    until: float | None
    unit: str | None
    visit_key: str | None
    is_decision: bool
    reward: int | None = None  # on the grid
    is_answered: bool = False
    answer_key: str | None = None


class SlowExperiment:
    """A live experiment.

    Args:
        configuration: what was asked for.
        terms: what follows from it.
        noise: the noise of every release.
    """

    def __init__(self, configuration: Configuration, terms: Terms, noise: GivenNoise) -> None:
        self.configuration = configuration
        self.noise = noise
        self.policy = terms.policy
        self.arms = range(len(configuration.arms))
        self.limit = entering_limit(configuration.horizon, noise)
        schedule = schedule_of(self.policy, self.limit, noise, configuration.scale_bits)
        self.blocks: list[Block] = schedule.beginning(self.limit if self.limit < 10_000 else 60)
        self.is_cumulative = schedule.is_cumulative
        setup = self.policy.configure(len(self.arms), self.limit)
        self.params, self.state = setup.params, setup.allocate(np.int64)
        estimator = Estimator(schedule.beginning)
        self.statistics = [Statistic(estimator) for _ in self.arms]
        self.entries: list[Entry] = []
        self.forgotten: set[str] = set()
        self.released: list[tuple[int, int]] = []  # arm and block
        self.rows: list[tuple[Any, ...]] = []  # arm, release, first, last, count, value

    # ---- steps

    def assign(self, unit: str | None, key: str | None, now: float | None) -> tuple[int, int, bool]:
        """Return the number, 0 for nobody's, and the arm of somebody's assignment, and whether it is new."""
        if unit in self.forgotten:
            return 0, self._leader(), False
        for entry in self.entries:
            if key is not None and (entry.unit, entry.visit_key) == (unit, key):
                return entry.number, entry.arm, False
        mine = [entry for entry in self.entries if unit is not None and entry.unit == unit]
        entered = sum(entry.block is not None for entry in mine)
        kept_arm = mine[-1].arm if mine and self.configuration.sticky else None
        if mine and (
            entered >= self.configuration.contributions
            or (mine[-1].until is not None and now is not None and now < mine[-1].until)
            or all(self._free_block(arm) is None for arm in (self.arms if kept_arm is None else [kept_arm]))
        ):
            return mine[-1].number, mine[-1].arm, False
        arm = self._chosen_arm() if kept_arm is None else kept_arm
        window = self.configuration.window
        until = None if window is None or now is None else now + window
        number = len(self.entries) + 1
        self.entries.append(Entry(number, arm, self._free_block(arm), until, unit, key, kept_arm is None))
        return number, arm, True

    def answer(self, answers: Sequence[tuple[int, int, str | None]], now: float | None) -> list[str]:
        """Take in answers (number, reward, key) in order, and release what is ready; return what becomes of each."""
        fates: list[str] = []
        ready: list[tuple[int, int]] = []
        for number, reward, key in answers:
            entry = self.entries[number - 1]
            fate = self._fate(entry, key, now)
            fates.append(fate)
            if fate != TAKEN:
                continue
            entry.reward, entry.is_answered, entry.answer_key = reward, True, key
            if self.configuration.timing == "open" and entry.block is not None:
                ready += self._complete(entry.arm, ready)
        if self.configuration.timing == "open":
            self._release(self._with_due(ready, now))
        return fates

    def release_due(self, now: float | None) -> None:
        """Release what is due."""
        self._release(self._with_due([], now))

    def forget(self, unit: str) -> None:
        """Forget somebody."""
        if any(entry.unit == unit for entry in self.entries):
            self.forgotten.add(unit)
        for entry in self.entries:
            if entry.unit == unit:
                entry.unit = entry.visit_key = None

    # ---- what can be seen

    def open_numbers(self, now: float | None) -> list[int]:
        """Return the assignments that can still be answered."""
        return [entry.number for entry in self.entries if not entry.is_answered and not self._is_over(entry, now)]

    def exhausted(self) -> bool:
        """Tell whether no release can come any more."""
        left = self.limit - sum(entry.block is not None for entry in self.entries)
        for arm in self.arms:
            block = self._released(arm)  # its next release
            if block < len(self.blocks) and self.blocks[block].last - len(self._entered(arm)) <= left:
                return False
        return True

    # ---- rules

    def _fate(self, entry: Entry, key: str | None, now: float | None) -> str:
        if key is not None and entry.answer_key == key:
            return AGAIN
        if self._is_over(entry, now):
            return LATE
        return CLOSED if entry.is_answered else TAKEN

    def _is_over(self, entry: Entry, now: float | None) -> bool:
        return entry.until is not None and now is not None and now >= entry.until

    def _entered(self, arm: int, block: int | None = None) -> list[Entry]:
        """Return the assignments of an arm, or of one of its blocks, that have a place."""
        return [
            entry
            for entry in self.entries
            if entry.arm == arm and entry.block is not None and block in (None, entry.block)
        ]

    def _released(self, arm: int) -> int:
        return sum(other == arm for other, _ in self.released)

    def _size(self, block: int) -> int:
        before = self.blocks[block - 1].last if block else 0
        return self.blocks[block].last - before

    def _free_block(self, arm: int) -> int | None:
        if sum(entry.block is not None for entry in self.entries) >= self.limit:
            return None
        taken = len(self._entered(arm))
        return next((number for number, block in enumerate(self.blocks) if block.last > taken), None)

    def _is_full(self, arm: int, block: int) -> bool:
        return block < len(self.blocks) and len(self._entered(arm, block)) == self._size(block)

    def _leader(self) -> int:
        means = [statistic.mean for statistic in self.statistics]
        return means.index(max(means))

    def _chosen_arm(self) -> int:
        decided = [sum(entry.is_decision and entry.arm == arm for entry in self.entries) for arm in self.arms]
        decisions = sum(decided)
        shares = self.configuration.shares
        if shares is not None:
            lacking = [share * decisions - decided[arm] for arm, share in enumerate(shares)]
            needy = [arm for arm in self.arms if lacking[arm] > 0 and self._free_block(arm) is not None]
            if needy:
                return min(needy, key=lambda arm: (-lacking[arm], arm))
        if not all(self._released(arm) for arm in self.arms):
            return decisions % len(self.arms) if shares is None else decided.index(min(decided))
        arm = int(select(self.params, self.state, decisions + 1))
        awaits = self._is_full(arm, self._released(arm))
        return self._leader() if awaits or self._free_block(arm) is None else arm

    def _complete(self, arm: int, ready: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the arm's blocks that have all their answers, and only such before them."""
        found = []
        block = self._released(arm) + sum(other == arm for other, _ in ready)
        while self._is_full(arm, block) and all(entry.is_answered for entry in self._entered(arm, block)):
            found.append((arm, block))
            block += 1
        return found

    def _with_due(self, ready: list[tuple[int, int]], now: float | None) -> list[tuple[int, int]]:
        """Return blocks that are ready, and after them those that are due, in the order in which they were filled."""
        ready = list(ready)
        full = [
            (self._entered(arm, block)[-1], arm, block)
            for arm in self.arms
            for block in range(len(self.blocks))
            if self._is_full(arm, block) and (arm, block) not in self.released
        ]
        for last, arm, block in sorted(full, key=lambda entry: entry[0].number):
            if self._is_over(last, now) and (arm, block) not in ready:
                ready.append((arm, block))
                if self.configuration.timing == "open":
                    ready += self._complete(arm, ready)
        return ready

    def _release(self, ready: list[tuple[int, int]]) -> None:
        """Release blocks: first all of them, then the policy learns."""
        made = []
        default = self.noise.encode(self.configuration.rewards.to_unit(None))
        for arm, block in ready:
            mine = self._entered(arm, block)
            summed = [entry for entry in self._entered(arm) if entry.block is not None and entry.block <= block]
            rewards = [default if entry.reward is None else entry.reward for entry in summed]
            total = sum(rewards if self.is_cumulative else rewards[-len(mine) :])
            value = self.noise.publish(total + self.noise.noise(arm, block, self.blocks[block].scale))
            count = self.blocks[block].last - self.blocks[block].first + 1
            self.rows.append((arm, block + 1, mine[0].number, mine[-1].number, count, value))
            self.released.append((arm, block))
            made.append((arm, block, value))
        decisions = sum(entry.is_decision for entry in self.entries)
        for arm, block, value in made:
            noise = LiveNoise(self.configuration.scale_bits)
            noise.allow(arm, self.blocks[block].scale, value)
            update(self.params, self.state, arm, self._size(block), 0, decisions + 1, noise)
            self.statistics[arm].add(value)
