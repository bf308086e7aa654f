"""Policies that are private in unusual ways, which nobody may accuse, and searches that lie, which nobody believes."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits._kernel import kernel
from dpbandits.auditing import ViewName
from dpbandits.auditing.actions_view import ActionsView
from dpbandits.auditing.pairs import Pair
from dpbandits.auditing.trials import Outcomes, Trials
from dpbandits.auditing.view import SEARCH, Candidate
from dpbandits.environments.environment import Environment
from dpbandits.mechanisms.draws import uniform
from dpbandits.mechanisms.state import public
from dpbandits.policies import Policy, Setup, hold, select, update
from dpbandits.policies.policy import every_step
from dpbandits.privacy import Guarantee

pytestmark = pytest.mark.slow

COIN, SOMETIMES, RESPONSE = range(3)


class Params(NamedTuple):
    what: int


class State(NamedTuple):
    chosen: Annotated[Any, public("one", dtype=np.int64)]


@select.register(Params)
@kernel
def _select(params: Params, state: State, t: int) -> int:
    return state.chosen[0]  # type: ignore[no-any-return]


hold.register(Params)(every_step)


@update.register(Params)
@kernel
def _update(params: Params, state: State, arm: int, plays: int, reward: float, t: int, noise: Any) -> None:
    if params.what == COIN:
        state.chosen[0] = 1 if uniform(noise) < 0.5 else 0
    elif params.what == SOMETIMES:  # with reward 1 only: arm 2 with a chance of a tenth
        if t == 2 and reward > 0.5:
            u = uniform(noise)
            state.chosen[0] = 1 if 0.45 < u < 0.55 else 0
    elif t == 2:  # the first reward, kept with a chance of e / (1 + e)
        bit = 1 if reward > 0.5 else 0
        state.chosen[0] = bit if uniform(noise) < 1.0 / (1.0 + math.exp(-1.0)) else 1 - bit


@dataclass(frozen=True)
class Private(Policy):
    what: int
    epsilon: float
    delta: float = 0.0
    name = "private"
    source = "this test"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.what), State)

    def guarantee(self, horizon: float = math.inf) -> Guarantee:
        return Guarantee(self.epsilon, self.delta, horizon=horizon, theorem="this test", proved=True)


@pytest.mark.parametrize("view", ["actions", "releases"])
@pytest.mark.parametrize(
    "policy",
    [Private(COIN, 0.01), Private(SOMETIMES, 0.01, 0.1)],
    ids=["coin", "sometimes"],
)
def test_randomness_of_their_own_protects_too(policy: Policy, view: ViewName) -> None:
    """Random numbers for exploration are no output: what depends on them may depend on the rewards as well."""
    for seed in range(5):
        result = dpb.audit(policy, view=view, horizon=4, trials=40_000, seed=seed, confidence=0.999)
        assert not result.refuted


def test_and_without_delta_the_actions_tell() -> None:
    assert dpb.audit(Private(SOMETIMES, 0.01), horizon=4, trials=40_000).refuted


def test_a_coin_that_is_just_as_private_as_it_says_is_hardly_ever_accused() -> None:
    """100 audits at 95%: if they accuse in 0.5%, as in test_audit, more than 2 come with a chance of 1.4%."""
    asked: dict[str, Any] = {"horizon": 2, "trials": 10_000}
    for seed in range(5):
        assert not dpb.audit(Private(RESPONSE, 1.0), view="releases", seed=seed, **asked).refuted
    assert sum(dpb.audit(Private(RESPONSE, 1.0), seed=seed, **asked).refuted for seed in range(100)) <= 2
    # They have power: a claim of 0.8 is refuted by most of them.
    assert sum(dpb.audit(Private(RESPONSE, 0.8), seed=seed, **asked).refuted for seed in range(20)) >= 10


def test_the_test_does_not_listen_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coins for nine steps, and a claim of 0.05: among 512 rare sequences some look telling in the search. Tested with
    fresh trials they are not; tested with the trials of the search, every audit would accuse."""
    asked: dict[str, Any] = {"horizon": 9, "trials": 20_000, "smallest_mass": 0.0}
    assert not any(dpb.audit(Private(COIN, 0.05), seed=seed, **asked).refuted for seed in range(8))

    outcomes = Trials.outcomes
    searched: dict[tuple[Trials, Environment], Outcomes] = {}  # in the half that says how much to take

    def noted(played: Trials, environment: Environment, trials: int, *key: int) -> Outcomes:
        found = outcomes(played, environment, trials, *key)
        if key[0] == SEARCH and key[-1] == 1:
            before = searched.get((played, environment))
            searched[played, environment] = found if before is None else before.joined(found)
        return found

    def reused(view: ActionsView, pair: Pair, candidates: list[Candidate], trials: int, number: int) -> Any:
        counts = []
        for candidate in candidates:
            sides = [searched[view.trials, side].beginnings(candidate.event.later) for side in candidate.sides]
            shares = [side.count(candidate.event.codes).sum() / side.trials for side in sides]
            counts.append(tuple(int(trials * share) for share in shares))
        return counts

    monkeypatch.setattr(Trials, "outcomes", noted)
    monkeypatch.setattr(ActionsView, "count", reused)
    assert sum(dpb.audit(Private(COIN, 0.05), seed=seed, **asked).refuted for seed in range(8)) >= 4
