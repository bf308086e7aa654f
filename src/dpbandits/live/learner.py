"""Learner: the state of a live bandit and its two steps, handing out an assignment and closing it.

It checks nothing and locks nothing; `Bandit` does. What a step does to the state follows from the choice that was made,
the reward and the released values, so a journal of these brings a learner back to exactly where it was.

Sums are kept here, exactly, and noise is added to them. The policy's kernels get zeros in place of rewards: whatever
they do with their own sums, nothing but the releases that their blocks declare can get out.
"""

import copy
import secrets
from contextlib import suppress
from typing import Any, NamedTuple

from dpbandits.errors import InvalidInput
from dpbandits.live.blocks import Places, entering_limit, schedule_of
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.estimates import Estimator, Statistic
from dpbandits.live.live_noise import LiveNoise, ReleasedValue, Releaser, is_same_scale
from dpbandits.live.policy_choice import checked_arm
from dpbandits.live.predrawn_noise import MOST
from dpbandits.live.rehearsal import RehearsedNoise, rehearse
from dpbandits.live.schedule_cost import check_promise
from dpbandits.live.units import PastAssignment, Units, Visit, is_hash
from dpbandits.mechanisms import SecureNoise
from dpbandits.mechanisms.state import forget, restore, to_plain
from dpbandits.policies import update
from dpbandits.privacy import Ledger


class Choice(NamedTuple):
    """An arm, and the block in which its assignment has a place; None if it enters nothing."""

    arm: int
    block: int | None


class ClosingReleases(NamedTuple):
    """What one closing releases: blocks of an arm in a row, from number `first` on."""

    arm: int
    first: int
    draws: list[ReleasedValue]


class Learner:
    """A policy's state, the pending blocks, the open assignments, the releases."""

    def __init__(
        self, configuration: Configuration, terms: Terms, source: SecureNoise, *, tolerance: float = 0.0
    ) -> None:
        arms = len(configuration.arms)
        limit = entering_limit(configuration.horizon, source)
        self.terms = terms
        setup = terms.policy.configure(arms, limit)
        self.params, self.state = setup.params, setup.allocate(source.secret_dtype)
        self.schedule = schedule_of(terms.policy, limit, source, configuration.scale_bits)
        first = self.schedule.block(0)
        if first is None or arms * first.last > limit:
            requirement = "longer" if first is None else f"at least {arms * first.last}"
            raise InvalidInput(
                f"Expected horizon={limit} to be {requirement}: at {terms.one_reward.epsilon:.3g} for one reward, "
                "every arm needs a longer first block before anything is learnt."
            )
        # What is wrong with the noise or with the policy is found before anybody is assigned anything.
        source.event(first.scale)
        check_promise(configuration, terms, self.schedule, tolerance)
        rehearse(terms.policy, self.schedule, arms, limit, configuration.scale_bits)
        self.source = source
        self.places = Places(arms, self.schedule, limit)
        self.units = Units(configuration.contributions, sticky=configuration.sticky, repeats=configuration.repeats)
        estimator = Estimator(self.schedule.beginning)
        self.statistics = [Statistic(estimator) for _ in range(arms)]
        self.steps: list[list[float]] = [[] for _ in range(arms)]  # the scales of every arm's releases, on the grid
        self.ledger = Ledger()
        self.ledger.append({**configuration.to_dict(), **terms.to_dict(configuration.file_format)})
        self.releaser = Releaser(source, self.ledger)
        self.noise = LiveNoise(configuration.scale_bits)
        self.tag = secrets.token_hex(4)  # in the ids of assignments, so that those of another bandit are known
        self.awaited: dict[int, Choice] = {}  # open assignments by number
        self.keys: dict[int, str] = {}  # of closed ones, as hashes: a closing that comes again is known by its key
        self.visits: dict[str, PastAssignment] = {}  # by the hashes of their keys: so is one that is asked for again
        self.assigned = 0
        self.assigned_to = [0] * arms
        self.decisions = 0
        self.selection: int | None = None  # the number of the assignment that `select` made

    # ---- handing out

    def allows(self, choice: Choice, visit: Visit) -> bool:
        """Tell whether a choice that was made before can be made now, whatever the policy would choose."""
        unit, key = visit
        if not (key is None or (is_hash(key) and key not in self.visits)):
            return False
        if type(choice.arm) is not int or not (choice.block is None or type(choice.block) is int):
            return False
        if not (unit is None or is_hash(unit)):
            return False
        if not 0 <= choice.arm < len(self.statistics) or (unit is None and self.units.contributions > 1):
            return False
        if self.units.fixed_arm(unit) not in (None, choice.arm) or choice != self._choice_of(choice.arm, unit):
            return False
        return not self._is_settled(unit)

    def can_close(self, number: int, reward: Any, key: Any) -> bool:
        """Tell whether an assignment is open, and a reward, in the units of the noise source, can be its own."""
        if type(number) is not int or number not in self.awaited or not (key is None or is_hash(key)):
            return False
        if self.awaited[number].block is None:
            return reward is None
        return type(reward) is int and 0 <= reward <= 2**self.source.grid_bits

    def choice(self, unit: str | None) -> Choice:
        """Return what the next assignment will be. Nothing changes."""
        fixed_arm = self.units.fixed_arm(unit)
        return self._choice_of(self._next_arm() if fixed_arm is None else fixed_arm, unit)

    def assignment_again(self, visit: Visit) -> PastAssignment | None:
        """Return what somebody gets again, who asks again or of whom nothing new would enter; None if it is new."""
        if visit.key in self.visits:
            return self.visits[str(visit.key)]
        return self.units.latest[str(visit.unit)] if self._is_settled(visit.unit) else None

    def _is_settled(self, unit: str | None) -> bool:
        """Tell whether nothing more of a person can enter, now or ever, so that they keep what they have."""
        if not self.units.repeats or unit not in self.units.latest:
            return False
        if not self.units.may_enter(unit):
            return True
        fixed_arm = self.units.fixed_arm(unit)
        arms = range(len(self.statistics)) if fixed_arm is None else [fixed_arm]
        return all(self.places.free_block(arm) is None for arm in arms)

    def _choice_of(self, arm: int, unit: str | None) -> Choice:
        return Choice(arm, self.places.free_block(arm) if self.units.may_enter(unit) else None)

    def _next_arm(self) -> int:
        """Return the policy's choice; while that awaits answers, or nothing more can enter, the leader."""
        if not self.places.all_released:
            return self.decisions % len(self.statistics)  # in turn
        arm = checked_arm(self.terms.policy, self.params, self.state, self.decisions + 1, len(self.statistics))
        if self.places.is_waiting(arm) or self.places.free_block(arm) is None:
            return self.leader()
        return arm

    def hand_out(self, choice: Choice, visit: Visit, is_selection: bool) -> int:
        """Make the assignment and return its number."""
        unit, key = visit
        if self.units.fixed_arm(unit) is None:  # else nothing was decided: turns and t go on as if nobody had come
            self.decisions += 1
        self.assigned += 1
        self.assigned_to[choice.arm] += 1
        number = self.assigned
        if choice.block is not None:
            self.places.take(choice.arm, choice.block, number)
        self.units.note(unit, choice.arm, number, choice.block is not None)
        if key is not None:
            self.visits[key] = PastAssignment(0, choice.arm, number)
        self.awaited[number] = choice
        if is_selection:
            self.selection = number
        return number

    def leader(self) -> int:
        """Return the arm with the best released mean."""
        return max(range(len(self.statistics)), key=lambda arm: self.statistics[arm].mean)

    # ---- closing

    def predraw_noise(self, arm: int) -> None:
        """Draw noise for the arm's next releases, before a step that may need it. Nothing visible changes."""
        places = self.places
        # Every block that is full or being filled. The step that completes it finds its noise drawn.
        missing = places.filling[arm] + 1 - places.released[arm] - self.releaser.predrawn.count(arm)
        if missing > 0:
            begin = places.filling[arm] + 1 - missing
            blocks = [self.schedule.block(begin + number) for number in range(missing)]
            # As many as it has had releases, so seldom. A bad block that is still far away disturbs nobody.
            with suppress(InvalidInput):
                blocks.extend(map(self.schedule.block, range(begin + missing, begin + min(MOST, places.released[arm]))))
            self.releaser.predrawn.draw(arm, [block.scale for block in blocks if block is not None])

    def close(
        self, number: int, reward: Any, key: str | None, stored_values: list[ReleasedValue] | None = None
    ) -> ClosingReleases:
        """Take in a reward, in the units of the noise source, and return what is released now.

        `key` is remembered, as the hash that it is. `stored_values` holds the values if they were drawn before. The
        policy learns of them when they are on disk (`learn`).
        """
        arm, block = self.awaited.pop(number)
        if key is not None:
            self.keys[number] = key
        if self.selection == number:
            self.selection = None
        released = ClosingReleases(arm, self.places.released[arm], [])
        if block is not None:
            self.places.answer(arm, block, reward)
            while self.places.is_complete(arm):
                released.draws.append(
                    self._draw(arm, None if stored_values is None else stored_values[len(released.draws)])
                )
        return released

    def _draw(self, arm: int, stored_value: ReleasedValue | None) -> ReleasedValue:
        number = self.places.released[arm]
        block, pending_block = self.places.finish_block(arm)
        count = block.last - block.first + 1
        context = {"release": number + 1, "count": count, "first": pending_block.first, "last": pending_block.last}
        return self.releaser.release(block, pending_block.total, arm, context, stored_value)

    def learn(self, released: ClosingReleases) -> None:
        """Hand to the policy what was released."""
        arm = released.arm
        for number, released_value in enumerate(released.draws, start=released.first):
            block = self.schedule.block(number)
            assert block is not None
            assert released_value.steps is not None
            self.noise.allow(arm, block.scale, released_value.value)
            plays = block.last - self.schedule.count(number)
            update(self.params, self.state, arm, plays, 0, self.decisions + 1, self.noise)
            self.noise.check_taken()
            self.statistics[arm].add(released_value.value)
            self.steps[arm].append(released_value.steps)

    # ---- moving

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has happened yet."""
        fresh = Places(len(self.statistics), self.schedule, self.places.horizon).snapshot()
        is_unplayed = self.places.snapshot() == fresh and len(self.ledger) == 1 and not self.units.latest
        counts = self.assigned, self.decisions, self.assigned_to, self.selection
        is_empty = not self.awaited and not self.keys and not self.visits
        return is_unplayed and is_empty and counts == (0, 0, [0] * len(self.statistics), None)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs, secrets included."""
        return {
            "tag": self.tag,
            "key": self.units.key,
            "units": self.units.latest,
            "assigned": self.assigned,
            "decisions": self.decisions,
            "selection": self.selection,
            "assigned_to": self.assigned_to,
            "awaited": [[number, *choice] for number, choice in self.awaited.items()],
            "keys": list(self.keys.items()),
            "visits": self.visits,
            "state": to_plain(self.state),
            "places": self.places.snapshot(),
            "ledger": self.ledger.to_jsonl(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Put a snapshot into a fresh learner of the same configuration."""
        self.tag = snapshot["tag"]
        self.units.key = snapshot["key"]
        self.units.latest = {unit: PastAssignment(*past) for unit, past in snapshot["units"].items()}
        self.assigned = snapshot["assigned"]
        # Earlier versions kept only those that have a place.
        self.assigned_to = list(snapshot.get("assigned_to", snapshot["places"]["handed_out"]))
        self.keys = dict(snapshot.get("keys", []))
        self.visits = {key: PastAssignment(*past) for key, past in snapshot.get("visits", {}).items()}
        self.decisions = snapshot["decisions"]
        self.selection = snapshot["selection"]
        self.awaited = {number: Choice(arm, block) for number, arm, block in snapshot["awaited"]}
        restore(self.state, snapshot["state"])
        self.places.restore({"landed": [0] * len(self.statistics), **snapshot["places"]})
        if "landed" not in snapshot["places"]:
            self._take_over_sums()
        self.ledger = self.releaser.ledger = Ledger.from_jsonl(snapshot["ledger"])
        for row in self.ledger:
            if row.number > 0:
                self._take_over(row.content)

    def _take_over(self, row: dict[str, Any]) -> None:
        """Take in a release that was made before, if it is the next one of its arm in the schedule."""
        arm = row["arm"]
        block = self.schedule.block(len(self.steps[arm]))
        if block is None or not is_same_scale(row["scale"] / 2**self.source.grid_bits, block.scale):
            raise InvalidInput(f"Expected the ledger's releases to be those of the schedule, unlike one of arm {arm}.")
        self.statistics[arm].add(row["value"])
        self.steps[arm].append(row["scale"])

    def _take_over_sums(self) -> None:
        """Find the sums so far in the policy's state, where an earlier version kept them.

        They are what the kernel would release if nothing were added in the next block.
        """
        for arm, number in enumerate(self.places.released):
            block = self.schedule.block(number)
            if number and block is not None and self.schedule.is_cumulative:
                noise, state = RehearsedNoise(), copy.deepcopy(self.state)
                update(self.params, state, arm, block.last - self.schedule.count(number), 0, self.decisions + 1, noise)
                self.places.released_sums[arm] = int(noise.requests[0][0])
        forget(self.state)
