"""Arms in random order: a plan is the average over the places of the best arm, and says so where nothing is learnt."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpbandits as dpb
from dpbandits.comparison import Plan, plan
from dpbandits.policies import Policy
from dpbandits.simulation.runner import played_chunks

pytestmark = pytest.mark.slow

RUNS = 1200


class Setting(NamedTuple):
    """Arms of which one is better by a gap, for so many people, and a policy."""

    arms: int
    horizon: int
    rate: float
    gap: float
    policy: Policy

    def means(self, best: int) -> list[float]:
        return [self.rate + self.gap * (arm == best) for arm in range(self.arms)]

    def plan(self) -> Plan:
        return plan({"it": lambda epsilon: self.policy}, self.means(0), horizon=self.horizon, epsilons=[1.0], runs=RUNS)

    def shares(self, best: int) -> NDArray[np.float64]:
        """Return the share of people with another arm in every run, the best standing at this place."""
        environment, end = dpb.Bernoulli(self.means(best)), np.array([self.horizon])
        kinds = np.arange(self.arms)
        played: Any = played_chunks(self.policy, environment, end, runs=RUNS // self.arms, seed=best + 1, kinds=kinds)
        return np.asarray(1 - np.concatenate([chunk.plays[:, -1, best] for chunk in played]) / self.horizon)


def settings() -> Iterator[Setting]:
    """Yield 20: 2 to 10 arms, 300 to 30,000 people, success rates from 1% to 50%, a policy that begins arm by arm."""
    dice = np.random.default_rng(40)
    for i in range(20):
        horizon = int(np.geomspace(300, 3e4, 20)[i].round())
        rate = float(np.exp(dice.uniform(math.log(0.01), math.log(0.5))))
        epsilon = float(np.exp(dice.uniform(math.log(0.02), math.log(0.5))))
        yield Setting(
            int(dice.integers(2, 11)),
            horizon,
            rate,
            rate * float(dice.uniform(0.1, 1)),
            dpb.recommended(epsilon=epsilon),
        )


SETTINGS = list(settings())
# So many errors away from the truth is any of the 20 with a chance of 1% (normal, Bonferroni).
LIMIT = float(stats.norm.isf(0.01 / len(SETTINGS) / 2))


@pytest.fixture(scope="module")
def places() -> list[list[NDArray[np.float64]]]:
    """For every setting, the runs with the best arm at each place, in the given order."""
    return [[setting.shares(best) for best in range(setting.arms)] for setting in SETTINGS]


def average(places: list[NDArray[np.float64]]) -> tuple[float, float]:
    """Return the mean over the places, and its standard error."""
    variance = sum(place.var(ddof=1) / len(place) for place in places) / len(places) ** 2
    return float(np.mean([place.mean() for place in places])), math.sqrt(variance)


def distance(mean: float, error: float, expected: tuple[float, float]) -> float:
    return abs(mean - expected[0]) / max(math.hypot(error, expected[1]), 1e-9)


def test_a_plan_is_the_average_over_the_places_of_the_best_arm(
    places: list[list[NDArray[np.float64]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpbandits.comparison.planning._STEPS", 1.0)  # few runs of the yardstick, which is slow
    hopeless = 0
    for setting, at_place in zip(SETTINGS, places, strict=True):
        expected = average(at_place)
        asked = setting.plan()
        (found,) = asked.answers
        assert distance(found.worse.mean, found.worse.error, expected) < LIMIT
        if expected[0] > 0.95 * asked.lots:
            hopeless += 1
            assert "do clearly even 5% fewer people get a worse arm" in asked.sentences()[-1]
    assert hopeless >= 10


def test_no_single_place_is_the_average(places: list[list[NDArray[np.float64]]]) -> None:
    """The same comparison rejects the order in which the best arm stands in the middle."""
    rejected = 0
    for at_place in places:
        middle = at_place[len(at_place) // 2]
        error = float(middle.std(ddof=1) / math.sqrt(len(middle)))
        rejected += distance(float(middle.mean()), error, average(at_place)) > LIMIT
    assert rejected >= 5
