"""The account over many runs: with more allowed, nothing is refuted that was not before."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbandits as dpb
from dpbandits.auditing.account import Account
from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import GAUSSIAN, LAPLACE, RESPONSE, release
from dpbandits.mechanisms.linear import Secret
from dpbandits.privacy import Event, GaussianEvent, LaplaceEvent, compose

pytestmark = pytest.mark.slow

STEPS = 4
SCALES = (0.5, 1.0, 4.0, 30.0)

# A run: releases of some of four rewards, with a scale and a mechanism.
releases = st.tuples(
    st.sets(st.integers(1, STEPS), min_size=1),
    st.sampled_from(SCALES),
    st.sampled_from([LAPLACE, LAPLACE, LAPLACE, RESPONSE]),
    st.integers(1, 6),  # how often
)
runs = st.lists(st.lists(releases, max_size=3), min_size=1, max_size=4)
budgets = st.tuples(st.floats(0.01, 20.0), st.sampled_from([0.0, 1e-9, 1e-6, 0.01, 0.3]))


def settled(played: list[Any], delta: float, enough: float, mechanism: int | None = None) -> float:
    account = Account(STEPS, delta)
    for number, run in enumerate(played):
        noise = TaintNoise(number)
        for rewards, scale, kind, times in run:
            for _ in range(times):
                if kind == RESPONSE and mechanism is None:
                    release(noise, Secret(0.0, {("reward", min(rewards)): 1}), scale, RESPONSE)
                else:
                    form = {("reward", reward): 1 for reward in rewards}
                    release(noise, Secret(0.0, dict(form)), scale, LAPLACE if mechanism is None else mechanism)
        account.add(noise, "usual")
    account.settle(enough)
    return account.epsilon


@given(played=runs, stronger=budgets, more=st.floats(1.0, 3.0), delta=st.sampled_from([0.0, 1e-9, 1e-6, 0.01, 0.3]))
def test_a_weaker_claim_is_never_refuted_where_a_stronger_one_holds(
    played: list[Any], stronger: tuple[float, float], more: float, delta: float
) -> None:
    epsilon, small = stronger
    large = max(small, delta)
    is_refuted = settled(played, small, epsilon) > epsilon * (1 + 1e-9)
    is_weaker_refuted = settled(played, large, more * epsilon) > more * epsilon * (1 + 1e-9)
    assert is_refuted or not is_weaker_refuted


@settings(max_examples=10)
@given(played=runs)
def test_delta_never_costs_epsilon(played: list[Any]) -> None:
    found = [settled(played, delta, np.inf) for delta in (0.0, 1e-12, 1e-6, 0.1)]
    assert all(more_allowed <= less_allowed * (1 + 1e-9) for less_allowed, more_allowed in pairwise(found))
    gaussian = [settled(played, delta, np.inf, GAUSSIAN) for delta in (0.0, 1e-12, 1e-6, 0.1)]
    assert all(more_allowed <= less_allowed * (1 + 1e-9) for less_allowed, more_allowed in pairwise(gaussian))


def test_either_of_two_ways_is_within_what_each_of_them_loses() -> None:
    """One run or the other, each of epsilon 1: as one schedule they would be 2."""
    either = [[({1}, 1.0, LAPLACE, 1)], [({1}, 2.0, LAPLACE, 2)]]
    assert settled(either, 0.0, np.inf) == 1.0
    assert settled(either, 1e-9, np.inf) == pytest.approx(1.0, rel=1e-12)
    many = [[({1}, 30.0, LAPLACE, 90)], [({1}, 31.0, LAPLACE, 10)]]
    together = [LaplaceEvent(30.0)] * 90 + [LaplaceEvent(31.0)] * 10
    assert settled(many, 0.01, np.inf) == pytest.approx(compose(together, 0.01).epsilon)
    assert settled(many, 0.01, np.inf) < 3.0 == settled(many, 0.0, np.inf)


def test_a_policy_within_its_pure_claim_is_within_it_with_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its noises depend on the arms that were played, so all runs together have more of them than any one has."""
    monkeypatch.setattr("dpbandits.auditing.runs._MORE_RUNS", 0)  # lines that so few steps do not reach
    for delta in (0.0, 1e-9):
        result = dpb.exact_audit(dpb.HybridDMAB(epsilon=1.0), arms=2, horizon=16, claim=dpb.Budget(1.0, delta))
        assert not result.refuted
        assert result.epsilon == pytest.approx(1.0, rel=1e-9)


def test_terms_that_mean_many_rewards_are_charged_for_each_of_them() -> None:
    """Rewards 2..9 stand as one in the first run, 4..6 in the second: 4, 5 and 6 are charged with both."""

    def run(number: int, scale: float) -> TaintNoise:
        noise = TaintNoise(number)
        release(noise, Secret(0.0, {("reward", number): 1}), scale)
        return noise

    def played() -> Account:
        account = Account(10, 1e-6)
        account.add(run(2, 10.0), "one", {2: 9})
        account.add(run(4, 5.0), "two", {4: 6})
        return account

    account = played()
    assert account.losses.tolist() == [0.0, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.0]
    account.settle(np.inf)
    assert (account.worst, account.adversary) == (4, "two")
    assert account.epsilon == pytest.approx(0.2)
    charged = {number: [10.0] for number in range(2, 10)} | {number: [10.0, 5.0] for number in (4, 5, 6)}
    for number in range(1, 11):  # once more with a release of one reward that costs more than all of these
        noise = TaintNoise(number)
        release(noise, Secret(0.0, {("reward", number): 1}), 1.0, GAUSSIAN)
        account = played()
        account.add(noise, "three")
        account.settle(np.inf)
        events: list[Event | float] = [GaussianEvent(1.0), *map(LaplaceEvent, charged.get(number, []))]
        assert (account.worst, account.epsilon) == (number, compose(events, 1e-6).epsilon)
