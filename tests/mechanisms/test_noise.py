"""The noise itself: right scale accepted, 2/3 and 3/2 of it rejected; on the grid; exact; safe in forks.

Seeded draws are fixed. Secure draws cannot be, so their tests accept at a p-value of 1e-9: that is their rate of
false alarms. Wrong scales must be rejected at the same level, so the tests have power by their own standard.
"""

import math
import multiprocessing
import weakref
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.typing import NDArray
from opendp.mod import Measurement
from scipy import stats

from dpbandits.errors import InvalidInput, WrongKind
from dpbandits.mechanisms import (
    CARRIED,
    GAUSSIAN,
    LAPLACE,
    RESPONSE,
    RecordingNoise,
    SecureNoise,
    SeededNoise,
    beta,
    normal,
    release,
    reserve,
    uniform,
)
from dpbandits.mechanisms.response import response_chance, truthful_chance
from dpbandits.privacy import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    Ledger,
    RandomizedResponseEvent,
    scale_for,
    verify,
)

pytestmark = pytest.mark.slow

ALARM = 1e-9
SOURCES: dict[str, Callable[[], SeededNoise | SecureNoise]] = {"seeded": lambda: SeededNoise(11), "secure": SecureNoise}
both_sources = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


def sample(source: SeededNoise | SecureNoise, scale: float, mechanism: int, size: int) -> NDArray[np.float64]:
    secret = source.encode(1.0)
    return np.array([release(source, secret, scale, mechanism) for _ in range(size)]) - 1.0


# ---- distributions


@both_sources
@pytest.mark.parametrize("scale", [0.5, 3.0, 1e9])
def test_laplace_scale(source: Callable[[], SeededNoise | SecureNoise], scale: float) -> None:
    draws = sample(source(), scale, LAPLACE, 4000)
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > ALARM
    for factor in (2 / 3, 3 / 2):
        assert stats.kstest(draws, stats.laplace(scale=scale * factor).cdf).pvalue < ALARM


@both_sources
@pytest.mark.parametrize("scale", [0.5, 3.0, 1e9])
def test_gaussian_scale(source: Callable[[], SeededNoise | SecureNoise], scale: float) -> None:
    draws = sample(source(), scale, GAUSSIAN, 4000)
    assert stats.kstest(draws, stats.norm(scale=scale).cdf).pvalue > ALARM
    for factor in (2 / 3, 3 / 2):
        assert stats.kstest(draws, stats.norm(scale=scale * factor).cdf).pvalue < ALARM


@both_sources
@pytest.mark.parametrize("reward", [0.0, 0.25, 1.0])
def test_randomised_response(source: Callable[[], SeededNoise | SecureNoise], reward: float) -> None:
    noise, epsilon, size = source(), 2.0, 16_000
    ones = sum(release(noise, noise.encode(reward), 1 / epsilon, RESPONSE) for _ in range(size))

    def p_value(epsilon: float) -> float:
        chance = (reward * math.exp(epsilon) + 1 - reward) / (math.exp(epsilon) + 1)
        return float(stats.binomtest(int(ones), size, chance).pvalue)

    assert p_value(epsilon) > ALARM
    for factor in (2 / 3, 3 / 2):
        assert p_value(epsilon * factor) < ALARM


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0, 30.0, 2000.0])
@pytest.mark.parametrize("reward", [0.0, 0.3, 0.5, 1.0])
def test_chance_of_a_response(reward: float, epsilon: float) -> None:
    with mp.workdps(50):
        odds = mp.exp(epsilon)
        truthful, chance = odds / (odds + 1), (reward * odds + 1 - reward) / (odds + 1)
    assert truthful_chance(epsilon) == pytest.approx(float(truthful), rel=4e-16)
    assert response_chance(reward, 1 / epsilon) == pytest.approx(float(chance), rel=1e-15, abs=2e-16)
    assert response_chance(1.0, 1 / epsilon) == truthful_chance(1 / (1 / epsilon))


@pytest.mark.parametrize(("mechanism", "scale"), [(LAPLACE, 2.0), (GAUSSIAN, 2.0)])
def test_secure_noise_is_exact_on_the_integers(mechanism: int, scale: float) -> None:
    """With a grid of one step per reward, every single probability is checked."""
    draws = sample(SecureNoise(grid_bits=0), scale, mechanism, 6000)
    values = np.arange(-6, 7)

    def p_value(scale: float) -> float:
        z = np.arange(-400, 401)
        weights = np.exp(-np.abs(z) / scale) if mechanism == LAPLACE else np.exp(-(z**2) / (2 * scale**2))
        weights /= weights.sum()
        inside = weights[np.isin(z, values)]
        expected = np.append(inside, 1 - inside.sum()) * len(draws)
        counts = np.array([np.sum(draws == value) for value in values])
        return float(stats.chisquare(np.append(counts, len(draws) - counts.sum()), expected).pvalue)

    assert p_value(scale) > ALARM
    for factor in (2 / 3, 3 / 2):
        assert p_value(scale * factor) < ALARM


@both_sources
def test_reserved_noise_is_the_noise_of_a_release(source: Callable[[], SeededNoise | SecureNoise]) -> None:
    noise, scale = source(), 3.0
    draws = [release(noise, reserve(noise, scale), CARRIED) for _ in range(4000)]
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > ALARM
    for factor in (2 / 3, 3 / 2):
        assert stats.kstest(draws, stats.laplace(scale=scale * factor).cdf).pvalue < ALARM


@both_sources
def test_other_draws(source: Callable[[], SeededNoise | SecureNoise]) -> None:
    noise = source()
    assert stats.kstest([uniform(noise) for _ in range(2000)], stats.uniform.cdf).pvalue > ALARM
    assert stats.kstest([normal(noise) for _ in range(2000)], stats.norm.cdf).pvalue > ALARM
    assert stats.kstest([beta(noise, 2.0, 5.0) for _ in range(2000)], stats.beta(2, 5).cdf).pvalue > ALARM
    assert stats.kstest([beta(noise, 2.0, 5.0) for _ in range(2000)], stats.beta(3, 5).cdf).pvalue < ALARM


# ---- the live grid


def test_secure_values_lie_on_the_grid_and_do_not_saturate() -> None:
    noise = SecureNoise(grid_bits=12)
    draws = sample(noise, 1e9, LAPLACE, 500)
    assert all((draw * 4096).is_integer() for draw in draws)
    assert np.max(np.abs(draws)) > 2**31 / 4096  # where 32-bit noise would have stopped
    assert len(np.unique(draws)) == len(draws)


@pytest.mark.parametrize("grid_bits", [0, 1, 12, 20])
def test_secure_loss_is_never_above_the_schedule(grid_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By OpenDP's own word on the measurement that is drawn from."""
    drawn_from, draw = [], Measurement.__call__

    def noted(measurement: Any, secret: Any) -> Any:
        drawn_from.append(measurement)
        return draw(measurement, secret)

    monkeypatch.setattr(Measurement, "__call__", noted)
    noise = SecureNoise(grid_bits)
    for epsilon in [0.1, 0.3, 1.0, 1 / 3, math.pi, 1e-4, 0.7, *np.random.default_rng(1).uniform(0.01, 3, 40)]:
        scale = scale_for(float(epsilon))
        noise.draw(scale, LAPLACE)
        assert drawn_from[-1].map(2**grid_bits) <= epsilon
        event = noise.event(scale)
        assert isinstance(event, DiscreteLaplaceEvent)
        assert event.epsilon <= epsilon
        noise.respond(1, scale)
        assert drawn_from[-1].map(1) <= epsilon
        noise.draw(scale, GAUSSIAN)
        assert drawn_from[-1].map(2**grid_bits) == pytest.approx(1 / (2 * scale**2))
    assert len(drawn_from) == 3 * 47


def test_events_say_what_is_done() -> None:
    seeded, secure = SeededNoise(0), SecureNoise(grid_bits=4)
    assert seeded.event(2.0) == LaplaceEvent(2.0)
    assert seeded.event(2.0, GAUSSIAN) == GaussianEvent(2.0)
    assert seeded.event(2.0, RESPONSE) == RandomizedResponseEvent(0.5)
    assert secure.event(2.0) == DiscreteLaplaceEvent(32.0, 16)
    assert secure.event(2.0, GAUSSIAN) == DiscreteGaussianEvent(32.0, 16)
    assert secure.event(2.0, RESPONSE) == RandomizedResponseEvent(0.5)


@pytest.mark.parametrize("scale", [0.0, 0, False, -1.0, math.nan, math.inf, 1e30, "1.0"])
def test_secure_noise_refuses_scales_it_cannot_honour(scale: float) -> None:
    noise = SecureNoise()
    release(noise, 0, 1.0)
    for mechanism in (LAPLACE, GAUSSIAN, RESPONSE):
        with pytest.raises(InvalidInput, match=r"Expected scale=.* in \(0, "):
            release(noise, 4096, scale, mechanism)
        with pytest.raises(InvalidInput, match=r"Expected (scale|mechanism)="):
            reserve(noise, scale, mechanism)


def test_secrets_are_integers_and_mechanisms_are_known() -> None:
    noise = SecureNoise()
    for secret in (0.7, "5", None, np.float64(3.0)):
        with pytest.raises(TypeError, match="integer in grid steps"):
            release(noise, secret, 1.0)
    for call in (lambda: release(noise, 1, 1.0, 7), lambda: noise.event(1.0, 7), lambda: SeededNoise(1).event(1.0, 7)):
        with pytest.raises(InvalidInput, match="Expected mechanism=7"):
            call()
    with pytest.raises(InvalidInput, match="it adds no noise"):
        reserve(noise, 1.0, RESPONSE)
    recording = RecordingNoise(noise, Ledger())
    for scale, mechanism in ((1.0, RESPONSE), (CARRIED, LAPLACE)):
        with pytest.raises(InvalidInput, match="Expected"):
            reserve(recording, scale, mechanism)
    assert len(recording.ledger) == 0


@given(st.floats(0, 1), st.integers(0, 30))
def test_encoding_keeps_the_sensitivity(reward: float, grid_bits: int) -> None:
    noise = SecureNoise(grid_bits)
    steps = noise.encode(reward)
    assert 0 <= steps <= 2**grid_bits
    assert abs(Fraction(steps) - Fraction(reward) * 2**grid_bits) <= Fraction(1, 2)


@pytest.mark.parametrize("grid_bits", [0, 1])
def test_response_on_coarse_grids(grid_bits: int) -> None:
    noise = SecureNoise(grid_bits)
    ones = [sum(release(noise, noise.encode(reward), 0.2, RESPONSE) for _ in range(500)) for reward in (0.0, 1.0)]
    assert ones[0] < 50 < 450 < ones[1]  # e^5/(1 + e^5) = 0.9933 keeps; false alarm below 1e-30


def test_scales_are_stepped_up_until_the_map_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    class Measurement:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def map(self, distance: int) -> float:
            return distance / self.scale * (1 + 2e-16 if self.scale < 8192.000000000005 else 1)

        def __rrshift__(self, other: object) -> "Measurement":
            return self

    class OpenDP:
        m = SimpleNamespace(then_laplace=lambda scale: Measurement(scale))
        atom_domain = absolute_distance = staticmethod(lambda T: 0)

    monkeypatch.setattr("dpbandits.mechanisms.secure._opendp", OpenDP)
    monkeypatch.setattr("dpbandits.mechanisms.secure._integers", lambda: 0)
    event = SecureNoise().event(2.0)
    assert isinstance(event, DiscreteLaplaceEvent)
    assert 8192.0 < event.scale < 8192.00000000001


def test_mechanisms_are_not_kept_for_ever() -> None:
    noise, kept = SecureNoise(), weakref.WeakSet[Event]()
    for scale in range(1, 1200):
        kept.add(noise.event(float(scale)))
    assert 0 < len(kept) <= 1000
    assert noise.event(1199.0) in kept


def test_a_noise_source_that_is_shared_by_threads_keeps_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may clear the cache after a mechanism was put there."""
    monkeypatch.setattr("dpbandits.mechanisms.secure._MOST_KEPT", 1)
    noise = SecureNoise()

    class Clearing(dict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, value)
            self.clear()

    noise._mechanisms = Clearing()
    for scale in (1.0, 2.0, 3.0):
        assert isinstance(noise.draw(scale, LAPLACE), int)


@pytest.mark.parametrize("reward", [-0.01, 1.01, math.nan])
def test_secure_noise_refuses_rewards_outside_the_unit_interval(reward: float) -> None:
    with pytest.raises(InvalidInput, match=r"Expected reward=.* in \[0, 1\]"):
        SecureNoise().encode(reward)


@pytest.mark.parametrize("seed", [0, 7, "abc"])
def test_secure_noise_refuses_a_seed(seed: object) -> None:
    with pytest.raises(InvalidInput, match="live noise takes no seed"):
        SecureNoise(seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("grid_bits", [-1, 31, 2.5, math.nan])
def test_bad_grid(grid_bits: int) -> None:
    with pytest.raises(InvalidInput, match="Expected grid_bits="):
        SecureNoise(grid_bits)


@pytest.mark.parametrize("seed", [None, -1, 1.5, "7"])
def test_seeded_noise_needs_a_seed(seed: object) -> None:
    with pytest.raises(InvalidInput, match="Expected seed="):
        SeededNoise(seed)  # type: ignore[arg-type]


def test_seeded_noise_repeats_itself() -> None:
    draws = [release(SeededNoise(seed), 0.0, 1.0) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


# ---- forks


def _draw_in_child(noise: SecureNoise, pipe: "multiprocessing.connection.Connection[object, object]") -> None:
    pipe.send([release(noise, 0, 1e9) for _ in range(5)] + [uniform(noise)])


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking beside threads is the point here
def test_forked_processes_draw_different_noise() -> None:
    context = multiprocessing.get_context("fork")
    noise = SecureNoise()
    release(noise, 0, 1e9)  # warmed up before the fork, so that any state would be copied
    answers = []
    for _ in range(3):
        parent, child = context.Pipe()
        process = context.Process(target=_draw_in_child, args=(noise, child))
        process.start()
        answers.append(parent.recv())
        process.join()
    answers.append([release(noise, 0, 1e9) for _ in range(5)] + [uniform(noise)])
    flat = [draw for answer in answers for draw in answer]
    assert len(set(flat)) == len(flat) == 24


# ---- recording


@both_sources
def test_recorder_writes_every_release_and_no_secret(source: Callable[[], SeededNoise | SecureNoise]) -> None:
    noise = RecordingNoise(source(), Ledger(), {"experiment": 7})
    values = [release(noise, noise.encode(1.0), 2.0), release(noise, noise.encode(0.5), 4.0, GAUSSIAN)]
    carried = noise.encode(0.0) + reserve(noise, 3.0, LAPLACE, 2)
    values += [
        release(noise, carried, CARRIED, LAPLACE, 2),
        release(noise, noise.encode(1.0), 0.5, RESPONSE, arm=2),
    ]
    rows = [row.content for row in noise.ledger]
    reserved = rows.pop(2)
    assert [row["value"] for row in rows] == values
    assert [row["arm"] for row in rows] == [0, 0, 2, 2]
    assert {row["experiment"] for row in rows} == {7}
    assert (reserved["reserved"], reserved["arm"]) == (True, 2)
    assert "value" not in reserved
    discrete = "discrete " if isinstance(noise.source, SecureNoise) else ""
    assert [row["mechanism"] for row in rows] == [
        f"{discrete}laplace",
        f"{discrete}gaussian",
        "carried noise",
        "randomised response",
    ]
    known = {"experiment", "arm", "mechanism", "value", "scale", "sigma", "sensitivity", "epsilon"}
    assert all(set(row) <= known for row in rows)
    assert verify(noise.ledger.to_jsonl()) == noise.ledger.head
    assert 0 <= uniform(noise) < 1


def test_recorder_passes_other_draws_on() -> None:
    source, noise = SeededNoise(3), RecordingNoise(SeededNoise(3), Ledger())
    passed_on = [uniform(noise), normal(noise), beta(noise, 2.0, 0.5)]
    assert passed_on == [uniform(source), normal(source), beta(source, 2.0, 0.5)]
    assert len(noise.ledger) == 0


def test_recorder_writes_before_it_answers() -> None:
    class Full(Ledger):
        def append(self, content: object) -> None:  # type: ignore[override]
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        release(RecordingNoise(SeededNoise(0), Full()), 1.0, 1.0)


def test_recorder_refuses_rows_before_it_draws() -> None:
    drawn: list[float] = []

    class Watched(SeededNoise):
        pass

    @release.register(Watched)
    def _watched(noise: Watched, secret: float, scale: float, mechanism: int = 0, arm: int = 0) -> float:
        drawn.append(scale)
        return secret

    for context in ({"batch": np.int64(3)}, {"value": 1}, {"scale": 1.0}, {"arm": 1}):
        noise = RecordingNoise(Watched(1), Ledger(), context)
        with pytest.raises(InvalidInput, match="Expected"):
            release(noise, 1.0, 1.0)
        assert len(noise.ledger) == 0
    assert drawn == []
    with pytest.raises(WrongKind, match="to be a Ledger"):
        RecordingNoise(SeededNoise(1), None)  # type: ignore[arg-type]


def test_unknown_noise_sources_are_refused() -> None:
    with pytest.raises(TypeError, match="Generator is not a noise source"):
        release(np.random.default_rng(0), 1.0, 1.0)
