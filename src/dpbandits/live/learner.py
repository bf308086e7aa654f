"""Learner: the state of a live bandit and its two steps, handing out an assignment and closing it.

It checks nothing and locks nothing; `Bandit` does. What a step does to the state follows from the choice that was made,
the reward and the released values, so a journal of these brings a learner back to exactly where it was.
"""

import secrets
from typing import Any, NamedTuple

from dpbandits.errors import InvalidInput
from dpbandits.live.blocks import Places, entering_limit, schedule_of
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.estimates import Estimator, Statistic
from dpbandits.live.noise import LiveNoise
from dpbandits.live.units import Units
from dpbandits.mechanisms import SecureNoise
from dpbandits.mechanisms.state import allocate, restore, to_plain
from dpbandits.policies import select, update
from dpbandits.privacy import Ledger


class Choice(NamedTuple):
    """An arm, and the block in which its assignment has a place; None if it enters nothing."""

    arm: int
    block: int | None


class Learner:
    """A policy's state, the blocks in flight, the open assignments, the releases."""

    def __init__(self, configuration: Configuration, terms: Terms, source: SecureNoise) -> None:
        arms = len(configuration.arms)
        limit = entering_limit(configuration.horizon, source)
        self.terms = terms
        self.params, state_class, sizes = terms.policy.configure(arms, limit)
        self.state = allocate(state_class, sizes, source.secret_dtype)
        self.schedule = schedule_of(terms.policy, limit, source)
        first = self.schedule.block(0)
        if first is None or arms * first.last > limit:
            needed = "longer" if first is None else f"at least {arms * first.last}"
            raise InvalidInput(
                f"Expected horizon={limit} to be {needed}: at {terms.one_reward.epsilon:.3g} for one reward, every arm "
                "needs a longer first block before anything is learnt."
            )
        source.event(first.scale)  # what is wrong with the noise is found before anybody is assigned anything
        self.source = source
        self.places = Places(arms, self.schedule, limit)
        self.units = Units(configuration.contributions)
        estimator = Estimator(self.schedule)
        self.statistics = [Statistic(estimator) for _ in range(arms)]
        self.ledger = Ledger()
        self.ledger.append({**configuration.to_dict(), **terms.to_dict()})
        self.noise = LiveNoise(source, self.ledger)
        self.tag = secrets.token_hex(4)  # in the ids of assignments, so that those of another bandit are known
        self.awaited: dict[int, Choice] = {}  # open assignments by number
        self.assigned = 0
        self.decisions = 0
        self.selection: int | None = None  # the number of the assignment that `select` made

    # ---- handing out

    def allows(self, choice: Choice, unit: str | None) -> bool:
        """Tell whether a choice that was made before can be made now, whatever the policy would choose."""
        settled = self.units.settled_arm(unit)
        if settled is not None:
            return choice == (settled, None)
        return choice.arm < len(self.statistics) and choice.block == self.places.free_block(choice.arm)

    def choice(self, unit: str | None) -> Choice:
        """Return what the next assignment will be. Nothing changes."""
        settled = self.units.settled_arm(unit)
        if settled is not None:
            return Choice(settled, None)
        arm = self._next_arm()
        return Choice(arm, self.places.free_block(arm))

    def _next_arm(self) -> int:
        """Return the policy's choice; while that awaits answers, or nothing more can enter, the leader."""
        if not self.places.all_released:
            return self.decisions % len(self.statistics)  # in turn
        arm = int(select(self.params, self.state, self.decisions + 1))
        if self.places.is_waiting(arm) or self.places.free_block(arm) is None:
            return self.leader()
        return arm

    def hand_out(self, choice: Choice, unit: str | None, is_selection: bool) -> int:
        """Make the assignment and return its number."""
        if self.units.settled_arm(unit) is None:
            self.decisions += 1
        self.assigned += 1
        number = self.assigned
        if choice.block is not None:
            self.places.take(choice.arm, choice.block, number)
        self.units.note(unit, choice.arm, choice.block is not None)
        self.awaited[number] = choice
        if is_selection:
            self.selection = number
        return number

    def leader(self) -> int:
        """Return the arm with the best released mean."""
        return max(range(len(self.statistics)), key=lambda arm: self.statistics[arm].mean)

    # ---- closing

    def close(self, number: int, reward: Any, stored: list[float] | None = None) -> list[float]:
        """Take in a reward, in the units of the noise source, and return the values that are released now.

        `stored` holds these values if they were drawn before.
        """
        arm, block = self.awaited.pop(number)
        if self.selection == number:
            self.selection = None
        released: list[float] = []
        if block is not None:
            self.places.answer(arm, block, reward)
            while self.places.is_complete(arm):
                released.append(self._release(arm, None if stored is None else stored[len(released)]))
        return released

    def _release(self, arm: int, stored: float | None) -> float:
        number = self.places.released[arm]
        block, flight = self.places.land(arm)
        self.noise.due(
            arm,
            block.scale,
            {"release": number + 1, "count": block.last - block.first + 1, "first": flight.first, "last": flight.last},
            stored,
        )
        plays = block.last - self.schedule.count(number)
        update(self.params, self.state, arm, plays, flight.total, self.decisions + 1, self.noise)
        value = self.noise.taken()
        self.statistics[arm].add(value)
        return value

    # ---- moving

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs, secrets included."""
        return {
            "tag": self.tag,
            "key": self.units.key,
            "units": self.units.seen,
            "assigned": self.assigned,
            "decisions": self.decisions,
            "selection": self.selection,
            "awaited": [[number, *choice] for number, choice in self.awaited.items()],
            "state": to_plain(self.state),
            "places": self.places.snapshot(),
            "ledger": self.ledger.to_jsonl(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Put a snapshot into a fresh learner of the same configuration."""
        self.tag = snapshot["tag"]
        self.units.key = snapshot["key"]
        self.units.seen = {unit: (entered, arm) for unit, (entered, arm) in snapshot["units"].items()}
        self.assigned = snapshot["assigned"]
        self.decisions = snapshot["decisions"]
        self.selection = snapshot["selection"]
        self.awaited = {number: Choice(arm, block) for number, arm, block in snapshot["awaited"]}
        restore(self.state, snapshot["state"])
        self.places.restore(snapshot["places"])
        self.ledger = Ledger.from_jsonl(snapshot["ledger"])
        self.noise = LiveNoise(self.source, self.ledger)
        for row in self.ledger:
            if row.number > 0:
                self.statistics[row.content["arm"]].add(row.content["value"])
