"""Compiled and plain Python are the same algorithm: equal bit for bit, from the same seed."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from counter_parts import parts_of
from dpbandits import _kernel
from dpbandits._kernel import generic, kernel
from dpbandits.auditing.replay_noise import COUNTERS, RELEASES, WatchedNoise
from dpbandits.engine.kernels import register_kernels
from dpbandits.environments.binomial import binomial
from dpbandits.mechanisms import (
    CARRIED,
    GAUSSIAN,
    RESPONSE,
    Binary,
    ContinualCounter,
    Hybrid,
    Logarithmic,
    SeededNoise,
    SubtractionTree,
    WeightedHybrid,
    beta,
    binary,
    hybrid,
    insert,
    normal,
    release,
    reserve,
    subtraction,
    uniform,
    weighted,
)
from dpbandits.mechanisms.response import response_chance
from dpbandits.mechanisms.state import allocate

pytestmark = pytest.mark.slow

ITEMS = 1500


@njit
def _count(params: Any, state: Any, rewards: Any, noise: Any, sums: Any) -> None:
    for i in range(len(rewards)):
        insert(params, state, 0, rewards[i], noise)
        sums[i] = state.sums[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda noise: Logarithmic(0.7, noise=noise),
        lambda noise: Binary(0.7, ITEMS, noise=noise),
        lambda noise: Hybrid(0.7, noise=noise),
        lambda noise: SubtractionTree(0.7, ITEMS, 9, noise=noise),
        lambda noise: WeightedHybrid(0.7, noise=noise),
    ],
    ids=["logarithmic", "binary", "hybrid", "subtraction", "weighted"],
)
def test_counters_are_bitwise_equal(make: Callable[[SeededNoise], ContinualCounter]) -> None:
    rewards = np.random.default_rng(5).random(ITEMS)
    plain = make(SeededNoise(9))
    expected = [plain.insert(reward) for reward in rewards]
    params, state = parts_of(make(SeededNoise(9)))
    sums = np.zeros(ITEMS)
    _count(params, state, rewards, SeededNoise(9), sums)
    assert sums.tolist() == expected
    # CUDA code would find the tuple's own methods `count` and `index` before such a field.
    assert not {*params._fields, *state._fields} & set(dir(tuple))
    plain_params, plain_state = parts_of(plain)
    assert plain_params._fields == params._fields
    for field, (a, b) in zip(state._fields, zip(plain_state, state, strict=True), strict=True):
        assert np.array_equal(a, b), field


@pytest.mark.parametrize(
    ("module", "options"),
    [(binary, {"horizon": 8}), (subtraction, {"horizon": 4}), (hybrid, {"horizon": 8}), (weighted, {"horizon": 8})],
    ids=["binary", "subtraction", "hybrid", "weighted"],
)
def test_kernels_stop_at_their_horizon(module: Any, options: dict[str, int]) -> None:
    """Beyond it nothing is released and nothing is written, compiled or not."""
    horizon = options["horizon"]
    params, sizes = module.configure(1.0, **options)
    for run in (_count, _count.py_func):
        state = allocate(module.State, {"arms": 1, **sizes}, np.float64)
        sums = np.zeros(200)
        run(params, state, np.ones(200), SeededNoise(3), sums)
        assert state.counts[0] == horizon
        assert len(set(sums[:horizon])) == horizon
        assert set(sums[horizon:]) == {sums[horizon - 1]}


@pytest.mark.parametrize("module", [hybrid, weighted], ids=["hybrid", "weighted"])
def test_a_declared_horizon_changes_no_sum(module: Any) -> None:
    runs = []
    for horizon in (300, 2**40):
        params, sizes = module.configure(0.5, horizon=horizon)
        state = allocate(module.State, {"arms": 1, **sizes}, np.float64)
        sums = np.zeros(300)
        _count(params, state, np.ones(300), SeededNoise(3), sums)
        runs.append(sums.tolist())
    assert runs[0] == runs[1]


def test_subclasses_resolve_like_in_plain_python() -> None:
    class Mine(SeededNoise):
        pass

    plain, compiled = np.zeros(80), np.zeros(80)
    _every_draw(Mine(4), plain)
    njit(_every_draw)(Mine(4), compiled)
    assert plain.tolist() == compiled.tolist()


def _every_draw(noise: Any, out: Any) -> None:
    for i in range(0, len(out), 8):
        out[i] = release(noise, 1.5, 2.0)
        out[i + 1] = release(noise, 1.5, 2.0, GAUSSIAN)
        out[i + 2] = release(noise, 0.3, 2.0, RESPONSE)
        out[i + 3] = release(noise, reserve(noise, 3.0) + 1.0, CARRIED)
        out[i + 4] = uniform(noise)
        out[i + 5] = normal(noise)
        out[i + 6] = beta(noise, 2.0, 0.5)
        out[i + 7] = binomial(noise, 1000, 0.3) + binomial(noise, 20, 0.9)


def test_draws_are_bitwise_equal() -> None:
    plain, compiled = np.zeros(800), np.zeros(800)
    _every_draw(SeededNoise(4), plain)
    njit(_every_draw)(SeededNoise(4), compiled)
    assert plain.tolist() == compiled.tolist()


def test_a_source_before_another_one_draws_the_same() -> None:
    """Plain and compiled; what is drawn for the policy is not among the values that were released."""
    direct, plain, compiled = np.zeros(80), np.zeros(80), np.zeros(80)
    _every_draw(SeededNoise(4), direct)
    for run, out in ((_every_draw, plain), (njit(_every_draw), compiled)):
        noise = WatchedNoise(SeededNoise(4), np.zeros(50), np.zeros(COUNTERS, dtype=np.int64))
        run(noise, out)
        assert out.tolist() == direct.tolist()
        assert noise.counters[RELEASES] == 40
        assert noise.values[:40].tolist() == direct.reshape(-1, 8)[:, :4].ravel().tolist()


@njit
def _chances(secrets: Any, scales: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = response_chance(secrets[i], scales[i])


def test_chances_of_responses_are_bitwise_equal() -> None:
    dice = np.random.default_rng(5)
    secrets = np.concatenate([[0.0, 1.0, 0.5], dice.random(2000)])
    scales = np.concatenate([[1e-3, 1e9, 1.0], np.exp(dice.uniform(-6, 6, 2000))])
    plain, compiled = np.zeros(2003), np.zeros(2003)
    _chances.py_func(secrets, scales, plain)
    _chances(secrets, scales, compiled)
    assert plain.tolist() == compiled.tolist()


def test_implementations_name_their_parameters_like_the_generic() -> None:
    for one in _kernel.GENERICS:
        names = list(inspect.signature(one).parameters)
        for implementation in one.registry.values():
            assert list(inspect.signature(implementation).parameters) == names


def test_later_kernels_can_be_registered() -> None:
    @kernel
    def doubled(x: float) -> float:
        return 2 * x

    register_kernels()

    @njit
    def call(x: float) -> float:
        return doubled(x) + math.sqrt(4.0)

    assert call(3.0) == 8.0


def test_missing_implementations_are_compile_errors() -> None:
    @generic
    def nothing(noise: Any) -> float:
        raise TypeError

    register_kernels()

    @njit
    def call(noise: Any) -> float:
        result: float = nothing(noise)
        return result

    with pytest.raises(TypingError, match="nothing"):
        call(SeededNoise(1))
