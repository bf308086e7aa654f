"""The loop on a GPU: a thread per run. Importing it needs numba-cuda.

Every thread has its row of the states, and a generator of its own, seeded by the launch and the number of the run.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.random import (
    init_xoroshiro128p_state,
    xoroshiro128p_dtype,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float64,
)

from dpbandits._kernel import kernel
from dpbandits.engine.kernels import register_kernels
from dpbandits.engine.loop import clear, play_run
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, release, reserve
from dpbandits.mechanisms.response import response_chance

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


@cuda.jit(device=True)
def _seed(generators: Any, i: int, seed: Any) -> None:
    """Seed a generator. numba gives both words of its state the same number, so the first draws would be related."""
    init_xoroshiro128p_state(generators, i, seed)
    first = generators[i]["s0"]
    init_xoroshiro128p_state(generators, i, seed ^ _OTHER)
    generators[i]["s0"] = first


@cuda.jit(device=True)
def _play_thread(
    state: Any, i: int, task: Any, params: Any, generators: Any, seed: Any, first: int, answers: Any
) -> None:
    _seed(generators, i, seed + np.uint64(first + i) * _STRIDE)
    clear(state)
    answers[i] = play_run(task, params, state, CudaNoise(generators, i), i)


def new_generators(runs: int) -> Any:
    """Return a generator for each of `runs` threads; they are seeded when they play."""
    return cuda.device_array(runs, dtype=xoroshiro128p_dtype)


def player(state: Any) -> Any:
    """Return the kernel that plays run number `first` of a launch and those after it, a thread for each answer."""
    register_kernels()  # those of a policy that came later, too
    return _per_thread(_classes(state))


@cache
def _per_thread(classes: tuple[Any, ...]) -> Any:
    """Return a kernel that plays with a thread's row of the states.

    Its text depends on the State: device functions cannot return arrays, so that the row must be built in the kernel.
    """
    scope: dict[str, Any] = {"cuda": cuda, "play_thread": _play_thread}
    row = _row(classes, "states", scope)
    names = "task, params, generators, seed, first, answers"
    text = (
        f"def kernel(states, {names}):\n"
        "    i = cuda.grid(1)\n"
        "    if i < len(answers):\n"
        f"        play_thread({row}, i, {names})\n"
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
