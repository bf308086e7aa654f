"""An environment of a user's is tried out before anything is played: range, numbers, means, sums of blocks."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import kernel
from dpbandits.environments import Environment, block_sum, one_by_one, reward
from dpbandits.mechanisms import uniform
from dpbandits.simulation.trying_out import try_out


class Params(NamedTuple):
    means: Any
    wrong: int


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    if params.wrong == 1 and t > 500:
        return 1.5
    if params.wrong == 2 and arm == 1:
        return math.nan
    if params.wrong == 3:
        return float(params.means[1 - arm])
    if params.wrong == 5:
        return float(2.0 * params.means[arm] * (t % 2))  # depends on time, with the right mean
    return float(2.0 * params.means[arm] * uniform(noise))


@block_sum.register(Params)
@kernel
def _block_sum(params: Params, arm: int, plays: int, t: int, noise: Any) -> float:
    if params.wrong == 4:
        return 0.8 * plays
    return one_by_one(params, arm, plays, t, noise)


class Mine(Environment):
    def __init__(self, wrong: int) -> None:
        self.wrong = wrong
        super().__init__([0.5, 0.3], wrong=str(wrong))

    def configure(self) -> Params:
        return Params(np.array([0.5, 0.3]), self.wrong)


@pytest.mark.parametrize("right", [0, 5])
def test_a_right_environment_is_played(right: int) -> None:
    try_out(Mine(right), 10_000)


class Table(Mine):
    """Rewards that end."""

    longest = 60

    def __init__(self) -> None:
        super().__init__(6)


@pytest.mark.parametrize("horizon", [1, 30, 60])
def test_nothing_is_asked_for_beyond_the_last_reward(horizon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(params: Params, arm: int, plays: int, t: int, noise: Any) -> float:
        asked.append(t + plays - 1)
        return one_by_one(params, arm, plays, t, noise)

    monkeypatch.setattr("dpbandits.simulation.trying_out.block_sum", noted)
    try_out(Table(), horizon)
    assert max(asked) == horizon


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (1, r"Expected rewards of Mine for arm 0 in \[0, 1\], not 1\.5\."),
        (2, r"Expected rewards of Mine for arm 1 in \[0, 1\], not nan\."),
        (3, r"Expected rewards of Mine for arm 0 to have the mean 0\.5 that it states, not 0\.3\."),
        (4, r"Expected sums of blocks of Mine for arm 0 to have the mean 0\.5 that it states, not 0\.8\."),
    ],
)
@pytest.mark.parametrize("play", [dpb.simulate, dpb.compare, dpb.plan], ids=["simulate", "compare", "plan"])
def test_a_wrong_environment_is_refused(play: Callable[..., Any], wrong: int, message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        play(dpb.recommended(epsilon=1.0), Mine(wrong), horizon=1000, runs=20)
