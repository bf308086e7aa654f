"""Trials on the cores of this machine."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._extras import require_extras
from dpbandits.environments.given import Script
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.mechanisms.state import allocate
from dpbandits.policies.base import Policy

_STEPS_AT_ONCE = 2**24
_MOST_AT_ONCE = 2**15
_FIRST_ROOM = 64


class CPUPlayer:
    """Plays a policy in the compiled loop; threads may share it."""

    def __init__(self, policy: Policy, arms: int, horizon: int, is_exact: bool, workers: int) -> None:
        require_extras("numba")
        self.workers = workers
        self.at_once = max(64, min(_MOST_AT_ONCE, _STEPS_AT_ONCE // horizon))
        self._policy, self._sizes = policy, (arms, horizon)
        self._is_exact = is_exact
        self._setup = policy.configure(arms, horizon)
        self._stop = np.zeros(1, dtype=np.int64)
        self._room = _FIRST_ROOM

    def codes(self, script: Script, runs: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Return a number for the sequence of arms of every run."""
        return self._play(script, runs, seed, np.empty((0, 2), dtype=np.int64))

    def path(self, script: Script, run: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Return the decisions of one of these runs: all up to it are played again, and it is the last."""
        path = np.zeros((self._sizes[1], 2), dtype=np.int64)
        self._play(script, run + 1, seed, path)
        return path

    def scores(
        self, script: Script, sides: tuple[Script, Script], runs: int, seed: np.random.SeedSequence
    ) -> NDArray[np.float64]:
        """Return the scores of every run."""
        from dpbandits.auditing.scores import COLUMNS
        from dpbandits.auditing.watched import KNOWN, SEEN, ForcedNoise, WatchedNoise

        path = np.empty((self._sizes[1], 2), dtype=np.int64)
        scores = np.zeros((runs, COLUMNS))
        while True:
            room = self._room  # another thread may make it larger
            values, marks = np.empty(room), np.empty(room)
            watched = WatchedNoise(SeededNoise(seed), values, np.zeros(SEEN, dtype=np.int64))
            first, second = (
                ForcedNoise(values, marks, np.empty(room), np.zeros(SEEN, dtype=np.int64), np.zeros(KNOWN))
                for _ in range(2)
            )
            lacking = self._run(
                self._score_trials,
                *(self._setup.params, self._state(), script.totals, *(side.totals for side in sides)),
                *(watched, first, second, *self._sizes, path, scores, self._stop),
            )
            if lacking <= 0:
                check(self._policy, self._sizes[0], lacking)
                return scores
            self._room = 2 * (room + lacking)

    def stop(self) -> None:
        """End the runs that are being played, in whatever thread. Their numbers are not complete."""
        self._stop[0] = 1

    def _play(
        self, script: Script, runs: int, seed: np.random.SeedSequence, path: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        codes = np.zeros(runs, dtype=np.int64)
        self._run(
            self._play_trials,
            *(self._setup.params, self._state(), script.totals, SeededNoise(seed)),
            *(*self._sizes, self._is_exact, path, codes, self._stop),
        )
        check(self._policy, self._sizes[0], int(codes.min(initial=0)))
        return codes

    def _run(self, player: Any, *arguments: Any) -> Any:
        from numba.core.errors import NumbaError

        try:
            return player(*arguments)
        except NumbaError as problem:
            raise InvalidInput(
                f"Expected the kernels of {self._policy.name} to compile. `dpb.simulate` with it says more."
            ) from problem

    def _state(self) -> Any:
        return allocate(self._setup.state_class, self._setup.sizes, np.float64)

    @cached_property
    def _play_trials(self) -> Any:
        from dpbandits.auditing.scoring import trial_player

        return trial_player(self._setup.params, self._state())

    @cached_property
    def _score_trials(self) -> Any:
        from dpbandits.auditing.scoring import score_player

        return score_player(self._setup.params, self._state())


def check(policy: Policy, arms: int, answer: int) -> None:
    """Refuse a policy that answered with an arm that does not exist, or held one for less than a play."""
    from dpbandits.auditing.scoring import WRONG_ARM, WRONG_HOLD

    if answer == WRONG_ARM:
        raise InvalidInput(f"Expected `select` of {policy.name} to return an arm in [0, {arms - 1}].")
    if answer == WRONG_HOLD:
        raise InvalidInput(f"Expected `hold` of {policy.name} to return at least 1.")
