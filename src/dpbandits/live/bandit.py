"""Bandit: a policy at work, for people, with secure noise.

    assign -> place in a block -> close with a reward -> block complete -> release -> select

Every choice is a function of releases, counts of assignments and the order of arrival (docs/live_learner.md).
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from dpbandits import _validate
from dpbandits._frames import clean
from dpbandits._phrases import count_text
from dpbandits.errors import InvalidInput, JournalError
from dpbandits.live import persistence
from dpbandits.live.assignments import Assignment
from dpbandits.live.book import FORGOTTEN
from dpbandits.live.closings import Closing, PassedAnswer, check_open, checked_closings
from dpbandits.live.configuration import Terms, requested_configuration
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.experiment_view import ExperimentView
from dpbandits.live.journal import Journal, journal_at
from dpbandits.live.learner import Learner
from dpbandits.live.live_noise import live_source
from dpbandits.live.logged_steps import LoggedSteps
from dpbandits.live.reward_scale import OutOfBounds
from dpbandits.live.rollback_witness import Witness, ask_witness, validated_witness
from dpbandits.live.step_lock import StepLock
from dpbandits.live.timing import Clock, Timing, validated_clock
from dpbandits.live.units import Visit
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy
from dpbandits.policies.labels import label
from dpbandits.privacy import Guarantee, Ledger


class Bandit(ExperimentView):
    """A live learner: it assigns arms, takes in rewards, and reveals no more of a reward than its guarantee says.

    Args:
        policy: what chooses; one whose releases are fixed in advance. Its budget is that of one person.
        arms: the names of the arms, or how many there are.
        horizon: how many assignments enter at most, after which nothing more is released; by default what the policy
            was declared for, or any number.
        reward_bounds: the least and the largest reward.
        out_of_bounds: "refuse" rewards outside the bounds, or "clip" them.
        default_reward: what counts for an answer that never comes; by default the lower bound.
        contributions: how many rewards of one person enter at most. Afterwards they get their latest assignment again.
        sticky: whether a person who comes again gets the arm of their first assignment, and not a fresh choice. By
            default True, or what the journal says. The guarantee is the same.
        accept_delta: allow a delta above 1/(10 horizon).
        window: for how many seconds after its assignment a reward is accepted; None for ever. An assignment without an
            answer then counts as the default reward.
        timing: when a block of rewards is released, "open" when its last answer comes and at the latest when its
            window is over, or "sealed" when that is over and never because an answer came.
        shares: for some arms the least share of all decisions that they get while their rewards enter, such as
            {"control": 0.1}.
        clock: returns the time in seconds, by default that of the machine. It is asked only where there is a window.
        noise: SecureNoise() by default, or with another grid; nothing that takes a seed.
        journal: a file that keeps every step; if it exists already, the bandit goes on where it was.
        mark: where the journal's high-water mark lies, best on another disk; by default beside the journal.
        witness: is asked before a release is shown whether it knows a later one (docs/live_learner.md).

    Raises:
        InvalidInput: a setting is outside its range, or the policy cannot run live or does not keep its promise.
        JournalError: the journal is damaged, an old copy, in use or that of another bandit, or the witness refuses.
            The file is as it was.

    >>> import dpbandits as dpb
    >>> bandit = Bandit(dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=1000), arms=["A", "B"])
    >>> first = bandit.assign(unit="person 1")
    >>> second = bandit.assign(unit="person 2")
    >>> first.arm, second.arm
    ('A', 'B')
    >>> bandit.close(second, reward=1.0)  # in any order
    >>> bandit.close(first)  # no answer came: the default reward
    >>> print(bandit.guarantee)
    (0.999242, 0)-DP in one reward up to n = 1000, by basic composition
    """

    def __init__(
        self,
        policy: Policy,
        arms: int | Sequence[str | int],
        *,
        horizon: int | None = None,
        reward_bounds: tuple[float, float] = (0.0, 1.0),
        out_of_bounds: OutOfBounds = "refuse",
        default_reward: float | None = None,
        contributions: int = 1,
        sticky: bool | None = None,
        accept_delta: bool = False,
        window: float | None = None,
        timing: Timing = "open",
        shares: Mapping[str | int, float] | None = None,
        clock: Clock | None = None,
        noise: SecureNoise | None = None,
        journal: str | os.PathLike[str] | None = None,
        mark: str | os.PathLike[str] | None = None,
        witness: Witness | None = None,
    ) -> None:
        _validate.check_kind(Policy, "a policy, such as recommended(epsilon=1)", policy=policy)
        source = live_source(noise)
        configuration = requested_configuration(
            policy,
            arms,
            horizon=horizon,
            reward_bounds=reward_bounds,
            out_of_bounds=out_of_bounds,
            default_reward=default_reward,
            contributions=contributions,
            sticky=True if sticky is None else sticky,
            accept_delta=accept_delta,
            window=window,
            timing=timing,
            shares=shares,
            grid_bits=source.grid_bits,
        )
        clock = validated_clock(clock, configuration.window)
        witness = validated_witness(witness)
        opened_journal = journal_at(journal, mark)
        try:
            learner = None
            if opened_journal is not None:
                learner = persistence.resumed_learner(
                    opened_journal, configuration, source, sticky_as_begun=sticky is None
                )
            if learner is None:
                learner = Learner(configuration, Terms.computed(configuration), source)
            else:
                persistence.check_what_was_read(learner, opened_journal)
            if opened_journal is not None:
                persistence.force(opened_journal)  # the witness is told nothing that the disk could still lose
            ask_witness(witness, learner.ledger.head)
            if opened_journal is not None:
                persistence.begin_or_go_on(opened_journal, learner)
            self._start(learner, witness, clock, opened_journal)
        except BaseException:
            if opened_journal is not None:
                opened_journal.close()
            raise

    def _start(
        self, learner: Learner, witness: Witness | None, clock: Clock | None, journal: Journal | None = None
    ) -> None:
        self._configuration = learner.configuration
        self._learner = learner
        self._journal = journal
        # Nothing here refers to the bandit itself: one that nobody holds any more lets go of its journal at once.
        self._lock = StepLock(_nothing if journal is None else journal.close)
        self._steps = LoggedSteps(learner, journal, witness, clock, self._lock)
        self._prepare()

    @clean
    def _prepare(self) -> None:
        """Draw the noise of a bandit that goes on, so that no step draws what it releases; shorten its journal."""
        self._steps.shorten_journal()
        for arm in self._learner.book.awaited_arms():
            self._learner.predraw_noise(arm)

    # ---- deciding and learning

    @clean
    def assign(self, unit: str | int | None = None, key: str | None = None) -> Assignment:
        """Return an arm for a person. Any number of assignments may be open at once.

        A person with a name enters at most `contributions` times. Then, or when nothing more can enter, they get their
        latest assignment again: the same one, whether it is still open or not. They also do while its window runs, if
        there is one. So where one reward of a person enters, which is the default, to ask twice does no harm. Otherwise
        a `key` tells a visit from one that is asked for again: for the same person with the key of an assignment it is
        that one. Blocks that are due are released first.

        Args:
            unit: the name of the person; None for somebody without a name.
            key: the name of the visit, if it may be asked for again.

        Raises:
            InvalidInput: the name or the key cannot be one, or a name is needed. Nothing has changed.
            JournalError: the step could not be written down; open the journal again.
            StepError: an earlier step failed, or the bandit has ended.
        """
        with self._lock.exclusive():
            return self._assigned(self._step().units.hashed_visits([(unit, key)]))[0]

    @clean
    def assign_many(
        self, units: Iterable[str | int | None], keys: Iterable[str | None] | None = None
    ) -> list[Assignment]:
        """Return an arm for every one of these people, in order, as `assign` would one after the other.

        All of them are checked before any is assigned, and on disk they are one record. It raises what `assign` does.

        Args:
            units: the names of the people, None for those without a name.
            keys: the name of the visit for each of them, as in `assign`; by default none has one.
        """
        unit_list = _validate.as_list(units=units)
        key_list = [None] * len(unit_list) if keys is None else _validate.as_list(keys=keys)
        if len(key_list) != len(unit_list):
            raise InvalidInput(f"Expected as many keys as units, not {len(key_list)} for {len(unit_list)}.")
        with self._lock.exclusive():
            return self._assigned(self._step().units.hashed_visits(list(zip(unit_list, key_list, strict=True))))

    @clean
    def close(self, assignment: Assignment | str, reward: float | None = None, key: str | None = None) -> None:
        """Take in the reward of an assignment; None if no answer came, which counts as the default reward.

        Every assignment is closed once: the last one of a block makes it release, unless timing is sealed. Whoever may
        have to ask again, since no acknowledgement came, passes a `key` of their own making, such as a random one per
        answer: a repetition with the same key is acknowledged and changes nothing.

        Args:
            assignment: the assignment, or its id.
            reward: within the bounds of the rewards.
            key: the name of the answer, if it may be passed again. Let it name nobody: `forget` leaves it.

        Raises:
            AlreadyClosed: the assignment was closed before, without this key.
            WindowClosed: its window is over, whether it was closed before or not, and it is no repetition.
            InvalidInput: the reward is outside its bounds, or the assignment is none of this bandit's. Nothing has
                changed.
            JournalError: the step could not be written down; open the journal again.
            StepError: this step or an earlier one failed, or the bandit has ended.
        """
        with self._lock.exclusive():
            self._close_passed([(assignment, reward, key)])

    @clean
    def close_many(self, answers: Iterable[PassedAnswer]) -> None:
        """Take in many rewards: pairs of an assignment and its reward, or triples with a key, as in `close`.

        All of them are checked before any is taken in, and on disk they are one record, with all that they release.
        It raises what `close` does.
        """
        items = _validate.as_list(answers=answers)
        with self._lock.exclusive():
            self._close_passed(items)

    @clean
    def select(self) -> str | int:
        """Return the arm to play now.

        The answer stays the same until `update` brings its reward, or its window is over.
        """
        with self._lock.exclusive():
            learner, now = self._step(), self._steps.now()
            self._check_selects()
            if not learner.has_selection(now):
                if learner.units.contributions > 1:
                    raise InvalidInput(
                        f"Expected contributions={learner.units.contributions} to be 1 for select, "
                        "which knows no names: use assign(unit=...)."
                    )
                return self._assigned([Visit(None, None)], is_selection=True)[0].arm
            return self.arms[self._selected_arm()]

    @clean
    def update(self, arm: str | int, reward: float | None = None) -> None:
        """Take in the reward of the arm that `select` returned."""
        with self._lock.exclusive():
            learner, now = self._step(), self._steps.now()
            self._check_selects()
            number = learner.selection
            played_arm = self._configuration.arm_number(arm)
            if number is None:
                raise InvalidInput(f"Expected arm={arm!r} to be selected before its update: no selection is open.")
            check_open(number, learner, now, name="the selection")
            selected_arm = self._selected_arm()
            if played_arm != selected_arm:
                raise InvalidInput(f"Expected arm={arm!r} to be {self.arms[selected_arm]!r}, which was selected.")
            self._steps.close([Closing(number, self._configuration.rewards.to_unit(reward), None)], now)

    def _check_selects(self) -> None:
        if self._learner.is_sealed:
            raise InvalidInput(
                "Expected timing='sealed' to be 'open' for select and update, which play one at a time: where it is "
                "sealed, nothing is released before a window is over. Use assign and close."
            )

    def _selected_arm(self) -> int:
        place = self._learner.book.place(self._learner.selection or 0)
        assert place is not None
        return place.arm

    @clean
    def release_due(self) -> int:
        """Release the blocks whose windows are over, and return how many they were; without a window there are none.

        `assign` does so first. Call it now and then where nobody may come for long.
        """
        with self._lock.exclusive():
            self._step()
            return self._steps.release_due(self._steps.now(warns=True))

    @clean
    def forget(self, unit: str | int) -> bool:
        """Cut the link between a person and their assignments.

        Only the keyed hash of their name stays, so that they do not enter a second time: from now on they get the
        leading arm, and nothing is kept of that. An assignment that is open can still be closed. From a journal the
        link is gone when a snapshot has been written: usually a part now, which is all of it in a small experiment, and
        one at every further step. `detach` writes what is left.

        Args:
            unit: the name of the person, as it was passed to `assign`.

        Returns:
            Whether somebody is known by this name, even if they were forgotten before. A name that is not known is not
            kept out.
        """
        with self._lock.exclusive():
            learner = self._step()
            person = learner.units.hashed_unit(unit)
            if person is None:
                raise InvalidInput("Expected unit=None to be the name of a person.")
            found = learner.book.person(person)
            if found not in (None, FORGOTTEN):
                self._steps.forget(person)
            return found is not None

    # ---- what is known

    @property
    def guarantee(self) -> Guarantee:
        """What is proved for the whole sequence of choices and releases, fixed before the first of them."""
        return self._learner.terms.person

    @property
    def ledger(self) -> Ledger:
        """A copy of the ledger: row 0 is the configuration, then one row per release."""
        with self._lock.exclusive():
            return self._read().ledger.copy()

    @property
    def exhausted(self) -> bool:
        """Whether there will be no more releases. Assignments go on from what was released, which costs nothing."""
        with self._lock.exclusive():
            return self._read().counts.exhausted

    def open_assignments(self) -> list[Assignment]:
        """Return the assignments that await their reward, oldest first.

        They tell who has answered: with sealed timing they are for the owner of the rewards alone.
        """
        with self._lock.exclusive():
            book, now = self._read().book, self._steps.now()
            places = {number: book.place(number) for number in book.open_numbers(now)}
            return [self._steps.assignment(number, place.arm) for number, place in places.items() if place is not None]

    def _overview(self) -> Overview:
        with self._lock.exclusive():
            return Overview.of(self._read())

    def _own_files(self) -> tuple[Path, ...]:
        return () if self._journal is None else self._journal.places

    # ---- moving and ending

    @clean
    def to_json(self) -> str:
        """Return the whole bandit as text, to go on elsewhere with `from_json`. This one takes no more steps.

        The text holds secrets (rewards that are in no release yet), and may be resumed once only: a second copy would
        draw its noise again.

        Raises:
            InvalidInput: the bandit has a journal: detach it, and move that.
        """
        with self._lock.exclusive():
            self._step()
            if self._journal is not None:
                raise InvalidInput(
                    f"Expected a bandit without a journal: to move this one, detach it and move {self._journal.path} "
                    "together with its mark."
                )
            text = persistence.to_text(self._learner)
            self._lock.has_ended = True
            self._learner.releaser.predrawn.drop()
        return text

    @classmethod
    @clean
    def from_json(
        cls,
        text: str,
        *,
        policy: Policy | None = None,
        noise: SecureNoise | None = None,
        witness: Witness | None = None,
        clock: Clock | None = None,
    ) -> "Bandit":
        """Return the bandit that `to_json` wrote, to go on with it, once.

        Args:
            text: what `to_json` returned.
            policy: the policy that the bandit was made with, if it is not a built-in one.
            noise: the noise source, if it has another grid than the usual one.
            witness: as for a new bandit.
            clock: as for a new bandit.

        Raises:
            InvalidInput: the text is not whole, or policy or noise are not those of the bandit.
            JournalError: the witness refuses: the text is an old copy.
        """
        bandit = cls.__new__(cls)
        witness = validated_witness(witness)
        learner = persistence.from_text(text, policy, live_source(noise))
        persistence.check_what_was_read(learner)
        clock = validated_clock(clock, learner.configuration.window)
        ask_witness(witness, learner.ledger.head)
        bandit._start(learner, witness, clock)
        return bandit

    @clean
    def detach(self) -> None:
        """End this bandit and let go of its journal, which another process may then open.

        A snapshot that was begun or is due is written first, in about a second with a million open assignments.

        Raises:
            JournalError: what was forgotten is still in the journal, since no snapshot of it could be written. It has
                been let go of all the same; open it again. (Where an earlier step has failed there is no snapshot
                either: opening it again begins one.)
        """
        with self._lock.exclusive():
            is_working = not (self._lock.is_midway or self._lock.has_ended)
            try:
                if is_working:
                    self._steps.finish_snapshot()
            finally:
                self._lock.has_ended = True
                self._learner.releaser.predrawn.drop()
                if self._journal is not None:
                    self._journal.close()
            if is_working and self._journal is not None and self._journal.unwritten_failure:
                raise JournalError(
                    f"What was forgotten is still in the journal {self._journal.path}: no snapshot of it could be "
                    f"written ({self._journal.unwritten_failure}). Open it again when that has changed."
                )

    def _after_failure(self) -> None:
        """Let go of the journal if the step failed halfway, so that it can be opened again."""
        self._lock.after_failure()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A bandit cannot be copied or pickled: the copy would draw its noise again. to_json moves it.")

    def __repr__(self) -> str:
        if not hasattr(self, "_learner"):  # in the traceback of a beginning that was refused
            return "<Bandit: not begun>"
        arms, assigned = len(self.arms), self._learner.counts.assigned
        return f"<Bandit: {label(self.policy)}, {arms} arms, {count_text(assigned, 'assignment')}, {self.guarantee}>"

    # ---- parts

    def _assigned(self, visits: Sequence[Visit], is_selection: bool = False) -> list[Assignment]:
        return self._steps.assign(visits, self._steps.now(warns=True), is_selection)

    def _close_passed(self, answers: Sequence[PassedAnswer]) -> None:
        learner, now = self._step(), self._steps.now()
        self._steps.close(checked_closings(answers, learner, now), now)

    def _read(self) -> Learner:
        self._lock.check_readable()
        return self._learner

    def _step(self) -> Learner:
        self._lock.check_open()
        return self._learner


def _nothing() -> None:
    """Nothing to let go of."""
