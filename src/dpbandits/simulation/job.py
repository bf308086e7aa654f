"""Job: one policy in one environment, compiled and ready for any number of runs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._extras import require_extras
from dpbandits.environments.base import Environment, block_sum, one_by_one
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.mechanisms.state import allocate
from dpbandits.policies.base import FOREVER, Policy
from dpbandits.simulation.trying_out import try_out

# A block that is drawn reward by reward cannot be stopped in the middle.
_LONGEST_LOOP = 2**20
# Steps that are played in plain Python when a policy does not compile, to find out why.
_TRIAL_STEPS = 20


class Job:
    """A policy and an environment, set up for a horizon. Threads may share one."""

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        horizon: int,
        checkpoints: NDArray[np.int64],
        *,
        blocks: bool = True,
        shuffled: bool = False,
    ) -> None:
        require_extras("numba")
        from dpbandits.engine.loop import player

        self._name = policy.name
        self._setup = policy.configure(environment.arms, horizon)
        self._played = environment
        self._environment = environment.configure()
        self._shuffled = shuffled
        self._horizon = horizon
        self._longest_block = 1 if not blocks else _LONGEST_LOOP if self._draws_one_by_one() else FOREVER
        self._checkpoints = checkpoints
        self._stop = np.zeros(1, dtype=np.int64)
        try_out(environment, horizon)
        self._play_runs = player(self._setup.params, self._state(), self._environment)
        self._compile()

    def play(
        self,
        seed: np.random.SeedSequence,
        regrets: NDArray[np.float64],
        misses: NDArray[np.int64] | None = None,
        switches: NDArray[np.int64] | None = None,
    ) -> None:
        """Play one run per row of `regrets`; write regret at the checkpoints, and how often the arm changed.

        `misses` gets the number of plays of arms that are not the best, at the checkpoints too.
        """
        from dpbandits.engine.loop import WRONG_ARM, WRONG_HOLD, arms_of

        switches = np.zeros(len(regrets), dtype=np.int64) if switches is None else switches
        switches[:] = 0
        misses = np.empty((len(regrets), 0), dtype=np.int64) if misses is None else misses
        arms = arms_of(self._played, self._shuffled)
        arguments = (arms, SeededNoise(seed), self._horizon, self._longest_block, self._checkpoints)
        results = (regrets, misses, switches, self._stop)
        self._play_runs(self._setup.params, self._state(), self._environment, *arguments, *results)
        if (switches == WRONG_ARM).any():
            last = self._played.arms - 1
            raise InvalidInput(f"Expected `select` of {self._name} to return an arm in [0, {last}].")
        if (switches == WRONG_HOLD).any():
            raise InvalidInput(f"Expected `hold` of {self._name} to return at least 1.")

    def stop(self) -> None:
        """End the runs that are being played, in whatever thread. Their numbers are not complete."""
        self._stop[0] = 1

    def _draws_one_by_one(self) -> bool:
        return block_sum.dispatch(type(self._environment)) is one_by_one

    def _state(self) -> Any:
        return allocate(self._setup.state_class, self._setup.sizes, np.float64)

    def _compile(self) -> None:
        """Compile, or load from disk, by playing no run at all."""
        from numba.core.errors import NumbaError

        try:
            self.play(np.random.SeedSequence(0), np.empty((0, len(self._checkpoints))))
        except NumbaError as problem:
            self._play_in_python()  # a mistake that Python finds too is easier to understand there
            raise InvalidInput(
                f"Expected the kernels of {self._name} to compile. They run in plain Python, so they use something "
                "that numba cannot compile; docs/adding_a_policy.md says what a kernel may do. numba says: "
                + _reason(str(problem))
            ) from problem

    def _play_in_python(self) -> None:
        from dpbandits.engine.loop import arms_of, play

        steps = min(self._horizon, _TRIAL_STEPS)
        arms = arms_of(self._played, shuffled=False)
        for longest in (1, FOREVER):
            setup: tuple[Any, Any, Any, Any] = (self._setup.params, self._state(), self._environment, arms)
            nothing = np.empty(0, dtype=np.int64)
            results = np.array([steps]), np.empty(1), nothing, np.zeros(1, dtype=np.int64)
            play(*setup, SeededNoise(0), steps, longest, *results, self._stop)
        block_sum(self._environment, 0, 2, 1, SeededNoise(0))


def _reason(text: str) -> str:
    """Return the innermost sentences of a numba error, which repeats itself on the way out."""
    if "NRT" in text or "Only accept returning of array" in text:
        return "a kernel may not allocate arrays, lists or strings."
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("Untyped", "Unknown", "Use of", "No implementation", ">>>"))]
    return " ".join(telling[-2:] or lines[:2])
