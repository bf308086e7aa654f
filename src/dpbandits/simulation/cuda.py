"""The audit's loop on a GPU: a thread per run. Importing it needs numba-cuda.

Every thread has its row of the states, and a generator of its own, seeded by the launch and the number of the run.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numba.core.types import Array
from numba.core.types.containers import BaseNamedTuple, BaseTuple
from numba.cuda.random import (
    init_xoroshiro128p_state,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float64,
)
from numba.extending import overload

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import normal, uniform
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, release, reserve
from dpbandits.simulation.script_loop import play_script, replay_script
from dpbandits.simulation.watched import DRAWS, RELEASES, ForcedNoise, WatchedNoise, likelihood, score

_STRIDE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two runs of a launch have one seed


class CudaNoise(NamedTuple):
    """The generator of one thread."""

    generators: Any
    thread: int


@reserve.register(CudaNoise)
@kernel
def _reserve(noise: CudaNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if mechanism == GAUSSIAN:
        return scale * xoroshiro128p_normal_float64(noise.generators, noise.thread)
    size = -scale * math.log1p(-xoroshiro128p_uniform_float64(noise.generators, noise.thread))
    return size if xoroshiro128p_uniform_float64(noise.generators, noise.thread) < 0.5 else -size


@release.register(CudaNoise)
@kernel
def _release(noise: CudaNoise, secret: float, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if mechanism == RESPONSE:
        keep = 1.0 / (1.0 + math.exp(-1.0 / scale))
        chance = secret * keep + (1.0 - secret) * (1.0 - keep)
        return 1.0 if xoroshiro128p_uniform_float64(noise.generators, noise.thread) < chance else 0.0
    if scale == CARRIED:
        return secret
    return secret + _reserve(noise, scale, mechanism)


@uniform.register(CudaNoise)
@kernel
def _uniform(noise: CudaNoise) -> float:
    return xoroshiro128p_uniform_float64(noise.generators, noise.thread)


@normal.register(CudaNoise)
@kernel
def _normal(noise: CudaNoise) -> float:
    return xoroshiro128p_normal_float64(noise.generators, noise.thread)


def row(part: Any, i: int) -> Any:
    """Return the state of one run."""
    raise NotImplementedError("for compiled code")


@overload(row, strict=False)
def _row(part: Any, i: Any) -> Any:
    if isinstance(part, Array):
        return lambda part, i: part[i]
    if isinstance(part, BaseNamedTuple):
        parts = ", ".join(f"row(part[{place}], i)" for place in range(len(part)))
        scope = {"row": row, "State": part.instance_class}
        exec(f"def rows(part, i):\n    return State({parts})", scope)
        return scope["rows"]
    return None


def wipe(part: Any) -> None:
    """Set every array of a state to zero."""
    raise NotImplementedError("for compiled code")


@overload(wipe, strict=False)
def _wipe(part: Any) -> Any:
    if isinstance(part, Array):
        if part.ndim > 1:

            def wipe_rows(part: Any) -> None:
                for i in range(len(part)):
                    wipe(part[i])

            return wipe_rows

        def wipe_numbers(part: Any) -> None:
            for i in range(len(part)):
                part[i] = 0

        return wipe_numbers
    if isinstance(part, BaseTuple):
        if len(part) == 0:
            return lambda part: None

        def wipe_tuple(part: Any) -> None:
            wipe(part[0])
            wipe(part[1:])

        return wipe_tuple
    return None


_play = cuda.jit(device=True)(play_script)
_replay = cuda.jit(device=True)(replay_script)


@cuda.jit
def play_runs(
    params: Any,
    states: Any,
    totals: Any,
    generators: Any,
    seed: Any,
    first: int,
    arms: int,
    horizon: int,
    is_exact: bool,
    paths: Any,
    codes: Any,
) -> None:
    """Play run number `first` and those after it."""
    i = cuda.grid(1)
    if i < len(codes):
        init_xoroshiro128p_state(generators, i, seed + np.uint64(first + i) * _STRIDE)
        state = row(states, i)
        wipe(state)
        codes[i] = _play(params, state, totals, CudaNoise(generators, i), arms, horizon, is_exact, paths[i])


@cuda.jit
def score_runs(
    params: Any,
    states: Any,
    totals: Any,
    others: Any,
    generators: Any,
    seed: Any,
    arms: int,
    horizon: int,
    values: Any,
    seen: Any,
    known: Any,
    paths: Any,
    scores: Any,
    answers: Any,
) -> None:
    """Play and score; an answer is how many values were released, or what was wrong."""
    i = cuda.grid(1)
    if i >= len(scores):
        return
    init_xoroshiro128p_state(generators, i, seed + np.uint64(i) * _STRIDE)
    state = row(states, i)
    wipe(state)
    wipe(seen[i])
    noise = WatchedNoise(CudaNoise(generators, i), values[i], seen[i])
    code = _play(params, state, totals, noise, arms, horizon, False, paths[i])
    releases, drawn = noise.seen[RELEASES], noise.seen[DRAWS]
    answers[i] = code if code < 0 else releases
    if code < 0 or releases > len(noise.values):
        return
    forced = ForcedNoise(values[i], seen[i], known[i])
    wipe(state)
    wipe(seen[i])
    wipe(known[i])
    is_same = _replay(params, state, totals, forced, horizon, paths[i])
    own = likelihood(forced, releases, is_same, drawn)
    wipe(state)
    wipe(seen[i])
    wipe(known[i])
    is_same = _replay(params, state, others, forced, horizon, paths[i])
    scores[i] = score(own, likelihood(forced, releases, is_same, drawn))
