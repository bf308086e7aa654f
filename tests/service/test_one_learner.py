"""The same script through a Bandit and through a database, with shared noise: the same arms, ledgers and estimates."""

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy
from dpbandits.service.overviews import acknowledged_overview
from dpbandits.service.steps import Assign, Forget, ReleaseDue, Reward
from dpbandits.service.writer import Writer
from service_stores import Place, begun, configured
from shared_noise import ConstantNoise, SharedNoise

pytestmark = pytest.mark.slow

ARMS = ["A", "B", "C"]
POLICIES: list[Policy] = [
    dpb.NoiseAwareIMED(epsilon=9.0, first_phase=1, growth=1.3),
    dpb.DPUCBInt(epsilon=90.0, delta=0.0, horizon=300),
]
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "three rewards": {"contributions": 3},
    "fresh choices": {"contributions": 2, "sticky": False, "shares": {"B": 0.3}},
    "open": {"window": 30.0},
    "sealed": {"window": 30.0, "timing": "sealed", "contributions": 2},
}


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: float = 1e9 + 1 / 3

    def __call__(self) -> float:
        return self.now


def script(settings: dict[str, Any], seed: int) -> list[tuple[Any, ...]]:
    """Return what happens: who comes, which of the assignments so far is answered, who is forgotten, time."""
    dice = random.Random(f"script {seed}")  # noqa: S311
    steps: list[tuple[Any, ...]] = []
    assigned = 0
    for _ in range(220):
        what = dice.choices(["assign", "answer", "time", "due", "forget"], weights=[8, 12, 3, 1, 0.3])[0]
        if what == "assign":
            key = f"visit {dice.randrange(3)}" if dice.random() < 0.2 else None
            steps.append(("assign", f"person {dice.randrange(150)}", key))
            assigned += 1
        elif what == "answer" and assigned:
            recent = max(1, assigned - dice.choice([3, 5, 20]))
            key = f"answer {dice.randrange(40)}" if dice.random() < 0.5 else None
            steps.append(("answer", dice.randrange(recent, assigned + 1), dice.choice([0.0, 0.3, 1.0, None, 7.0]), key))
        elif what == "forget":
            steps.append(("forget", f"person {dice.randrange(150)}"))
        elif "window" in settings:
            steps.append((what, dice.choice([0.5, 1.0, 4.1, 29.9, -3.0])))
    return steps


def played_by_bandit(
    policy: Policy, settings: dict[str, Any], steps: list[tuple[Any, ...]], noise: SecureNoise
) -> list[Any]:
    clock = Clock()
    bandit = dpb.Bandit(policy, ARMS, noise=noise, clock=clock, accept_delta=True, **settings)
    tag = bandit.assign("first").id.split("-")[0]
    seen: list[Any] = []
    for what, *rest in steps:
        try:
            if what == "assign":
                given = bandit.assign(rest[0], key=rest[1])
                seen.append((given.id.partition("-")[2], given.arm, given.is_new))
            elif what == "answer":
                seen.append(bandit.close(f"{tag}-{rest[0]}", rest[1], key=rest[2]))
            elif what == "forget":
                bandit.forget(rest[0])
            elif what == "due":
                seen.append(bandit.release_due())
            else:
                clock.now += rest[0]
        except dpb.InvalidInput as problem:
            seen.append(_text(problem))
    return [*seen, bandit.ledger.to_jsonl(), bandit.spent(), bandit.estimates(), bandit.exhausted]


def played_by_store(
    place: Place,
    policy: Policy,
    settings: dict[str, Any],
    steps: list[tuple[Any, ...]],
    noise: SecureNoise,
    *,
    forgetful: bool = False,
) -> list[Any]:
    clock = Clock()
    options = {**settings, "shares": (0.0, 0.3, 0.0) if "shares" in settings else None}
    with place.store(clock=clock) as store:
        begun(store, "trial", configured(policy, ARMS, **options))
        begun(store, "another")
        with Writer(store, make_source=lambda name, bits: noise, most_learners=1) as writer:
            tag = writer.take(Assign("trial", "first")).id.split("-")[0]
            seen: list[Any] = []
            for what, *rest in steps:
                if forgetful:
                    writer.take(ReleaseDue("another"))
                try:
                    if what == "assign":
                        given = writer.take(Assign("trial", *rest))
                        seen.append((given.id.partition("-")[2], given.arm, given.is_new))
                    elif what == "answer":
                        seen.append(writer.take(Reward(f"{tag}-{rest[0]}", rest[1], rest[2])))
                    elif what == "forget":
                        writer.take(Forget(rest[0]))
                    elif what == "due":
                        seen.append(writer.take(ReleaseDue("trial")))
                    else:
                        clock.now += rest[0]
                except dpb.InvalidInput as problem:
                    seen.append(_text(problem))
            overview = acknowledged_overview(store, "trial")
    return [*seen, overview.ledger.to_jsonl(), overview.spent(), overview.estimates(0.95), overview.exhausted]


def _text(problem: dpb.InvalidInput) -> str:
    """Return what an error says, without the tag of its bandit; what is no assignment has a word of its own in HTTP."""
    if "to be one of this bandit's" in str(problem) or isinstance(problem, dpb.NotFound):
        return "no such assignment"
    return f"{type(problem).__name__}: {re.sub('[0-9a-f]{16}-', '', str(problem))}"


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_all_that_can_be_seen_is_the_same(place: Place, policy: Policy, settings: str) -> None:
    steps = script(SETTINGS[settings], seed=len(settings))
    expected = played_by_bandit(policy, SETTINGS[settings], steps, SharedNoise(3))
    assert played_by_store(place, policy, SETTINGS[settings], steps, SharedNoise(3)) == expected
    assert expected[-4].count("\n") > 5  # there were releases


@pytest.mark.parametrize("settings", ["three rewards", "sealed"])
def test_it_stays_the_same_where_everything_is_read_again_before_every_step(place: Place, settings: str) -> None:
    steps = script(SETTINGS[settings], seed=1)[:130]
    noise = ConstantNoise(steps=701)
    expected = played_by_bandit(POLICIES[0], SETTINGS[settings], steps, noise)
    assert played_by_store(place, POLICIES[0], SETTINGS[settings], steps, noise, forgetful=True) == expected
    assert expected[-4].count("\n") > 3


def test_there_is_one_place_that_chooses_an_arm_and_one_that_releases() -> None:
    source = Path(dpb.__file__).parent
    files = [path for room in ("live", "service") for path in (source / room).rglob("*.py")]

    def calling(*words: str) -> dict[str, int]:
        found = {path.name: sum(path.read_text("utf-8").count(word) for word in words) for path in files}
        return {name: times for name, times in found.items() if times}

    assert calling("= checked_arm(") == {"learner.py": 1}
    assert calling("select(params,", "select(self.params,") == {"policy_choice.py": 1}
    assert calling("releaser.release(") == {"learner.py": 1}
    assert calling("release(self._source,", ".reserve(") == {"live_noise.py": 1}
