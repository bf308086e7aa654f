"""Learner: a policy's state and releases, and the steps of a live bandit: hand out, answer, release, learn.

It checks nothing and locks nothing; whoever uses it does. What a step does follows from the choice that was made, the
reward, the time and the released values, so a record of these brings a learner back to exactly where it was.

What it keeps changes with releases alone, or is a count, or is the selection that is open; everything else is in its
book. Sums are kept there, exactly, and noise is added to them here. The policy's kernels get zeros in place of rewards:
whatever they do with their own sums, nothing but the releases that their blocks declare can get out.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from dpbandits.errors import InvalidInput, StepError
from dpbandits.live.blocks import entering_limit, schedule_of
from dpbandits.live.book import FORGOTTEN, Book, PastAssignment, Place
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.counts import Counts
from dpbandits.live.estimates import Estimator, Statistic
from dpbandits.live.live_noise import LiveNoise, ReleasedValue, Releaser, is_same_scale
from dpbandits.live.memory_book import MemoryBook
from dpbandits.live.policy_choice import checked_arm
from dpbandits.live.predrawn_noise import MOST
from dpbandits.live.ready_blocks import ReadyBlocks
from dpbandits.live.rehearsal import rehearse
from dpbandits.live.restoration import is_restoration
from dpbandits.live.schedule_cost import check_promise
from dpbandits.live.shares import neediest_arm
from dpbandits.live.units import Units, Visit
from dpbandits.mechanisms import SecureNoise
from dpbandits.mechanisms.state import restore, to_plain
from dpbandits.policies import update
from dpbandits.privacy import Ledger, Row
from dpbandits.privacy.ledger import check_following

_TAG_BYTES = 8  # in 100,000 experiments two are the same with a chance of 3e-10


class Answer(NamedTuple):
    """An answer as it enters: the number of its assignment, its reward on the grid, the hash of its key."""

    number: int
    reward: Any  # None if it enters nothing
    key: str | None


class Release(NamedTuple):
    """A block that was released, of which the policy learns when it is on disk."""

    arm: int
    block: int
    value: float
    steps: float  # the scale of its noise, on the grid


class Learner:
    """A policy's state, statistics, counts and ledger, over a book.

    Args:
        configuration: what was asked for.
        terms: what follows from it for privacy.
        source: the noise source.
        tolerance: how much more, relatively, blocks may cost than was promised on another machine.
        make_book: makes an empty book for a number of arms; the other argument tells whether releases are cumulative.
    """

    def __init__(
        self,
        configuration: Configuration,
        terms: Terms,
        source: SecureNoise,
        *,
        tolerance: float = 0.0,
        make_book: Callable[[int, bool], Book] = MemoryBook,
    ) -> None:
        arms = len(configuration.arms)
        limit = entering_limit(configuration.horizon, source)
        self.configuration = configuration
        self.is_sealed = configuration.timing == "sealed"  # released when due, and never because an answer came
        self.terms = terms
        setup = terms.policy.configure(arms, limit)
        self.params, self.state = setup.params, setup.allocate(source.secret_dtype)
        self.schedule = schedule_of(terms.policy, limit, source, configuration.scale_bits)
        first = self.schedule.block(0)
        if first is None or arms * first.last > limit:
            requirement = "longer" if first is None else f"at least {arms * first.last}"
            raise InvalidInput(
                f"Expected horizon={limit} to be {requirement}: at epsilon={terms.one_reward.epsilon:.3g} for one "
                "reward, every arm needs a longer first block before anything is learnt."
            )
        # What is wrong with the noise or with the policy is found before anybody is assigned anything.
        source.event(first.scale)
        check_promise(configuration, terms, self.schedule, tolerance)
        rehearse(terms.policy, self.schedule, arms, limit, configuration.scale_bits)
        self.source = source
        self.counts = Counts(arms, self.schedule, limit)
        self.book = make_book(arms, self.schedule.is_cumulative)
        self.units = Units(configuration.contributions)
        estimator = Estimator(self.schedule.beginning)
        self.statistics = [Statistic(estimator) for _ in range(arms)]
        self.steps: list[list[float]] = [[] for _ in range(arms)]  # the scales of every arm's releases, on the grid
        self.ledger = Ledger()
        self.ledger.append({**configuration.to_dict(), **terms.to_dict(configuration.file_format)})
        self.releaser = Releaser(source, self.ledger)
        self.noise = LiveNoise(configuration.scale_bits)
        self.is_restored = False  # from an earlier copy: then nothing is released any more
        self.tag = secrets.token_hex(_TAG_BYTES)  # in the ids of assignments: those of another bandit are known
        self.selection: int | None = None  # the number of the assignment that `select` made
        self._missing = source.on_grid(configuration.rewards.to_unit(None))

    # ---- handing out

    def assignment_again(self, visit: Visit, now: float | None = None) -> PastAssignment | None:
        """Return what somebody gets again, who asks again or of whom nothing new would enter; None if it is new.

        Whoever was forgotten gets the leader, as no assignment at all: its number is 0.
        """
        unit, key = visit
        latest = None if unit is None else self.book.person(unit)
        if latest == FORGOTTEN:
            return PastAssignment(0, self.leader())
        again = None if key is None else self.book.visit(visit)
        if again is not None or latest is None:
            return again
        return latest if self._is_settled(latest, now) else None

    def choice(self, unit: str | None, now: float | None = None) -> Place:
        """Return the place of the next assignment. Nothing changes."""
        if unit is None:
            return self._place_of(self._next_arm(), None, now)
        latest = self.book.person(unit)
        arm = latest.arm if latest is not None and self._keeps_arm(latest) else self._next_arm()
        return self._place_of(arm, latest, now)

    def place_of(self, arm: int, unit: str | None, now: float | None = None) -> Place | None:
        """Return the place of the next assignment, of this arm; None if the person can only get another one."""
        latest = None if unit is None else self.book.person(unit)
        is_other = latest is not None and self._keeps_arm(latest) and latest.arm != arm
        return None if is_other else self._place_of(arm, latest, now)

    def hand_out(self, place: Place, visit: Visit, now: float | None = None, is_selection: bool = False) -> int:
        """Make the assignment and return its number."""
        unit = visit.unit
        latest = None if unit is None else self.book.person(unit)
        enters = place.block is not None
        fills = place.block is not None and self.counts.fills(place.arm, place.block)
        self.book.add(self.counts.assigned + 1, place, visit, (0 if latest is None else latest.entered) + enters, fills)
        # Where an arm is kept nothing was decided: turns and t go on as if nobody had come.
        number = self.counts.assign(place.arm, is_decision=latest is None or not self._keeps_arm(latest))
        if place.block is not None:
            self.counts.take(place.arm, place.block)
        self.counts.now = now
        if is_selection:
            self.selection = number
        return number

    def leader(self) -> int:
        """Return the arm with the best released mean."""
        return max(range(len(self.statistics)), key=lambda arm: self.statistics[arm].mean)

    def may_enter(self, latest: PastAssignment | None) -> bool:
        """Tell whether one more reward of a person may enter."""
        return latest is None or latest.entered < self.configuration.contributions

    def has_selection(self, now: float | None) -> bool:
        """Tell whether the assignment that `select` made can still be answered."""
        place = None if self.selection is None else self.book.place(self.selection)
        return place is not None and not place.is_over(now)

    def _keeps_arm(self, latest: PastAssignment) -> bool:
        """Tell whether a person gets an arm because they had it before, and not by a choice."""
        return self.configuration.sticky or not self.may_enter(latest)

    def _is_settled(self, latest: PastAssignment, now: float | None) -> bool:
        """Tell whether a person keeps what they have: it can still be answered, or nothing more of them can enter."""
        if not self.configuration.repeats:
            return False
        if not self.may_enter(latest):
            return True
        if self.configuration.window is not None:
            place = self.book.place(latest.number)
            if place is not None and not place.is_over(now):
                return True
        arms = [latest.arm] if self._keeps_arm(latest) else range(len(self.statistics))
        return all(self.counts.free_block(arm) is None for arm in arms)

    def _place_of(self, arm: int, latest: PastAssignment | None, now: float | None) -> Place:
        block = self.counts.free_block(arm) if self.may_enter(latest) else None
        return Place(arm, block, None if now is None else now + (self.configuration.window or 0.0))

    def _next_arm(self) -> int:
        """Return an arm that has less than its share, else the policy's choice; while that awaits, the leader."""
        counts = self.counts
        if self.configuration.shares is not None:
            neediest = neediest_arm(self.configuration.shares, counts)
            if neediest is not None:
                return neediest
        if not counts.all_released:
            return self._arm_in_turn()
        arm = checked_arm(self.terms.policy, self.params, self.state, counts.decisions + 1, len(self.statistics))
        if counts.is_waiting(arm) or counts.free_block(arm) is None:
            return self.leader()
        return arm

    def _arm_in_turn(self) -> int:
        counts = self.counts
        if self.configuration.shares is None:
            return counts.decisions % len(counts.decided)
        # Shares take some turns away, and might always take those of one arm.
        return min(range(len(counts.decided)), key=lambda arm: counts.decided[arm])

    # ---- answering and releasing

    def ready_blocks(self) -> ReadyBlocks:
        """Return an empty list of blocks to be released."""
        return ReadyBlocks(self.counts, self.book)

    def answer(self, answers: Sequence[Answer], ready: ReadyBlocks) -> None:
        """Take in answers; with open timing, add blocks that have all their answers now to what can be released."""
        for number, reward, key in answers:
            place = self.book.answer(number, reward, key)
            if self.selection == number:
                self.selection = None
            if place.block is not None and not self.is_sealed:
                ready.add_complete(place.arm)

    def add_due(self, ready: ReadyBlocks, now: float | None) -> None:
        """Add to what can be released all that is due."""
        if now is None:
            return
        for arm, block in self.book.due(now):
            ready.add_due(arm, block)
            if not self.is_sealed:
                ready.add_complete(arm)  # which had to wait for this one

    def release(
        self, ready: ReadyBlocks, now: float | None, stored_values: Sequence[ReleasedValue] | None = None
    ) -> list[Release]:
        """Release blocks, in order. The policy learns of them when they are on disk (`learn`).

        `stored_values` holds the values if they were drawn before.
        """
        self.counts.now = now
        if not ready.blocks:
            return []
        if self.is_restored:
            raise StepError("An experiment that was restored from an earlier copy releases nothing any more.")
        releases = []
        for place, (arm, number) in enumerate(ready.blocks):
            block = self.schedule.block(number)
            assert block is not None
            taken = self.book.take_out(arm, number, self._missing)
            self.counts.released[arm] += 1
            context = {
                "release": number + 1,
                "count": block.last - block.first + 1,
                "first": taken.first,
                "last": taken.last,
            }
            stored_value = None if stored_values is None else stored_values[place]
            released = self.releaser.release(block, taken.total, arm, context, stored_value)
            assert released.steps is not None
            releases.append(Release(arm, number, released.value, released.steps))
        return releases

    def learn(self, releases: Sequence[Release]) -> None:
        """Hand to the policy what was released."""
        for release in releases:
            self._learn(release, self.counts.decisions)

    def catch_up(self, counts: dict[str, Any], made: Sequence[tuple[Row, int]] = ()) -> None:
        """Go on from where another process has brought the experiment. The book is the same, so it is there already.

        Noise that was drawn for these releases is dropped: `predraw_noise` for their arms, before anything may be
        released. Which selection is open is not told: `select` is for one process.

        Args:
            counts: their snapshot after the last step that was taken there.
            made: the releases that are not in the ledger yet, in order: the row of each, as it is stored, and how many
                decisions there were when it was made.

        Raises:
            InvalidInput: the releases are not the next ones of the schedule, or not those that are counted. Nothing has
                changed.
            LedgerError: the rows do not follow the ledger. Nothing has changed.
        """
        check_following([row for row, _ in made], self.ledger.head)
        releases = self._stored_releases([row for row, _ in made])
        released = list(map(len, self.steps))
        for release in releases:
            if release is not None:
                released[release.arm] += 1
        if counts["released"] != released:
            raise InvalidInput("Expected the releases that were made elsewhere to be those that are counted.")
        self.counts.restore(counts)
        for release, (row, decisions) in zip(releases, made, strict=True):
            self.ledger.append_stored(row)
            if release is None:
                self.is_restored = True
            else:
                self.releaser.predrawn.drop(release.arm)  # it was drawn for this one
                self._learn(release, decisions)

    def predraw_noise(self, arm: int) -> None:
        """Draw noise for the arm's next releases, before a step that may need it. Nothing visible changes."""
        filling, released = self.counts.filling[arm], self.counts.released[arm]
        # Every block that is full or being filled. The step that completes it finds its noise drawn.
        missing = filling + 1 - released - self.releaser.predrawn.count(arm)
        if missing > 0:
            begin = filling + 1 - missing
            blocks = [self.schedule.block(begin + number) for number in range(missing)]
            # As many as it has had releases, so seldom. A bad block that is still far away disturbs nobody.
            with suppress(InvalidInput):
                blocks.extend(map(self.schedule.block, range(begin + missing, begin + min(MOST, released))))
            self.releaser.predrawn.draw(arm, [block.scale for block in blocks if block is not None])

    def _learn(self, release: Release, decisions: int) -> None:
        arm = release.arm
        block = self.schedule.block(release.block)
        assert block is not None
        self.noise.allow(arm, block.scale, release.value)
        plays = block.last - self.schedule.count(release.block)
        update(self.params, self.state, arm, plays, 0, decisions + 1, self.noise)
        self.noise.check_taken()
        self._note(release)

    def _note(self, release: Release) -> None:
        self.statistics[release.arm].add(release.value)
        self.steps[release.arm].append(release.steps)

    def _stored_releases(self, rows: Sequence[Row]) -> list[Release | None]:
        """Return the releases of rows of the ledger, if they are the next ones of the schedule; None for a restoration.

        After that there are none.
        """
        numbers = list(map(len, self.steps))  # of every arm's next block
        releases: list[Release | None] = []
        for row in rows:
            content = row.content
            if is_restoration(content):
                releases.append(None)
                continue
            arm, steps = content["arm"], content["scale"]
            block = self.schedule.block(numbers[arm])
            is_next = block is not None and content["release"] == numbers[arm] + 1
            is_next &= not self.is_restored and None not in releases
            if block is None or not is_next or not is_same_scale(steps / 2**self.source.grid_bits, block.scale):
                raise InvalidInput(
                    f"Expected the ledger's releases to be those of the schedule, unlike one of arm {arm}."
                )
            releases.append(Release(arm, numbers[arm], content["value"], steps))
            numbers[arm] += 1
        return releases

    # ---- moving

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs besides the book and the rows of the ledger. No sum is in it."""
        return {
            "tag": self.tag,
            "key": self.units.key,
            "selection": self.selection,
            "counts": self.counts.snapshot(),
            "state": to_plain(self.state),
        }

    def restore(self, snapshot: dict[str, Any], rows: Sequence[Row]) -> None:
        """Put a snapshot into a fresh learner of the same configuration, and rows of a ledger as they are stored."""
        self.tag = snapshot["tag"]
        self.units.key = snapshot["key"]
        self.selection = snapshot["selection"]
        self.counts.restore(snapshot["counts"])
        restore(self.state, snapshot["state"])
        self.ledger = self.releaser.ledger = Ledger.from_rows(rows[:1])
        self.take_rows(rows[1:])

    def take_rows(self, rows: Sequence[Row]) -> None:
        """Take in further rows of the ledger as they are stored, of which the restored policy has learnt already."""
        check_following(rows, self.ledger.head)
        for row, release in zip(rows, self._stored_releases(rows), strict=True):
            self.ledger.append_stored(row)
            if release is None:
                self.is_restored = True
            else:
                self._note(release)
