"""Trials: one policy, played very often on rewards that are given in advance.

Two reward sequences that differ in one entry are neighbours: how differently a policy behaves on them is what
differential privacy bounds.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.mechanisms.state import allocate
from dpbandits.policies.base import Policy

Result = TypeVar("Result")

_STEPS_AT_ONCE = 2**24
_MOST_AT_ONCE = 2**15
_FIRST_ROOM = 64


class Script:
    """Rewards that are given in advance, one per time. Scripts with the same rewards are the same script."""

    def __init__(self, rewards: Iterable[float]) -> None:
        self.rewards = np.fromiter(rewards, dtype=np.float64)
        self._digest = hashlib.sha256(self.rewards.tobytes()).digest()

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The sums of the first 0, 1, 2, ... rewards."""
        return np.concatenate([[0.0], np.cumsum(self.rewards)])

    @property
    def key(self) -> int:
        """A number for its seeds."""
        return int.from_bytes(self._digest[:16])

    def __len__(self) -> int:
        return len(self.rewards)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Script) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)


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
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return Outcomes(codes, counts)

    def count(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:  # type: ignore[override]
        """Return how often each of these was played."""
        if not len(self.codes):
            return np.zeros(len(codes), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.counts[places], 0)


class Trials:
    """A policy with so many arms, for so many steps. The same key gives the same runs, on any number of cores."""

    def __init__(self, policy: Policy, arms: int, horizon: int, seed: int, workers: int | None = None) -> None:
        self.policy, self.arms, self.horizon = policy, arms, horizon
        self._setup = policy.configure(arms, horizon)
        self._entropy = seed, int.from_bytes(hashlib.sha256(repr(policy).encode()).digest()[:16])
        self._workers = workers
        self._stop = np.zeros(1, dtype=np.int64)
        self._room = _FIRST_ROOM
        self.is_exact = arms**horizon < 2**62
        self._at_once = max(64, min(_MOST_AT_ONCE, _STEPS_AT_ONCE // horizon))

    def outcomes(self, script: Script, trials: int, *key: int) -> Outcomes:
        """Play on these rewards and count the sequences of arms."""
        found = Outcomes(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        for part in self._parallel(self._codes, script, None, trials, key):
            found = found.joined(Outcomes(*np.unique(part, return_counts=True)))
        return found

    def scores(self, script: Script, other: Script, trials: int, *key: int) -> NDArray[np.float64]:
        """Play on these rewards and return, for every run, ln of how much likelier they make it than the others.

        It is about everything that was released and played. Random numbers for exploration are not part of that.
        """
        return np.concatenate(list(self._parallel(self._scores, script, other, trials, key)))

    def sequence(self, code: int, script: Script, trials: int, *key: int) -> tuple[int, ...]:
        """Return the arms, numbered from 0, behind a code that `outcomes` gave with the same arguments; else none."""
        if self.is_exact:
            return tuple(code // self.arms**place % self.arms for place in range(self.horizon - 1, -1, -1))
        for number, size in self._chunks(trials):
            found = np.flatnonzero(self._codes(script, None, size, (*key, number)) == code)
            if len(found):  # the path that is left is that of the last run
                path = np.zeros((self.horizon, 2), dtype=np.int64)
                self._codes(script, None, int(found[0]) + 1, (*key, number), path)
                decisions = int(np.searchsorted(np.cumsum(path[:, 1]), self.horizon)) + 1
                return tuple(np.repeat(path[:decisions, 0], path[:decisions, 1]).tolist())
        return ()

    def stop(self) -> None:
        """End the runs that are being played, in whatever thread. Their numbers are not complete."""
        self._stop[0] = 1

    def _chunks(self, trials: int) -> Iterator[tuple[int, int]]:
        for number, first in enumerate(range(0, trials, self._at_once)):
            yield number, min(self._at_once, trials - first)

    def _parallel(
        self, play: Callable[..., Result], script: Script, other: Script | None, trials: int, key: tuple[int, ...]
    ) -> Iterator[Result]:
        chunks = list(self._chunks(trials))
        if len(chunks) == 1:
            yield play(script, other, trials, (*key, 0))
            return
        try:
            yield from self._pool.map(lambda chunk: play(script, other, chunk[1], (*key, chunk[0])), chunks)
        except BaseException:  # Ctrl-C too
            self.stop()
            raise

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers or os.cpu_count())

    def _noise(self, script: Script, key: tuple[int, ...]) -> SeededNoise:
        return SeededNoise(np.random.SeedSequence(self._entropy, spawn_key=(script.key, *key)))

    def _state(self) -> Any:
        return allocate(self._setup.state_class, self._setup.sizes, np.float64)

    def _codes(
        self, script: Script, other: Script | None, trials: int, key: tuple[int, ...], path: Any = None
    ) -> NDArray[np.int64]:
        path = np.empty((0, 2), dtype=np.int64) if path is None else path
        codes = np.zeros(trials, dtype=np.int64)
        sizes = self.arms, self.horizon, self.is_exact
        self._run(
            self._play_trials,
            *(self._setup.params, self._state(), script.totals, self._noise(script, key)),
            *(*sizes, path, codes, self._stop),
        )
        self._check(int(codes.min(initial=0)))
        return codes

    def _scores(self, script: Script, other: Script, trials: int, key: tuple[int, ...]) -> NDArray[np.float64]:
        from dpbandits.simulation.watched import KNOWN, SEEN, ForcedNoise, WatchedNoise

        path = np.empty((self.horizon, 2), dtype=np.int64)
        scores = np.zeros(trials)
        while True:
            values = np.empty(self._room)
            watched = WatchedNoise(self._noise(script, key), values, np.zeros(SEEN, dtype=np.int64))
            forced = ForcedNoise(values, np.zeros(SEEN, dtype=np.int64), np.zeros(KNOWN))
            lacking = self._run(
                self._score_trials,
                *(self._setup.params, self._state(), script.totals, other.totals, watched, forced),
                *(self.arms, self.horizon, path, scores, self._stop),
            )
            if lacking <= 0:
                self._check(lacking)
                return scores
            self._room = 2 * (self._room + lacking)

    @cached_property
    def _play_trials(self) -> Any:
        from dpbandits.simulation.script_loop import trial_player

        return trial_player(self._setup.params, self._state())

    @cached_property
    def _score_trials(self) -> Any:
        from dpbandits.simulation.script_loop import score_player

        return score_player(self._setup.params, self._state())

    def _run(self, player: Any, *arguments: Any) -> Any:
        from numba.core.errors import NumbaError

        try:
            return player(*arguments)
        except NumbaError as problem:
            raise InvalidInput(
                f"Expected the kernels of {self.policy.name} to compile. `dpb.simulate` with it says more."
            ) from problem

    def _check(self, answer: int) -> None:
        from dpbandits.simulation.script_loop import WRONG_ARM, WRONG_HOLD

        if answer == WRONG_ARM:
            raise InvalidInput(f"Expected `select` of {self.policy.name} to return an arm in [0, {self.arms - 1}].")
        if answer == WRONG_HOLD:
            raise InvalidInput(f"Expected `hold` of {self.policy.name} to return at least 1.")
