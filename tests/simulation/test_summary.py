"""Summaries of many runs: the same numbers as from the runs themselves, in memory that does not grow."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpbandits as dpb
from dpbandits._progress import Progress
from dpbandits.engine.driver import Chunk
from dpbandits.errors import InvalidInput
from dpbandits.simulation import RegretSummary, summarise
from dpbandits.simulation.job import Job

TWO = dpb.Bernoulli([0.9, 0.6])
STUCK = dpb.DPUCBInt(epsilon=1.0, delta=math.exp(-10), bonus="frozen", accounting="corollary")


def last(policy: dpb.policies.Policy, runs: int, horizon: int = 3000, **named: object) -> RegretSummary:
    *_, summary = summarise(policy, TWO, horizon=horizon, runs=runs, seed=5, **named)  # type: ignore[arg-type]
    return summary


@pytest.mark.parametrize("policy", [dpb.UCB(), STUCK], ids=["ucb", "dp-ucb-int"])
@pytest.mark.parametrize("runs", [1, 100, 1000, 3000])
def test_it_is_what_the_runs_of_simulate_say(policy: dpb.policies.Policy, runs: int) -> None:
    summary = last(policy, runs)
    result = dpb.simulate({"it": policy}, TWO, horizon=3000, runs=runs, seed=5)
    regret = result.regret("it")
    assert summary.runs == runs
    assert np.array_equal(summary.checkpoints, result.checkpoints)
    np.testing.assert_allclose(summary.mean, regret.mean(axis=0), rtol=1e-12)
    if runs > 1:
        expected = regret.std(axis=0, ddof=1) / math.sqrt(runs)
        np.testing.assert_allclose(summary.standard_error, expected, rtol=1e-9, atol=1e-12)
    else:
        assert np.isnan(summary.standard_error).all()
    assert np.array_equal(summary.least, regret.min(axis=0))
    assert np.array_equal(summary.largest, regret.max(axis=0))
    for level in (0.05, 0.5, 0.95):
        exact = np.quantile(regret, level, axis=0, method="linear" if runs <= 1000 else "inverted_cdf")
        np.testing.assert_allclose(summary.quantile(level), exact, rtol=1e-12 if runs <= 1000 else 0.01)
    assert summary.runs_above(100.0) == pytest.approx(np.count_nonzero(regret[:, -1] > 100), abs=0.01 * runs)


def test_values_that_repeat_come_out_exactly_from_the_histogram() -> None:
    parked = last(dpb.DPUCBBound(epsilon=10.0, variant="published"), 1500)
    result = dpb.simulate(dpb.DPUCBBound(epsilon=10.0, variant="published"), TWO, horizon=3000, runs=1500, seed=5)
    values, counts = np.unique(result.final_regret(result.names[0]).round(6), return_counts=True)
    assert counts.max() > 750
    assert parked.quantile(0.5)[-1] == pytest.approx(values[counts.argmax()], rel=1e-9)


def test_memory_does_not_grow_with_the_runs() -> None:
    def held(summary: RegretSummary) -> int:
        return sum(value.nbytes for value in vars(summary).values() if isinstance(value, np.ndarray))

    sizes = [held(last(STUCK, runs)) for runs in (1100, 2200, 6000)]
    assert len(set(sizes)) == 1
    assert held(last(STUCK, 1000)) < sizes[0]


@pytest.mark.parametrize("stop", [64, 640, 1024, 1088])
def test_a_summary_that_was_left_goes_on_to_the_same_bits(tmp_path: Path, stop: int) -> None:
    whole = last(STUCK, 1400, workers=1)
    for summary in summarise(STUCK, TWO, horizon=3000, runs=1400, seed=5, workers=2):
        if summary.runs == stop:
            summary.save(tmp_path / "part")
            break
    begun = RegretSummary.load(tmp_path / "part")
    assert begun.runs == stop
    again = last(STUCK, 1400, workers=2, begun=begun)
    for name, value in vars(whole).items():
        assert np.array_equal(getattr(again, name), value), name


def test_a_finished_summary_is_returned_as_it_is() -> None:
    whole = last(dpb.UCB(), 70)
    assert last(dpb.UCB(), 70, begun=whole) is whole


def test_a_summary_of_something_else_is_refused() -> None:
    other = last(dpb.UCB(), 70, horizon=500)
    for runs in (60, 100, 70):
        with pytest.raises(InvalidInput, match="same simulation"):
            last(dpb.UCB(), runs, begun=other)
    with pytest.raises(InvalidInput, match="same simulation"):
        last(dpb.UCB(), 100, begun=last(dpb.UCB(), 70))  # 70 is no whole number of chunks


def test_only_a_few_chunks_are_in_memory_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = most = 0
    submit = ThreadPoolExecutor.submit

    def counting(self: ThreadPoolExecutor, *args: Any) -> Any:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        return submit(self, *args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", counting)
    for _ in summarise(dpb.UCB(), TWO, horizon=100, runs=6400, seed=0, workers=2):
        waiting -= 1
    assert most <= 4


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the loops look at that have been begun."""
    play, found = Job.play, []

    def noted(job: Job, chunk: Chunk, stop: Any) -> Any:
        found.append(stop)
        return play(job, chunk, stop)

    monkeypatch.setattr(Job, "play", noted)
    return found


def test_leaving_a_summary_stops_the_runs_that_are_being_played(stops: list[Any]) -> None:
    """What their loops look at says so, and not before."""
    growing = summarise(dpb.UCB(), TWO, horizon=1000, runs=6400, seed=0, workers=2)
    next(growing)
    assert not any(stop[0] for stop in stops)
    del growing  # as a loop does that is left
    assert all(stop[0] for stop in stops)


@pytest.mark.parametrize("play", [dpb.simulate, dpb.compare, dpb.plan], ids=["simulate", "compare", "plan"])
def test_an_interrupt_between_two_chunks_stops_them_too(
    play: Callable[..., Any], stops: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its traceback is kept, as in a notebook, and with it all that the loop had."""

    def interrupted(bar: Progress, steps: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt) as kept:
        play(dpb.recommended(epsilon=1.0), TWO, horizon=1000, runs=640)
    assert kept.traceback
    assert stops
    assert all(stop[0] for stop in stops)


def test_the_regrets_at_the_end_are_counted() -> None:
    for runs in (300, 2000):
        summary = last(STUCK, runs)
        values, counts = summary.final()
        assert counts.sum() == runs
        assert (np.diff(values) > 0).all()
        assert float(values @ counts) / runs == pytest.approx(summary.mean[-1])


def test_arms_that_are_all_alike_have_no_regret() -> None:
    *_, summary = summarise(dpb.UCB(), dpb.Bernoulli([0.5, 0.5]), horizon=100, runs=1100, seed=0)
    assert summary.mean[-1] == summary.quantile(0.95)[-1] == 0
    assert summary.at(0) == 0
    assert summary.checkpoints[summary.at(50)] <= 50


@pytest.mark.parametrize("runs", [30, 100, 400, 2000])
def test_the_interval_of_a_quantile_has_the_confidence_it_names(runs: int) -> None:
    """By the binomial distribution, exactly: the ends are runs, and no closer ones would do."""
    regrets = np.arange(1.0, runs + 1)[:, None]
    summary = RegretSummary(np.array([10**6]), np.array([1.0]))
    for chunk in np.array_split(regrets, math.ceil(runs / 64)):
        summary.add(chunk)
    for level in (0.5, 0.99):
        low, high = summary.quantile_interval(level)
        below = stats.binom(runs, level)
        assert below.cdf(math.floor(low * 0.995) - 1) <= 0.025  # of many runs the ends are right to 1%
        assert below.cdf(low * 1.01) >= 0.025
        if high == math.inf:
            assert below.cdf(runs - 1) < 0.975
        else:
            assert below.cdf(math.ceil(high * 1.005) - 1) >= 0.975
            assert below.cdf(high * 0.99 - 2) <= 0.975


def test_what_is_no_level_policy_or_summary_is_refused() -> None:
    summary = last(dpb.UCB(), 2)
    for level in (-0.1, 1.5, math.nan):
        with pytest.raises(dpb.InvalidInput, match=r"Expected level=.* in \[0, 1\]"):
            summary.quantile(level)
        with pytest.raises(dpb.InvalidInput, match=r"Expected level=.* in \[0, 1\]"):
            summary.quantile_interval(level)
    with pytest.raises(dpb.WrongKind, match="to be a policy"):
        last([dpb.UCB()], 2)  # type: ignore[arg-type]
    with pytest.raises(dpb.WrongKind, match="Expected begun='part' to be a summary"):
        last(dpb.UCB(), 2, begun="part")
