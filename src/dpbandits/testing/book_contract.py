"""check_book: all that must hold for every book of a live learner (live/book.py)."""

import math
import random
from collections.abc import Callable
from typing import Any

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.errors import AlreadyClosed, BrokenContract, WindowClosed
from dpbandits.live.book import FORGOTTEN, Book
from dpbandits.live.closings import check_open
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.learner import Answer, Learner
from dpbandits.live.reward_scale import RewardScale
from dpbandits.live.units import Visit
from dpbandits.policies import DPUCBInt, NoiseAwareIMED, Policy
from dpbandits.testing.given_noise import GivenNoise
from dpbandits.testing.slow_experiment import AGAIN, CLOSED, LATE, TAKEN, SlowExperiment

MakeBook = Callable[[int, bool], Book]
_STEPS = 120
_COLUMNS = ("arm", "release", "first", "last", "count", "value")


def check_book(
    make_book: MakeBook,
    *,
    between: Callable[[Book], Book] = lambda book: book,
    scripts: int = 40,
    seed: int = 0,
    progress: bool | None = None,
) -> dict[str, int]:
    """Check a book: a learner over it does what an oracle does that searches a list for everything.

    Random scripts of steps are played with given noise, and everything that can be seen is compared after every step:
    arms, numbers of assignments, what becomes of every answer, what is open, releases, whether any can still come.
    People come several at once, and again; answers come late, shuffled, twice, too late or never; with open and sealed
    timing, until nothing can enter any more; some people are forgotten.

    Args:
        make_book: returns an empty book for a number of arms; the other argument tells whether releases are of all
            rewards of an arm so far.
        between: called between two steps with the book, and returns the one to go on with: it can commit what was
            written, and read it again.
        scripts: how many are played.
        seed: which ones.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    Returns:
        How often what happened in the scripts: assignments, repetitions, answers, and so on.

    Raises:
        BrokenContract: the book does something else; the message says in which script, at which step, and what.

    >>> from dpbandits.live.memory_book import MemoryBook
    >>> seen = check_book(MemoryBook, scripts=2)
    >>> seen["releases"] > 0
    True
    """
    scripts = _validate.integer("[1, 1000000]", scripts=scripts)
    seed = _validate.integer("[0, inf)", seed=seed)
    seen: dict[str, int] = {}
    with Progress(scripts, "scripts", progress) as bar:
        for number in range(scripts):
            script = _Script(f"{seed} {number}", make_book, between)
            try:
                script.play()
            except BrokenContract:
                raise
            except Exception as problem:
                raise BrokenContract(
                    f"Script {number} with seed {seed}, {script.place}: {type(problem).__name__}: {problem}"
                ) from problem
            for what, times in script.seen.items():
                seen[what] = seen.get(what, 0) + times
            bar.advance(1)
    return seen


def _random_configuration(dice: random.Random) -> Configuration:
    arms = dice.randrange(2, 5)
    horizon = dice.choice([40, 90, 400])
    policies: list[Policy] = [
        DPUCBInt(epsilon=20.0, delta=0.0, horizon=horizon),
        NoiseAwareIMED(epsilon=dice.choice([2.0, 9.0]), first_phase=dice.randrange(1, 4), growth=1.5),
    ]
    contributions = dice.choice([1, 1, 2, 3])
    window = dice.choice([None, 3.0, 12.1, 60.0])
    share = dice.choice([None, None, 0.2, 0.6])
    return Configuration(
        policy=dice.choice(policies),
        arms=tuple(range(arms)),
        horizon=horizon,
        rewards=RewardScale(default=dice.choice([None, 0.25])),
        contributions=contributions,
        accept_delta=True,
        grid_bits=dice.choice([12, 30]),  # with the finer grid sums do not fit into 32 bits
        sticky=dice.random() < 0.5,
        window=window,
        timing="open" if window is None else dice.choice(["open", "sealed"]),
        shares=None if share is None else (share, *[0.1] * (arms - 2), 0.0),
    )


class _Script:
    """One script, played by a learner over a book and by the oracle."""

    def __init__(self, name: str, make_book: MakeBook, between: Callable[[Book], Book]) -> None:
        self.dice = random.Random(name)  # noqa: S311
        self.between = between
        self.place = "before its first step"
        self.seen: dict[str, int] = {}
        self._name = name
        configuration = _random_configuration(self.dice)
        terms = Terms.computed(configuration)
        bits = configuration.grid_bits
        self.learner = Learner(configuration, terms, GivenNoise(name, bits), make_book=make_book)
        self.oracle = SlowExperiment(configuration, terms, GivenNoise(name, bits))
        self.largest_reward = 2**bits
        self.clock = self.dice.choice([0.0, 1e9 + 1 / 3])
        self.keys: dict[int, str] = {}  # with which assignments were answered
        self.visits: dict[str, set[Visit]] = {}  # of everybody who came with a key
        self.people = self.dice.choice([5, 40, 1000])

    def play(self) -> None:
        """Take all steps."""
        actions = [self._assign, self._assign, self._answer, self._answer, self._release_due, self._forget]
        for step in range(_STEPS):
            action = self.dice.choices(actions, weights=[6, 2, 6, 2, 1, 0.5])[0]
            self.place = f"step {step} of script {self._name.split()[1]}, {action.__name__.strip('_')}"
            self._tick()
            action()
            self._compare_all()
            self.learner.book = self.between(self.learner.book)

    # ---- time

    def _tick(self) -> None:
        self.clock += self.dice.choice([0.0, 0.0, 0.5, 1.0, 4.1, -2.0, 30.0 if self.dice.random() < 0.1 else 0.25])
        ends = [entry.until for entry in self.oracle.entries if entry.until is not None and entry.until > self.clock]
        if ends and self.dice.random() < 0.2:  # one of the next windows ends just now, or at the very next instant
            end = sorted(set(ends))[self.dice.randrange(min(5, len(set(ends))))]
            self.clock = self.dice.choice([end, math.nextafter(end, -math.inf)])

    @property
    def _now(self) -> float | None:
        if self.learner.configuration.window is None:
            return None
        return self.learner.counts.later(self.clock)

    # ---- steps, by both

    def _assign(self) -> None:
        now = self._now
        self._release_due()
        for _ in range(self.dice.choice([1, 1, 2, 7])):
            is_named = self.learner.configuration.contributions > 1 or self.dice.random() < 0.7
            unit = _hashed("person", self.dice.randrange(self.people)) if is_named else None
            key = _hashed(f"visit of {unit}", self.dice.randrange(3)) if self.dice.random() < 0.3 else None
            if unit is not None and key is not None:
                self.visits.setdefault(unit, set()).add(Visit(unit, key))
            expected = self.oracle.assign(unit, key, now)
            actual = self._assigned(Visit(unit, key), now)
            self._compare("(number, arm, is new)", actual, expected)
            self._note("assignments" if expected[2] else "forgotten people" if not expected[0] else "repetitions")

    def _assigned(self, visit: Visit, now: float | None) -> tuple[int, int, bool]:
        again = self.learner.assignment_again(visit, now)
        if again is not None:
            return again.number, again.arm, False
        place = self.learner.choice(visit.unit, now)
        return self.learner.hand_out(place, visit, now), place.arm, True

    def _answer(self) -> None:
        """Answer several: open ones mostly, in any order, some of them again."""
        assigned = self.learner.counts.assigned
        if not assigned:
            return
        now = self._now
        open_numbers = list(self.learner.book.open_numbers(now))
        self.dice.shuffle(open_numbers)
        some = open_numbers[: self.dice.choice([1, 3, 20])]
        some += [self.dice.randrange(1, assigned + 1) for _ in range(self.dice.choice([0, 0, 1, 2]))]
        answers = [(number, self.dice.randrange(self.largest_reward + 1), self._key_for(number)) for number in some]
        expected = self.oracle.answer(answers, now)
        actual = self._answered(answers, now)
        self._compare("what became of the answers", actual, expected)
        for (number, _, key), fate in zip(answers, expected, strict=True):
            self._note(
                {AGAIN: "answers again", LATE: "late answers", CLOSED: "refused answers", TAKEN: "answers"}[fate]
            )
            if fate == TAKEN and key is not None:
                self.keys[number] = key

    def _key_for(self, number: int) -> str | None:
        if number in self.keys and self.dice.random() < 0.5:
            return self.keys[number]
        return _hashed("answer", self.dice.randrange(10**6)) if self.dice.random() < 0.4 else None

    def _answered(self, answers: list[tuple[int, int, str | None]], now: float | None) -> list[str]:
        learner, fates = self.learner, []
        taken: dict[int, Answer] = {}
        for number, reward, key in answers:
            earlier = taken[number].key if number in taken else learner.book.answer_key(number)
            if key is not None and key == earlier:
                fates.append(AGAIN)
                continue
            try:
                check_open(number, learner, now, name=f"assignment {number}")
            except WindowClosed:
                fates.append(LATE)
                continue
            except AlreadyClosed:
                fates.append(CLOSED)
                continue
            fates.append(CLOSED if number in taken else TAKEN)
            if number not in taken:
                place = learner.book.place(number)
                taken[number] = Answer(number, reward if place and place.block is not None else None, key)
        ready = learner.ready_blocks()
        learner.answer(list(taken.values()), ready)
        if not learner.is_sealed:
            learner.add_due(ready, now)
            learner.learn(learner.release(ready, now))
        return fates

    def _release_due(self) -> None:
        now = self._now
        self.oracle.release_due(now)
        ready = self.learner.ready_blocks()
        self.learner.add_due(ready, now)
        self.learner.learn(self.learner.release(ready, now))

    def _forget(self) -> None:
        unit = _hashed("person", self.dice.randrange(self.people))
        self.oracle.forget(unit)
        book = self.learner.book
        if book.person(unit) not in (None, FORGOTTEN):
            book.forget(unit)
            kept = [visit for visit in sorted(self.visits.get(unit, ())) if book.visit(visit) is not None]
            self._compare("visits of somebody who was forgotten", kept, [])

    # ---- what is compared

    def _compare_all(self) -> None:
        learner, now = self.learner, self._now
        self._compare("open assignments", list(learner.book.open_numbers(now)), self.oracle.open_numbers(now))
        rows = [tuple(row.content[column] for column in _COLUMNS) for row in learner.ledger if row.number]
        self._compare(f"releases ({', '.join(_COLUMNS)})", rows, self.oracle.rows)
        self._compare("whether it is exhausted", learner.counts.exhausted, self.oracle.exhausted())
        awaited = {entry.arm for entry in self.oracle.entries if self._is_in_flight(entry.arm, entry.block)}
        self._compare("arms with assignments in blocks", set(learner.book.awaited_arms()), awaited)
        self.seen["releases"] = len(rows)
        self.seen["exhausted"] = int(learner.counts.exhausted)

    def _is_in_flight(self, arm: int, block: int | None) -> bool:
        return block is not None and (arm, block) not in self.oracle.released

    def _compare(self, what: str, actual: Any, expected: Any) -> None:
        if actual != expected:
            raise BrokenContract(f"At {self.place}: expected {what} to be {expected}, not {actual}.")

    def _note(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1


def _hashed(what: str, number: int) -> str:
    """Return what stands for a hash."""
    return f"{random.Random(f'{what} {number}').getrandbits(128):032x}"  # noqa: S311
