"""Trials: compiled and plain agree, and scores are the likelihood ratios they say."""

import itertools
import math
import sys
import types
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.auditing.broken import BROKEN
from dpbandits.auditing.replay_noise import (
    COUNTERS,
    EXPECTED,
    IMPOSSIBLE,
    MARKED,
    MEASURES,
    MODE,
    PLAIN,
    RELEASES,
    UNKNOWN,
    WEIGHED,
    ForcedNoise,
    WatchedNoise,
    expect,
)
from dpbandits.auditing.scores import COLUMNS, NOTE, RATIO, UNSCORED
from dpbandits.auditing.trials import Outcomes, Trials, seed_key
from dpbandits.engine.cpu import CPUPlayer
from dpbandits.engine.game import Game
from dpbandits.engine.gpu import GPUPlayer, has_gpu
from dpbandits.engine.loop import play_runs
from dpbandits.engine.seeds import number_of_policy
from dpbandits.environments.given import Given
from dpbandits.mechanisms import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, SeededNoise, release, reserve
from dpbandits.policies import Policy, Variant

pytestmark = pytest.mark.slow

POLICIES: list[Policy] = [
    dpb.DPUCB(epsilon=1.0),
    dpb.DPUCB(epsilon=1.0, counter="weighted"),
    dpb.NoiseAwareIMED(epsilon=1.0, first_phase=2),
    dpb.LazyDPTS(epsilon=1.0),
    dpb.AdaCUCB(epsilon=3.0, delta=1e-6),
    dpb.LDPUCBBernoulli(epsilon=1.0),
    BROKEN["redrawn-nodes"].make(1.0, 0.0),
    BROKEN["raw-tie-break"].make(1.0, 0.0),
]


def played(policy: Policy, rewards: list[float], noise: Any, runs: int) -> list[tuple[int, ...]]:
    """The arms of so many runs in plain Python, step by step or in the blocks of `hold`."""
    sequences = []
    for _ in range(runs):
        game = Game(policy, 2, len(rewards), noise)
        game.play(lambda t, arm: rewards[t - 1], len(rewards), "blocks")
        sequences.append(tuple(game.actions))
    return sequences


@pytest.fixture
def _in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop as it is, uncompiled."""
    monkeypatch.setattr("dpbandits.engine.cpu.CPUPlayer._loop", lambda player, task, state, noise: play_runs)


in_python = pytest.mark.usefixtures("_in_python")


# Step by step, and in blocks.
@pytest.mark.parametrize("policy", [POLICIES[0], dpb.DPIMED(epsilon=1.0, first_phase=2)], ids=repr)
@pytest.mark.parametrize("steps", [9, 70])
def test_compiled_trials_are_the_runs_of_plain_python(policy: Policy, steps: int) -> None:
    rewards = [float(t % 3 == 1) for t in range(steps)]
    given, trials = Given(rewards, 2), Trials(policy, 2, steps, seed=5)
    assert trials.is_exact == (steps == 9)
    outcomes = trials.outcomes(given, 40, 7)
    seed = np.random.SeedSequence((5, number_of_policy(policy)), spawn_key=(seed_key(given), 7, 0))
    plain = played(policy, rewards, SeededNoise(seed), 40)
    compiled = {
        trials.sequence(code, given, 40, 7): count
        for code, count in zip(outcomes.codes.tolist(), outcomes.counts.tolist(), strict=True)
    }
    assert compiled == {sequence: plain.count(sequence) for sequence in plain}


def test_a_sequence_is_read_up_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind it there is whatever was there before: the memory of a GPU is not cleared."""
    new_array, rewards = CPUPlayer.new_array, [float(t % 3 == 1) for t in range(70)]
    monkeypatch.setattr(CPUPlayer, "new_array", lambda *given: new_array(*given) - 5)
    trials = Trials(dpb.DPIMED(epsilon=1.0, first_phase=2), 2, 70, seed=5)
    code = int(trials.outcomes(Given(rewards, 2), 1).codes[0])
    assert len(trials.sequence(code, Given(rewards, 2), 1)) == 70


def test_a_hash_that_was_not_played_has_no_sequence() -> None:
    trials = Trials(dpb.UCB(), 2, 70, seed=5)
    assert trials.sequence(12345, Given([0.0] * 70, 2), 10) == ()


# ---- scores


def scored(policy: Policy, rewards: list[float], others: list[float], runs: int) -> tuple[Any, list[Any]]:
    """Log likelihood ratios, and the noise that was watched in the same runs in plain Python."""
    trials = Trials(policy, 2, len(rewards), seed=2)
    given = Given(rewards, 2)
    scores = trials.scores(given, given, Given(others, 2), runs, 1)
    assert scores.shape == (runs, COLUMNS)
    assert not (scores[:, NOTE].astype(int) & UNSCORED).any()
    source = SeededNoise(np.random.SeedSequence((2, number_of_policy(policy)), spawn_key=(seed_key(given), 1, 0)))
    seen = []
    for _ in range(runs):
        watched = WatchedNoise(source, np.zeros(500), np.zeros(COUNTERS, dtype=np.int64))
        Game(policy, 2, len(rewards), watched).play(lambda t, arm: rewards[t - 1], len(rewards), "blocks")
        seen.append(watched)
    return scores[:, RATIO], seen


@pytest.mark.parametrize("policy", [POLICIES[0], BROKEN["shared-noise"].make(1.0, 0.0)], ids=repr)
def test_compiled_scores_are_those_of_plain_python(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """All columns, bit for bit, of noise that is drawn for a release and of noise that is reserved before."""
    trials = Trials(policy, 2, 8, seed=2)
    one, other = Given([0.0] * 8, 2), Given([0.0, 0.0, 1.0] + [0.0] * 5, 2)
    compiled = trials.scores(one, one, other, 100, 1)
    assert len(np.unique(compiled)) > 100
    monkeypatch.setattr("dpbandits.engine.cpu.CPUPlayer._loop", lambda player, task, state, noise: play_runs)
    assert trials.scores(one, one, other, 100, 1).tolist() == compiled.tolist()


@in_python
def test_the_score_of_one_laplace_release_is_the_log_of_its_densities() -> None:
    scores, seen = scored(dpb.LDPUCBLaplace(epsilon=0.7), [1.0], [0.0], 50)
    for score, watched in zip(scores, seen, strict=True):
        value = watched.values[0]
        assert score == pytest.approx(0.7 * (abs(value) - abs(value - 1.0)), abs=1e-12)


@in_python
def test_the_score_of_a_randomised_response_is_epsilon_or_its_opposite() -> None:
    scores, seen = scored(dpb.LDPUCBBernoulli(epsilon=0.7), [1.0, 0.0, 1.0], [1.0, 0.0, 0.0], 50)
    assert [round(score, 9) for score in scores] == [0.7 if watched.values[2] else -0.7 for watched in seen]


@in_python
def test_the_score_of_a_gaussian_release() -> None:
    policy = dpb.AdaCUCB(epsilon=1.0, delta=1e-6)
    sigma = 1 / math.sqrt(2 * policy.rho)
    scores, seen = scored(policy, [1.0, 0.0], [0.0, 0.0], 30)
    for score, watched in zip(scores, seen, strict=True):
        value = watched.values[0]
        assert score == pytest.approx((value**2 - (value - 1) ** 2) / (2 * sigma**2), rel=1e-9, abs=1e-12)


def test_scores_of_the_hybrid_are_sums_over_the_nodes_of_a_reward() -> None:
    """The third reward of DP-UCB is in one node of the tree and in one total, each worth up to ε as published."""
    rewards, others = [0.0] * 8, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    worst: dict[Variant, float] = {"published": 2.0, "proved": 1.0}
    for variant, most in worst.items():
        scores, _ = scored(dpb.DPUCB(epsilon=1.0, variant=variant), rewards, others, 3000)
        assert scores.max() == pytest.approx(most, rel=1e-9)
        assert scores.min() == pytest.approx(-most, rel=1e-9)


@in_python
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_scores_are_likelihood_ratios(policy: Policy) -> None:
    """E[e^-score] over runs with the rewards is the mass that the others give to what is possible: at most 1, and 1 for
    every policy that has no leak. Five standard errors, and with scores that are twice as large it is more."""
    leaks = policy == POLICIES[-1]
    rewards, others = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
    scores, _ = scored(policy, rewards, others, 2000)
    weights = np.exp(-scores)
    error = weights.std() / math.sqrt(len(weights))
    assert weights.mean() <= 1 + 5 * error
    if not leaks:
        assert weights.mean() == pytest.approx(1, abs=5 * error + 1e-12)
        assert np.isfinite(scores).all()
        doubled = np.exp(-2 * scores)
        assert doubled.mean() > 1 + 5 * doubled.std() / math.sqrt(len(doubled))
    else:
        assert np.isposinf(scores).any()


def test_room_for_releases_grows() -> None:
    """200 steps with two releases each are more than there is room for at first."""
    scores, _ = scored(dpb.DPUCB(epsilon=1.0), [0.0] * 200, [1.0] + [0.0] * 199, 20)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= 1 + 1e-9


@in_python
def test_a_run_is_scored_alike_whichever_rewards_it_was_played_with() -> None:
    """What is a function of the run alone is its own opposite with the rewards exchanged."""
    policy, one, other = dpb.DPUCB(epsilon=1.0, counter="weighted"), Given([0.0] * 20, 2), Given([1.0] + [0.0] * 19, 2)
    trials = Trials(policy, 2, 20, seed=2)
    scores, opposite = trials.scores(one, one, other, 100, 1), trials.scores(one, other, one, 100, 1)
    assert scores[:, RATIO] == pytest.approx(-opposite[:, RATIO], abs=1e-9)
    assert (scores[:, NOTE] == opposite[:, NOTE]).all()


@pytest.mark.parametrize("old", [0.0, 7.0])
def test_a_release_that_one_side_alone_makes_is_not_understood(old: float) -> None:
    """Whatever memory held before: the first rewards do not get to the second release, so nothing marked it."""
    first, second = forced_noise([1.0, 2.0]), forced_noise([1.0, 2.0])
    second = second._replace(marks=first.marks)
    first.marks[:], second.noises[:] = old, old
    for mode in (PLAIN, MARKED, WEIGHED):
        first.counters[:], first.measures[:] = 0, 0.0
        expect(first, 2, mode)
        release(first, reserve(first, 1.0), CARRIED)
    expect(second, 2, WEIGHED)
    for _ in range(2):
        release(second, reserve(second, 1.0), CARRIED)
    assert second.counters[UNKNOWN] == 1
    assert np.isnan(first.marks[1])


def forced_noise(values: list[float]) -> ForcedNoise:
    room = len(values)
    forced = ForcedNoise(
        np.array(values), np.zeros(room), np.zeros(room), np.zeros(COUNTERS, dtype=np.int64), np.zeros(MEASURES)
    )
    forced.counters[EXPECTED] = room
    return forced


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN, RESPONSE])
def test_forced_noise_repeats_and_weighs(mechanism: int) -> None:
    forced = forced_noise([1.0])
    assert release(forced, 0.25, 2.0, mechanism) == 1.0
    keep = 1 / (1 + math.exp(-0.5))
    expected = {
        LAPLACE: -0.375 - math.log(2),
        GAUSSIAN: -0.5 * 0.375**2 - math.log(2),
        RESPONSE: math.log(0.25 * keep + 0.75 * (1 - keep)),
    }
    assert forced.measures[0] == pytest.approx(expected[mechanism])
    release(forced, 0.25, 2.0, mechanism)  # more than was written down
    assert (forced.counters[RELEASES], forced.counters[IMPOSSIBLE]) == (2, 1)


def weighed(values: list[float], play: Callable[[ForcedNoise], None]) -> ForcedNoise:
    """The three runs with reserved noise: plain, with marks, weighed."""
    forced = forced_noise(values)
    for mode in (PLAIN, MARKED, WEIGHED):
        forced.counters[:], forced.measures[:] = 0, 0.0
        forced.counters[EXPECTED], forced.counters[MODE] = len(values), mode
        play(forced)
    return forced


def test_forced_noise_solves_for_a_shared_noise() -> None:
    def play(noise: ForcedNoise) -> None:
        shared = reserve(noise, 2.0)
        assert release(noise, 1.0 + shared, CARRIED) == values[0]
        release(noise, 3.0 + shared, CARRIED)

    values = [3.0, 5.0]  # so the noise was 2
    forced = weighed(values, play)
    assert forced.measures[0] == pytest.approx(-1 - math.log(2))
    assert forced.counters[IMPOSSIBLE] == 0
    values = [3.0, 6.0]  # 6 would need a noise of 3
    assert weighed(values, play).counters[IMPOSSIBLE] == 1


def test_forced_noise_knows_noises_that_are_kept_by_arm_and_added_up() -> None:
    def kept(noise: ForcedNoise) -> None:
        one, two = reserve(noise, 2.0), reserve(noise, 4.0, GAUSSIAN)
        release(noise, 0.0 + two, CARRIED)  # 4
        release(noise, 0.0 + one, CARRIED)  # -2
        release(noise, 1.0 + two, CARRIED)
        release(noise, 1.0 + one + two, CARRIED)  # not understood: both have left

    forced = weighed([4.0, -2.0, 5.0, 3.0], kept)
    assert (forced.counters[IMPOSSIBLE], forced.counters[UNKNOWN]) == (0, 1)
    assert forced.measures[0] == pytest.approx(-1 - math.log(2) - 0.5 - math.log(4))

    def added(noise: ForcedNoise) -> None:
        carried = reserve(noise, 2.0)
        release(noise, carried, CARRIED)  # 2
        carried += reserve(noise, 1.0)
        release(noise, carried, CARRIED)  # 2 and 3

    assert weighed([2.0, 5.0], added).measures[0] == pytest.approx(-1 - math.log(2) - 3)


def test_who_redraws_until_a_noise_is_large_is_understood_and_comes_to_an_end() -> None:
    def play(noise: ForcedNoise) -> None:
        drawn = reserve(noise, 2.0)
        while abs(drawn) < 6.0:
            drawn = reserve(noise, 2.0)
        release(noise, 1.0 + drawn, CARRIED)

    forced = weighed([9.0], play)
    assert forced.counters[UNKNOWN] == 0
    assert forced.measures[0] == pytest.approx(-4 - math.log(2))


# ---- outcomes


def test_outcomes_add_up() -> None:
    one = Outcomes(np.array([1, 5, 9]), np.array([2, 3, 4]))
    other = Outcomes(np.array([5, 7]), np.array([10, 20]))
    both = one.joined(other)
    assert (both.codes.tolist(), both.counts.tolist(), both.trials) == ([1, 5, 7, 9], [2, 13, 20, 4], 39)
    assert both.count(np.array([0, 5, 8, 10])).tolist() == [0, 13, 0, 0]
    begun = both.beginnings(4)
    assert (begun.codes.tolist(), begun.counts.tolist()) == ([0, 1, 2], [2, 33, 4])
    assert both.beginnings(1) is both


@pytest.mark.parametrize("rewards", list(itertools.product((0.0, 1.0), repeat=3)))
def test_digits_of_a_code_are_the_arms(rewards: tuple[float, ...]) -> None:
    trials = Trials(dpb.UCB(), 3, 3, seed=0)
    (code,) = trials.outcomes(Given(rewards, 3), 1).codes.tolist()
    assert code == 0 * 9 + 1 * 3 + 2
    assert trials.sequence(code, Given(rewards, 3), 1) == (0, 1, 2)


def test_any_environment_can_be_played() -> None:
    """A policy that plays in turn: who wins does not matter. One that learns does not play as often what is worse."""
    trials = Trials(dpb.UCB(), 2, 12, seed=1)
    outcomes = trials.outcomes(dpb.Bernoulli([0.9, 0.1]), 2000, 3)
    assert outcomes.trials == 2000
    worse = sum(
        count * np.mean(trials.sequence(code, dpb.Bernoulli([0.9, 0.1]), 2000, 3))
        for code, count in zip(outcomes.codes.tolist(), outcomes.counts.tolist(), strict=True)
    )
    assert 0.1 < worse / 2000 < 0.4
    same, other = (trials.outcomes(dpb.Bernoulli(means), 2000, 3) for means in ([0.9, 0.1], [0.1, 0.9]))
    assert same.counts.tolist() == outcomes.counts.tolist() != other.counts.tolist()


def test_an_environment_that_does_not_fit_is_refused() -> None:
    trials = Trials(dpb.UCB(), 2, 5, seed=1)
    with pytest.raises(dpb.InvalidInput, match=r"Expected horizon=5 in \[1, 4\], for which there are rewards"):
        trials.outcomes(Given([0.0] * 4, 2), 10)
    with pytest.raises(dpb.InvalidInput, match=r"Expected Given\(.*, arms=3\) to have 2 arms"):
        trials.outcomes(Given([0.0] * 5, 3), 10)


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_without_a_gpu_asking_for_one_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = types.ModuleType("numba_cuda")  # with it, and without a device
    installed.__spec__ = ModuleSpec("numba_cuda", None)
    monkeypatch.setitem(sys.modules, "numba_cuda", installed)
    with pytest.raises(dpb.InvalidInput, match="none was found"):
        GPUPlayer(dpb.UCB(), 2, 5)
    with pytest.raises(dpb.InvalidInput, match="none was found"):
        dpb.audit(dpb.DPUCB(epsilon=1.0), gpu=True)
