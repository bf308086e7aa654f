"""Trials on a GPU: a thread per run, the same kernels. Loaded only where numba-cuda finds a device."""

import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._extras import require_extras
from dpbandits.engine.cpu import check
from dpbandits.environments.given import Script
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.state import allocate
from dpbandits.policies.base import Policy

_MOST_AT_ONCE = 2**20
_BYTES_AT_ONCE = 2**32
_THREADS = 128
_FIRST_ROOM = 64
_COUNTS_AND_SCORES = 1024  # bytes
_NUMBERS = 4  # of every release: its value, its marks, and its noise with either rewards


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
    """Plays a policy with a thread per run. Its random numbers are others than those of the CPU."""

    workers = 1

    def __init__(self, policy: Policy, arms: int, horizon: int, is_exact: bool, workers: int) -> None:
        require_extras("numba", "numba_cuda")
        if not has_gpu():
            raise InvalidInput("Expected gpu=True where there is a GPU: none was found.")
        self._policy, self._sizes = policy, (arms, horizon)
        self._is_exact = is_exact
        self._setup = policy.configure(arms, horizon)
        self._room = _FIRST_ROOM
        self._params = _moved(self._setup.params)
        self._state = allocate(self._setup.state_class, self._setup.sizes, np.float64)
        needed = _bytes(self._state) + 16 * horizon + 8 * _NUMBERS * _FIRST_ROOM + _COUNTS_AND_SCORES
        self.at_once = max(_THREADS, min(_MOST_AT_ONCE, _BYTES_AT_ONCE // needed))

    def codes(self, script: Script, runs: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Return a number for the sequence of arms of every run."""
        return self._play(script, 0, runs, seed, np.empty((runs, 0, 2), dtype=np.int64))

    def path(self, script: Script, run: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Return the decisions of one of these runs."""
        path: NDArray[np.int64] = np.zeros((1, self._sizes[1], 2), dtype=np.int64)
        self._play(script, run, 1, seed, path)
        return path.reshape(-1, 2)

    def scores(
        self, script: Script, sides: tuple[Script, Script], runs: int, seed: np.random.SeedSequence
    ) -> NDArray[np.float64]:
        """Return the scores of every run."""
        from numba import cuda

        from dpbandits.auditing.scores import COLUMNS
        from dpbandits.auditing.watched import KNOWN, SEEN
        from dpbandits.engine.cuda import scorer

        while True:
            scores, answers = cuda.device_array((runs, COLUMNS)), cuda.device_array(runs, dtype=np.int64)
            self._launch(
                scorer(self._state),
                runs,
                *(self._params, *(cuda.to_device(each.totals) for each in (script, *sides))),
                *(_generators(runs), _number(seed), *self._sizes, cuda.device_array((runs, _NUMBERS, self._room))),
                *(cuda.device_array((runs, 3, SEEN), dtype=np.int64), cuda.device_array((runs, 2, KNOWN))),
                *(cuda.device_array((runs, self._sizes[1], 2), dtype=np.int64), scores, answers),
            )
            found = answers.copy_to_host()
            check(self._policy, self._sizes[0], int(found.min()))
            if found.max() <= self._room:
                return np.asarray(scores.copy_to_host())
            self._room = 2 * int(found.max())

    def stop(self) -> None:
        """Nothing can be stopped: a launch is short."""

    def _play(
        self, script: Script, first: int, runs: int, seed: np.random.SeedSequence, path: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        from numba import cuda

        from dpbandits.engine.cuda import player

        codes, paths = cuda.device_array(runs, dtype=np.int64), cuda.to_device(path)
        self._launch(
            player(self._state),
            runs,
            *(self._params, cuda.to_device(script.totals), _generators(runs), _number(seed), first),
            *(*self._sizes, self._is_exact, paths, codes),
        )
        found: NDArray[np.int64] = codes.copy_to_host()
        check(self._policy, self._sizes[0], int(found.min(initial=0)))
        path[...] = paths.copy_to_host()
        return found

    def _launch(self, kernel: Any, runs: int, *arguments: Any) -> None:
        from numba.core.errors import NumbaError

        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*under-utilization")  # few runs leave most of a GPU idle
                kernel[(runs + _THREADS - 1) // _THREADS, _THREADS](_on_device(self._state, runs), runs, *arguments)
        except NumbaError as problem:
            raise InvalidInput(
                f"Expected the kernels of {self._policy.name} to compile for the GPU. Without it (gpu=False) they may."
            ) from problem


def _on_device(part: Any, runs: int) -> Any:
    """Return a state with a row for every run."""
    from numba import cuda

    if isinstance(part, np.ndarray):
        return cuda.device_array((runs, *part.shape), dtype=part.dtype)
    return type(part)(*(_on_device(inner, runs) for inner in part))


def _moved(part: Any) -> Any:
    """Return constants with their arrays on the device."""
    from numba import cuda

    if isinstance(part, np.ndarray):
        return cuda.to_device(part)
    return type(part)(*map(_moved, part)) if isinstance(part, tuple) else part


def _generators(runs: int) -> Any:
    from numba import cuda
    from numba.cuda.random import xoroshiro128p_dtype

    return cuda.device_array(runs, dtype=xoroshiro128p_dtype)


def _number(seed: np.random.SeedSequence) -> np.uint64:
    return np.uint64(seed.generate_state(1, np.uint64)[0])


def _bytes(part: Any) -> int:
    return part.nbytes if isinstance(part, np.ndarray) else sum(_bytes(inner) for inner in part)
