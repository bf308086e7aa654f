"""The audit's loop on a GPU: a thread per run. Importing it needs numba-cuda.

Every thread has its row of the states, and a generator of its own, seeded by the launch and the number of the run.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numba.core.types import Array
from numba.core.types.containers import BaseTuple
from numba.cuda.random import (
    init_xoroshiro128p_state,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float64,
)
from numba.extending import overload

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, release, reserve
from dpbandits.mechanisms.response import response_chance
from dpbandits.simulation.compiled import register_kernels
from dpbandits.simulation.loop import clear
from dpbandits.simulation.scores import write_scores
from dpbandits.simulation.script_loop import play_script, replay_script
from dpbandits.simulation.watched import PLAIN, RELEASES, RESERVED, WEIGHED, ForcedNoise, WatchedNoise, expect

_STRIDE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two runs of a launch have one seed

_OTHER = np.uint64(0xD1B54A32D192ED03)


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
        chance = response_chance(secret, scale)
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


@kernel
def _gamma(noise: CudaNoise, shape: float) -> float:
    """Return a Gamma(shape) number, shape >= 1, by Marsaglia & Tsang 2000."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(noise)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log1p(-uniform(noise)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v


@beta.register(CudaNoise)
@kernel
def _beta(noise: CudaNoise, a: float, b: float) -> float:
    # A shape below 1 by U^(1/shape): Gamma(a) = Gamma(a + 1) U^(1/a).
    one = _gamma(noise, a + 1.0) * (1.0 - uniform(noise)) ** (1.0 / a)
    other = _gamma(noise, b + 1.0) * (1.0 - uniform(noise)) ** (1.0 / b)
    return one / (one + other)


def wipe(part: Any) -> None:
    """Set every array of a state to zero: `clear` of loop.py, without `fill`, which CUDA code does not have."""
    clear(part)


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


@cuda.jit(device=True)
def _seed(generators: Any, i: int, seed: Any) -> None:
    """Seed a generator. numba gives both words of its state the same number, so the first draws would be related."""
    init_xoroshiro128p_state(generators, i, seed)
    first = generators[i]["s0"]
    init_xoroshiro128p_state(generators, i, seed ^ _OTHER)
    generators[i]["s0"] = first


@cuda.jit(device=True)
def _play_run(
    state: Any,
    i: int,
    params: Any,
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
    _seed(generators, i, seed + np.uint64(first + i) * _STRIDE)
    wipe(state)
    codes[i] = _play(params, state, totals, CudaNoise(generators, i), arms, horizon, is_exact, paths[i])


@cuda.jit(device=True)
def _force(
    params: Any, state: Any, totals: Any, forced: Any, horizon: int, path: Any, releases: int, mode: int
) -> None:
    """`force` of script_loop.py."""
    wipe(state)
    wipe(forced.seen)
    wipe(forced.known)
    expect(forced, releases, mode)
    _replay(params, state, totals, forced, horizon, path)


@cuda.jit(device=True)
def _score_run(
    state: Any,
    i: int,
    params: Any,
    totals: Any,
    first_totals: Any,
    second_totals: Any,
    generators: Any,
    seed: Any,
    arms: int,
    horizon: int,
    numbers: Any,
    seen: Any,
    known: Any,
    paths: Any,
    scores: Any,
    answers: Any,
) -> None:
    """One run of `score_trials` of script_loop.py."""
    _seed(generators, i, seed + np.uint64(i) * _STRIDE)
    wipe(state)
    wipe(seen[i])
    values, marks = numbers[i, 0], numbers[i, 1]
    noise = WatchedNoise(CudaNoise(generators, i), values, seen[i, 0])
    code = _play(params, state, totals, noise, arms, horizon, False, paths[i])
    releases = noise.seen[RELEASES]
    answers[i] = code if code < 0 else releases
    if code < 0 or releases > len(values):
        return
    first = ForcedNoise(values, marks, numbers[i, 2], seen[i, 1], known[i, 0])
    second = ForcedNoise(values, marks, numbers[i, 3], seen[i, 2], known[i, 1])
    for mode in range(WEIGHED + 1):
        if mode == PLAIN or first.seen[RESERVED] > 0:
            _force(params, state, first_totals, first, horizon, paths[i], releases, mode)
    mode = WEIGHED if first.seen[RESERVED] > 0 else PLAIN
    _force(params, state, second_totals, second, horizon, paths[i], releases, mode)
    write_scores(first, second, scores[i])


def player(state: Any) -> Any:
    """Return the kernel that plays run number `first` and those after it; see `_play_run` for its arguments."""
    return _per_thread(_play_run, 10, _classes(state))


def scorer(state: Any) -> Any:
    """Return the kernel that plays and scores. An answer is how many values were released, or what was wrong."""
    return _per_thread(_score_run, 14, _classes(state))


@cache
def _per_thread(body: Any, arguments: int, classes: tuple[Any, ...]) -> Any:
    """Return a kernel that calls `body` with a thread's row of the states.

    Its text depends on the State: device functions cannot return arrays, so that the row must be built in the kernel.
    """
    register_kernels()
    scope: dict[str, Any] = {"cuda": cuda, "body": body}
    row = _row(classes, "states", scope)
    names = ", ".join(f"argument{place}" for place in range(arguments))
    text = (
        f"def kernel(states, runs, {names}):\n    i = cuda.grid(1)\n    if i < runs:\n        body({row}, i, {names})\n"
    )
    exec(text, scope)
    return cuda.jit(scope["kernel"])


def _classes(part: Any) -> tuple[Any, ...]:
    """Return the NamedTuple class of a state and those of its parts; of an array nothing."""
    return (type(part), *map(_classes, part)) if isinstance(part, tuple) else ()


def _row(classes: tuple[Any, ...], text: str, scope: dict[str, Any]) -> str:
    if not classes:
        return f"{text}[i]"
    name = f"State{len(scope)}"
    scope[name] = classes[0]
    return f"{name}({', '.join(_row(inner, f'{text}[{place}]', scope) for place, inner in enumerate(classes[1:]))})"
