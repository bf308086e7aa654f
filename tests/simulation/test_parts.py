"""Parts are found again by all they were computed from, also by what a user's own policy does."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import kernel
from dpbandits.mechanisms import public
from dpbandits.policies import Policy, Setup, hold, select, update
from dpbandits.policies.base import every_step
from dpbandits.simulation.parts import Parts

TWO = dpb.Bernoulli([0.9, 0.6])


def constant_policy(arm: int) -> Policy:
    """Return a policy that always plays one arm, and whose text does not say which."""

    class Params(NamedTuple):
        unused: float

    class State(NamedTuple):
        counts: Annotated[Any, public("arms", dtype=np.int64)]

    @select.register(Params)
    @kernel
    def _select(params: Any, state: Any, t: int) -> int:
        return arm

    hold.register(Params)(every_step)

    @update.register(Params)
    @kernel
    def _update(params: Any, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
        state.counts[arm] += plays

    @dataclass(frozen=True)
    class Constant(Policy):
        name = "constant"
        source = "this file"

        def configure(self, arms: int, horizon: int) -> Setup:
            return Setup(Params(0.0), State, {"arms": arms})

        def guarantee(self, horizon: float = np.inf) -> None:
            return None

        def __repr__(self) -> str:
            return "Constant()"

    return Constant()


def mean(parts: Parts, policy: Policy, environment: dpb.Bernoulli = TWO) -> float:
    return float(parts.summary(policy, environment, horizon=100, runs=5, seed=0).mean[-1])


def test_another_kernel_is_another_part(tmp_path: Path) -> None:
    for _ in range(2):  # the second time from the folder
        assert mean(Parts(tmp_path), constant_policy(0)) == 0.0
        assert mean(Parts(tmp_path), constant_policy(1)) == pytest.approx(30.0)
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_asked_is_in_the_name(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    asked: dict[str, Any] = {"horizon": 100, "runs": 5, "seed": 0}
    changes: list[dict[str, Any]] = [{}, {"horizon": 101}, {"runs": 6}, {"seed": 1}, {"points": 7}, {"shuffled": True}]
    for changed in changes:
        parts.summary(dpb.UCB(), TWO, **{**asked, **changed})
    parts.summary(dpb.UCB(), dpb.Bernoulli([0.9, 0.61]), **asked)
    parts.summary(dpb.IMED(), TWO, **asked)
    assert len(list(tmp_path.iterdir())) == 8


def test_points_in_time_are_as_many_as_asked() -> None:
    few = list(dpb.simulation.summarise(dpb.UCB(), TWO, horizon=1000, runs=3, seed=0, points=5))[-1]
    many = list(dpb.simulation.summarise(dpb.UCB(), TWO, horizon=1000, runs=3, seed=0))[-1]
    assert len(few.checkpoints) == 5
    assert few.mean[-1] == many.mean[-1]
    with pytest.raises(dpb.InvalidInput, match=r"Expected points=0 in \[1, 10000\]"):
        list(dpb.simulation.summarise(dpb.UCB(), TWO, horizon=1000, runs=3, seed=0, points=0))
