"""Trials: one policy, played very often on rewards that are given in advance.

Two reward sequences that differ in one entry are neighbours: how differently a policy behaves on them is what
differential privacy bounds.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbandits.engine.cpu import CPUPlayer
from dpbandits.engine.gpu import GPUPlayer, has_gpu
from dpbandits.engine.seeds import number_of_policy
from dpbandits.environments.given import Script
from dpbandits.policies.base import Policy

Result = TypeVar("Result")


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


class Player(Protocol):
    """A machine that plays a policy on scripts, so many runs at once. The same key gives the same runs."""

    at_once: int
    workers: int

    def codes(self, script: Script, runs: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Return a number for the sequence of arms of every run."""

    def path(self, script: Script, run: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Return the decisions of one of these runs, counted from 0: rows of arm and plays."""

    def scores(
        self, script: Script, sides: tuple[Script, Script], runs: int, seed: np.random.SeedSequence
    ) -> NDArray[np.float64]:
        """Return the scores of every run, which is played with the script, for two scripts."""

    def stop(self) -> None:
        """End what is being played."""


class Trials:
    """A policy with so many arms, for so many steps. The same key gives the same runs, on any number of cores."""

    def __init__(
        self, policy: Policy, arms: int, horizon: int, seed: int, workers: int | None = None, gpu: bool | None = False
    ) -> None:
        self.arms, self.horizon = arms, horizon
        self.is_exact = arms**horizon < 2**62
        self._entropy = seed, number_of_policy(policy)
        self.on_gpu = has_gpu() if gpu is None else gpu
        kind: type[CPUPlayer | GPUPlayer] = GPUPlayer if self.on_gpu else CPUPlayer
        self._player: Player = kind(policy, arms, horizon, self.is_exact, workers or os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._player.workers)

    def outcomes(self, script: Script, trials: int, *key: int) -> Outcomes:
        """Play on these rewards and count the sequences of arms."""
        found = Outcomes(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        for part in self._parallel(self._player.codes, script, trials, key):
            found = found.joined(Outcomes(*np.unique(part, return_counts=True)))
        return found

    def scores(self, script: Script, first: Script, second: Script, trials: int, *key: int) -> NDArray[np.float64]:
        """Play on these rewards and return, for every run, what it says of the first and the second: see scores.py.

        It is about everything that was released and played. Random numbers for exploration are not part of that.
        """

        def play(script: Script, runs: int, seed: np.random.SeedSequence) -> NDArray[np.float64]:
            return self._player.scores(script, (first, second), runs, seed)

        return np.concatenate(list(self._parallel(play, script, trials, key)))

    def sequence(self, code: int, script: Script, trials: int, *key: int) -> tuple[int, ...]:
        """Return the arms, numbered from 0, behind a code that `outcomes` gave with the same arguments; else none."""
        if self.is_exact:
            return tuple(code // self.arms**place % self.arms for place in range(self.horizon - 1, -1, -1))
        for runs, seed in self._chunks(script, trials, key):
            found = np.flatnonzero(self._player.codes(script, runs, seed) == code)
            if len(found):
                path = self._player.path(script, int(found[0]), seed)
                decisions = int(np.searchsorted(np.cumsum(path[:, 1]), self.horizon)) + 1
                return tuple(np.repeat(path[:decisions, 0], path[:decisions, 1]).tolist())
        return ()

    def _chunks(
        self, script: Script, trials: int, key: tuple[int, ...]
    ) -> Iterator[tuple[int, np.random.SeedSequence]]:
        size = self._player.at_once
        for number, first in enumerate(range(0, trials, size)):
            seed = np.random.SeedSequence(self._entropy, spawn_key=(script.key, *key, number))
            yield min(size, trials - first), seed

    def _parallel(
        self,
        play: Callable[[Script, int, np.random.SeedSequence], Result],
        script: Script,
        trials: int,
        key: tuple[int, ...],
    ) -> Iterator[Result]:
        chunks = list(self._chunks(script, trials, key))
        if len(chunks) == 1:
            yield play(script, *chunks[0])
            return
        try:
            yield from self._pool.map(lambda chunk: play(script, *chunk), chunks)
        except BaseException:  # Ctrl-C too
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._player.stop()
            raise
