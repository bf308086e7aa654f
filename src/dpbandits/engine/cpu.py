"""CPUPlayer: plays the runs of a task in a compiled loop, on one core."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbandits._extras import require_extras
from dpbandits.engine.game import BLOCKS, STEP, Game
from dpbandits.engine.loop import Rules, check_answer, play_runs, rules_of
from dpbandits.engine.stamp import classes_in
from dpbandits.environments.environment import block_sum, reward
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.policies.policy import FOREVER, Policy

# Steps that are played in plain Python when a policy does not compile, to find out why.
_TRIAL_STEPS = 20


class CPUPlayer:
    """A policy with a number of arms and at most `horizon` steps. Threads may share a player and call `play` at once.

    Tasks are made of what `new_array`, `to_device` and `rules` give, so that they can be played on any machine.
    """

    workers: int | None = None  # as many as there are cores

    def __init__(self, policy: Policy, arms: int, horizon: int) -> None:
        require_extras("numba")
        self._policy, self._arms, self._horizon = policy, arms, horizon
        self._setup = policy.configure(arms, horizon)
        self._loops: dict[tuple[type, ...], Any] = {}

    def play(self, task: Any, runs: int, seed: np.random.SeedSequence, first: int = 0) -> int:
        """Play `runs` runs of a task; return 0, or the first answer that is not.

        `first` is the number of the first run that is kept: those before it are played as well.
        """
        from numba.core.errors import NumbaError

        noise, state = SeededNoise(seed), self._state()
        try:
            answer = self._loop(task, state, noise)(task, self._setup.params, state, noise, first + runs)
        except NumbaError as problem:
            self._play_in_python(task.environment)  # a mistake that Python finds too is easier to understand there
            raise InvalidInput(
                f"Expected the kernels of {self._policy.name} to compile. They run in plain Python, so they use "
                "something that numba cannot compile; docs/adding_a_policy.md says what a kernel may do. numba says: "
                + _reason(str(problem))
            ) from problem
        check_answer(self._policy, self._arms, answer)
        return int(answer)

    def rules(self, stop: NDArray[np.int64] | None, *, longest_block: int = FOREVER, shuffled: bool = False) -> Rules:
        """Return the rules of runs that `stop` ends; the numbers of those are not complete."""
        return rules_of(self._arms, self._horizon, longest_block=longest_block, shuffled=shuffled, stop=stop)

    def rows(self, runs: int) -> int:
        """Return how many of these runs are played at the same time."""
        return 1

    def new_array(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return an array that a task writes into."""
        return np.zeros(shape, dtype)

    def to_device(self, constants: Any) -> Any:
        """Return constants where the player needs them."""
        return constants

    def to_host(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return what a task has written into an array."""
        return array

    def _loop(self, task: Any, state: Any, noise: SeededNoise) -> Any:
        from dpbandits.engine.compiling import compiled_loop

        kind = classes_in(task)
        if kind not in self._loops:
            self._loops[kind] = compiled_loop(play_runs, task, self._setup.params, state, noise)
        return self._loops[kind]

    def _state(self) -> Any:
        return self._setup.allocate(np.float64)

    def _play_in_python(self, environment: Any) -> None:
        noise, steps = SeededNoise(0), min(self._horizon, _TRIAL_STEPS)

        def total(t: int, arm: int, plays: int) -> float:
            if plays == 1:
                return reward(environment, arm, t, noise)
            return block_sum(environment, arm, plays, t, noise)

        for cut in (STEP, BLOCKS):
            Game(self._policy, self._arms, self._horizon, noise).play_blocks(total, steps, cut)
        if self._horizon > 1:  # given rewards end with it
            block_sum(environment, 0, 2, 1, noise)


def _reason(text: str) -> str:
    """Return the innermost sentences of a numba error, which repeats itself on the way out."""
    if "NRT" in text or "Only accept returning of array" in text:
        return "a kernel may not allocate arrays, lists or strings."
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("Untyped", "Unknown", "Use of", "No implementation", ">>>"))]
    return " ".join(telling[-2:] or lines[:2])
