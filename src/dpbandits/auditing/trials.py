"""Trials: one policy, played very often in one environment, usually with rewards that are fixed in advance."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._phrases import count_text
from dpbandits.auditing.decisions import Decisions
from dpbandits.auditing.replay_noise import COUNTERS, MEASURES
from dpbandits.auditing.scores import COLUMNS
from dpbandits.auditing.scoring import NUMBERS, RUNS_OF_ONE, ScoringTask
from dpbandits.engine.cpu import CPUPlayer
from dpbandits.engine.driver import Chunk, Driver, chunks_of
from dpbandits.engine.gpu import GPUPlayer, has_gpu
from dpbandits.engine.loop import Task
from dpbandits.engine.seeds import number_of_policy
from dpbandits.engine.stamp import stamp_of_constants
from dpbandits.environments.environment import Environment
from dpbandits.environments.given import Given
from dpbandits.errors import InvalidInput
from dpbandits.policies.policy import Policy

_FIRST_ROOM = 64  # releases
_STEPS_AT_ONCE = 2**24
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 64, 2**15
_COUNTS_AND_SCORES = 1024  # bytes of a run


class Outcomes(NamedTuple):
    """Which sequences of arms were played, as sorted codes, and how often each."""

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def trials(self) -> int:
        """How many runs there were."""
        return int(self.counts.sum())

    def joined(self, other: "Outcomes") -> "Outcomes":
        """Return both together."""
        codes, places = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([self.counts, other.counts]), len(codes))
        return Outcomes(codes, counts.astype(np.int64))

    def beginnings(self, later: int) -> "Outcomes":
        """Return the codes without their last digits, `later` being the base to the power of how many."""
        if later == 1:
            return self
        codes, places = np.unique(self.codes // later, return_inverse=True)
        return Outcomes(codes, np.bincount(places, self.counts, len(codes)).astype(np.int64))

    def count(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:  # type: ignore[override]
        """Return how often each of these was played."""
        if not len(self.codes):
            return np.zeros(len(codes), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.counts[places], 0)


class Trials:
    """Runs of one policy with a number of arms and steps. The same key gives the same runs on any number of cores."""

    def __init__(
        self, policy: Policy, arms: int, horizon: int, seed: int, workers: int | None = None, gpu: bool | None = False
    ) -> None:
        self.arms, self.horizon = arms, horizon
        self.is_exact = arms**horizon < 2**62
        self.on_gpu = has_gpu() if gpu is None else gpu
        self._entropy = seed, number_of_policy(policy)
        self._room = _FIRST_ROOM
        self._player: CPUPlayer | GPUPlayer
        if self.on_gpu:
            self._player = GPUPlayer(policy, arms, horizon)
            bytes_per_run = 16 * horizon + 8 * NUMBERS * _FIRST_ROOM + _COUNTS_AND_SCORES
            self._at_once = self._player.runs_at_once(bytes_per_run)
        else:
            self._player = CPUPlayer(policy, arms, horizon)
            self._at_once = max(_FEWEST_AT_ONCE, min(_MOST_AT_ONCE, _STEPS_AT_ONCE // horizon))
        self._driver = Driver(self._player.workers or workers)

    def outcomes(self, environment: Environment, trials: int, *key: int) -> Outcomes:
        """Play in this environment and count the sequences of arms."""
        outcomes = Outcomes(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        chunks = self._driver.results(
            lambda chunk, stop: self._codes(environment, chunk, stop), self._chunks(environment, trials, key)
        )
        with closing(chunks):
            for codes in chunks:
                outcomes = outcomes.joined(Outcomes(*np.unique(codes, return_counts=True)))
        return outcomes

    def scores(
        self, environment: Environment, first: Given, second: Given, trials: int, *key: int
    ) -> NDArray[np.float64]:
        """Play in this environment and return the scores of every run for the first and the second rewards (scores.py).

        It is about everything that was released and played. Random numbers for exploration are not part of that.
        """
        chunks = self._driver.results(
            lambda chunk, stop: self._scores(environment, first, second, chunk, stop),
            self._chunks(environment, trials, key),
        )
        return np.concatenate(list(chunks))

    def sequence(self, code: int, environment: Environment, trials: int, *key: int) -> tuple[int, ...]:
        """Return the arms, numbered from 0, behind a code that `outcomes` gave with the same arguments; else none."""
        if self.is_exact:
            return tuple(code // self.arms**place % self.arms for place in range(self.horizon - 1, -1, -1))
        chunks = self._driver.results(
            lambda chunk, stop: self._path(environment, chunk, stop, code), self._chunks(environment, trials, key)
        )
        with closing(chunks):
            return next((path for path in chunks if path), ())

    def _codes(self, environment: Environment, chunk: Chunk, stop: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a number for the sequence of arms of every run."""
        codes = self._player.new_array((chunk.runs,), np.int64)
        self._player.play(self._task(environment, chunk.runs, codes, 0, stop), chunk.runs, chunk.seed)
        return self._player.to_host(codes)

    def _path(self, environment: Environment, chunk: Chunk, stop: NDArray[np.int64], code: int) -> tuple[int, ...]:
        """Return the arms of the first run of a chunk that has this code; else none."""
        matches = np.flatnonzero(self._codes(environment, chunk, stop) == code)
        if not len(matches):
            return ()
        task = self._task(environment, 1, self._player.new_array((0,), np.int64), self.horizon, stop)
        self._player.play(task, 1, chunk.seed, first=int(matches[0]))
        arms, plays = self._player.to_host(task.trace.paths)[0].T
        decisions = int(np.argmax(np.cumsum(plays) >= self.horizon)) + 1  # what is behind them is not of this run
        return tuple(np.repeat(arms[:decisions], plays[:decisions]).tolist())

    def _task(self, environment: Environment, runs: int, codes: Any, steps: int, stop: NDArray[np.int64]) -> Task:
        environment.check_horizon(self.horizon)
        if environment.arms != self.arms:
            raise InvalidInput(f"Expected {environment!r} to have {count_text(self.arms, 'arm')}.")
        paths = self._player.new_array((self._player.rows(runs), steps, 2), np.int64)
        trace = Decisions(self.arms, self.is_exact, codes, paths)
        return Task(self._player.to_device(environment.configure()), trace, self._player.rules(stop))

    def _scores(
        self, environment: Environment, first: Given, second: Given, chunk: Chunk, stop: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the scores of every run."""
        player, runs = self._player, chunk.runs
        rows, scores = player.rows(runs), player.new_array((runs, COLUMNS))
        task_of_run = self._task(environment, runs, player.new_array((0,), np.int64), self.horizon, stop)
        while True:
            room = self._room  # another thread may make it larger
            task = ScoringTask(
                task_of_run.environment,
                first=player.to_device(first.configure()),
                second=player.to_device(second.configure()),
                trace=task_of_run.trace,
                rules=task_of_run.rules,
                numbers=player.new_array((rows, NUMBERS, room)),
                counters=player.new_array((rows, RUNS_OF_ONE, COUNTERS), np.int64),
                measures=player.new_array((rows, RUNS_OF_ONE - 1, MEASURES)),
                scores=scores,
            )
            lacking = player.play(task, runs, chunk.seed)
            if not lacking:
                return player.to_host(scores)
            self._room = 2 * (room + lacking)

    def _chunks(self, environment: Environment, trials: int, key: tuple[int, ...]) -> Iterator[Chunk]:
        seed = np.random.SeedSequence(self._entropy, spawn_key=(seed_key(environment), *key))
        return chunks_of(seed, trials, self._at_once)


def seed_key(environment: Environment) -> int:
    """Return the number from which the random numbers in an environment follow."""
    if isinstance(environment, Given):
        return int.from_bytes(hashlib.sha256(environment.rewards.tobytes()).digest()[:16])
    kind = type(environment)
    return int(stamp_of_constants(kind.__module__, kind.__qualname__, environment.configure())[:32], 16)
