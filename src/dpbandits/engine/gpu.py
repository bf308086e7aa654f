"""GPUPlayer: plays the runs of a task on a GPU, a thread for each, by the same kernels."""

import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbandits._extras import require_extras
from dpbandits.engine.loop import Rules, check_answer, rules_of
from dpbandits.engine.stamp import check_kernels, classes_in
from dpbandits.errors import InvalidInput
from dpbandits.policies.policy import Policy

_MOST_AT_ONCE = 2**20
_BYTES_AT_ONCE = 2**32
_THREADS = 128


@cache
def has_gpu() -> bool:
    """Tell whether there is a GPU that numba-cuda can use."""
    if find_spec("numba_cuda") is None:
        return False
    # numba-cuda 0.30 looks for a name that numpy 2.5 has dropped.
    vars(np).setdefault("row_stack", np.vstack)
    try:
        from numba import cuda

        return bool(cuda.is_available())
    except Exception:  # noqa: BLE001  (a driver that is half installed can raise anything)
        return False


class GPUPlayer:
    """Plays the runs of a task with a thread for each. Its random numbers differ from those of the CPU.

    It has the methods of `CPUPlayer`, but plays whole blocks alone, and arms as they stand.
    """

    workers: int | None = 1

    def __init__(self, policy: Policy, arms: int, horizon: int) -> None:
        require_extras("numba", "numba_cuda")
        if not has_gpu():
            raise InvalidInput("Expected gpu=True where there is a GPU: none was found.")
        self._policy, self._arms, self._horizon = policy, arms, horizon
        setup = policy.configure(arms, horizon)
        self._params = self.to_device(setup.params)
        self._state = setup.allocate(np.float64)
        self._checked_classes: set[tuple[type, ...]] = set()

    def runs_at_once(self, bytes_per_run: int) -> int:
        """Return how many runs fit, if each needs `bytes_per_run` besides its state."""
        return max(_THREADS, min(_MOST_AT_ONCE, _BYTES_AT_ONCE // (_bytes(self._state) + bytes_per_run)))

    def play(self, task: Any, runs: int, seed: np.random.SeedSequence, first: int = 0) -> int:
        """Play run number `first` and those after it; return 0, or the largest answer."""
        from numba.core.errors import NumbaError

        from dpbandits.engine.cuda import new_generators, player

        kind = classes_in(task)
        if kind not in self._checked_classes:
            check_kernels((*kind, *classes_in(self._params, self._state)))
            self._checked_classes.add(kind)
        answers = self.new_array((runs,), np.int64)
        blocks = (runs + _THREADS - 1) // _THREADS
        number = np.uint64(seed.generate_state(1, np.uint64)[0])
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*under-utilization")  # few runs leave most of a GPU idle
                player(self._state)[blocks, _THREADS](
                    _states_on_device(self._state, runs),
                    task,
                    self._params,
                    new_generators(runs),
                    number,
                    first,
                    answers,
                )
        except NumbaError as problem:
            raise InvalidInput(
                f"Expected the kernels of {self._policy.name} to compile for the GPU. Without it (gpu=False) they may."
            ) from problem
        results = self.to_host(answers)
        check_answer(self._policy, self._arms, int(results.min(initial=0)))
        return int(results.max(initial=0))

    def rules(self, stop: NDArray[np.int64]) -> Rules:
        """Return the rules of runs. They see `stop` as it is now, and nothing that is written there later."""
        rules: Rules = self.to_device(rules_of(self._arms, self._horizon, stop=stop))
        return rules

    def rows(self, runs: int) -> int:
        """Return how many of these runs are played at the same time: all of them."""
        return runs

    def new_array(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Any:
        """Return an array on the device. Its content is undefined."""
        from numba import cuda

        return cuda.device_array(shape, dtype)

    def to_device(self, constants: Any) -> Any:
        """Return constants with their arrays on the device."""
        from numba import cuda

        if isinstance(constants, np.ndarray):
            return cuda.to_device(constants)
        return type(constants)(*map(self.to_device, constants)) if isinstance(constants, tuple) else constants

    def to_host(self, array: Any) -> NDArray[Any]:
        """Return what is in an array of the device."""
        return np.asarray(array.copy_to_host())


def _states_on_device(part: Any, runs: int) -> Any:
    """Return a state with a row for every run."""
    from numba import cuda

    if isinstance(part, np.ndarray):
        return cuda.device_array((runs, *part.shape), dtype=part.dtype)
    return type(part)(*(_states_on_device(inner, runs) for inner in part))


def _bytes(part: Any) -> int:
    return part.nbytes if isinstance(part, np.ndarray) else sum(_bytes(inner) for inner in part)
