"""Bandits to compare on: the built-in ones, and random ones that a seed repeats."""

import math
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.comparison import SETS, Case, cases, random_cases
from dpbandits.comparison.instances import INSTANCES, requested_cases
from dpbandits.environments import Replay
from dpbandits.reproduce.paper_experiments import TEN_ARMS, TWO_ARMS
from dpbandits.theory.lower_bounds import asymptotic_constant


def test_the_papers_instances_are_those_of_its_reproduction() -> None:
    for scenario, means in zip((TWO_ARMS, TEN_ARMS), INSTANCES["paper"].values(), strict=True):
        assert sorted(scenario.environment.means.tolist()) == sorted(means)


def test_five_arms_are_those_of_the_literature() -> None:
    """Constant, linear, convex and concave gaps from 0.75 to 0.25 (Sajed & Sheffet 2019)."""
    one, even, apart, close = INSTANCES["five-arms"].values()
    assert one == (0.75, 0.7, 0.7, 0.7, 0.7)
    steps = np.arange(5) / 4
    assert even == pytest.approx(0.75 - 0.5 * steps)
    assert apart == pytest.approx(0.25 + 0.5 * (1 - steps) ** 2)
    assert close == pytest.approx(0.75 - 0.5 * steps**2)
    assert asymptotic_constant(even, 0.1) == pytest.approx(41.68, abs=0.01)


def test_every_instance_at_every_epsilon() -> None:
    found = cases(["paper", "close"], [0.1, 1.0])
    assert len(found) == 2 * (len(INSTANCES["paper"]) + len(INSTANCES["close"]))
    assert len({case.name for case in found}) == len(found)
    assert {case.epsilon for case in found} == {0.1, 1.0}
    named = {f"{name}, ε = {level}": means for name, means in INSTANCES["paper"].items() for level in ("0.1", "1")}
    for case in found[:4]:
        assert case.environment.means.tolist() == list(named[case.name])
    assert {name for name in SETS if name != "random"} == set(INSTANCES)


def plain(cases: list[Case]) -> list[tuple[str, list[float], float]]:
    return [(case.name, case.environment.means.tolist(), case.epsilon) for case in cases]


def test_random_cases_are_repeated_by_their_seed_and_have_the_right_ranges() -> None:
    many = random_cases(2000, seed=5)
    assert plain(many[:10]) == plain(random_cases(10, seed=5)) == plain(cases(["random:10:5"], [1.0]))
    assert plain(random_cases(10, seed=6)) != plain(many[:10])
    assert len(cases(["random"], [1.0])) == 20
    assert {case.environment.arms for case in many} == set(range(2, 21))
    logs = np.array([math.log(case.epsilon) for case in many])
    assert math.log(0.05) <= logs.min() < math.log(0.051)
    assert math.log(1.96) < logs.max() <= math.log(2)
    # Uniform on the logarithmic scale: the mean of 2000 is within 4 standard errors, 6e-5 of false alarms.
    middle, error = (math.log(0.05) + math.log(2)) / 2, math.log(40) / math.sqrt(12 * 2000)
    assert abs(logs.mean() - middle) < 4 * error
    rare = np.mean([case.environment.means.max() < 0.3 for case in many])
    assert 0.44 < rare < 0.58  # a half, and few of the others by chance
    assert all(0 <= mean <= 1 for case in many for mean in case.environment.means)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["papers"], r"Expected instances='papers' to be one of paper, five-arms, close, many-arms, random:NUMBER"),
        (["paper:3"], "Expected instances='paper:3'"),
        (["random:x"], "Expected instances='random:x'"),
        (["random:3:4:5"], "Expected instances='random:3:4:5'"),
        (["random:0"], r"Expected number=0 in \[1, 1000000\]"),
        ([], "Expected at least one instance, of paper, five-arms"),
    ],
)
def test_unknown_instances_are_refused(sets: list[str], message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        cases(sets, [1.0])


def test_no_case_comes_twice_and_every_name_once() -> None:
    assert len(cases(["paper", "paper"], [1.0, 1.0])) == 2
    assert len(cases(["random:3", "random:3:0"], [1.0])) == 3
    close = cases(["paper"], [0.1234567, 0.1234568])
    assert len({case.name for case in close}) == len(close) == 4


def test_a_privacy_level_must_be_one() -> None:
    with pytest.raises(dpb.InvalidInput, match=r"Expected epsilon=0 in \[1e-06, inf\)"):
        cases(["paper"], [0])


def test_environments_are_cases_at_every_epsilon() -> None:
    two, table = dpb.Bernoulli([0.9, 0.6]), Replay([[0.123456789, 0.5]] * 40)
    found = requested_cases([two, table, Replay(0.9 * table.configure().table), two], [0.1, 1.0])
    long = "Replay(table=[[0.123456789, 0.5], [0.123456789, 0.5], [0.123..."
    assert [case.name for case in found[:4]] == [
        *("Bernoulli(means=[0.9, 0.6]), ε = 0.1", "Bernoulli(means=[0.9, 0.6]), ε = 1"),
        *(f"{long}, ε = 0.1", f"{long}, ε = 1"),
    ]
    assert len({case.name for case in found}) == 8
    assert [case.epsilon for case in found] == [0.1, 1.0] * 4
    (bare,) = requested_cases(two, None)
    assert bare == Case("Bernoulli(means=[0.9, 0.6])", two, math.inf)
    assert requested_cases(bare, None) == [bare]


@pytest.mark.parametrize(
    ("asked", "epsilons", "message"),
    [
        ([], None, "Expected at least one case, or an environment and one epsilon."),
        (dpb.Bernoulli([0.9, 0.6]), [], "Expected at least one case, or an environment and one epsilon."),
        ([[0.9, 0.6]], None, r"Expected \[0.9, 0.6\] to be a Case or an Environment, such as Bernoulli"),
        (Case("it", (0.9, 0.6), 1.0), None, "to be a Case or an Environment"),  # type: ignore[arg-type]
        (cases(["paper"], [1.0]), [1.0], r"Expected epsilons=\[1.0\] only with environments: a Case brings its own."),
        (cases(["paper"], [1.0]) * 2, None, "Expected cases with different names: '2 arms, ε = 1' is there more than"),
    ],
)
def test_odd_cases_are_refused(asked: Any, epsilons: list[float] | None, message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        requested_cases(asked, epsilons)
