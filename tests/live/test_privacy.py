"""Nothing but releases gets out, and they cost what the guarantee says, however and whenever answers come."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.engine.game import Game
from dpbandits.mechanisms.linear import Leak
from dpbandits.policies import Policy
from dpbandits.privacy import DiscreteLaplaceEvent, compose
from servable_policies import HORIZON, SERVABLE, shown
from shared_noise import SharedNoise
from tainted_noise import TaintedNoise
from ways_of_answering import WAYS, Rewards

pytestmark = pytest.mark.slow

every_servable_policy = pytest.mark.parametrize("policy", SERVABLE, ids=shown)
every_way = pytest.mark.parametrize("way", WAYS)
# Every policy in three ways, every way with half of the policies. The other half of the pairs is in the tests of rows.
half_of_the_pairs = pytest.mark.parametrize(
    ("policy", "way"),
    [(policy, way) for i, policy in enumerate(SERVABLE) for j, way in enumerate(WAYS) if (i + j) % 2 == 0],
    ids=lambda value: value if isinstance(value, str) else shown(value),
)
GRID = 2**12
PEOPLE = 300


def bandit_of(policy: Policy, noise: Any, **options: Any) -> dpb.Bandit:
    return dpb.Bandit(policy, 3, noise=noise, accept_delta=True, **options)


def rewards(person: int, arm: int) -> float | None:
    draw = np.random.default_rng([person, arm]).random()
    return None if draw < 0.1 else float(draw < 0.3 + 0.2 * arm)


@half_of_the_pairs
def test_the_exact_loss_of_every_reward_is_within_the_guarantee(policy: Policy, way: str) -> None:
    noise = TaintedNoise(3)
    bandit = bandit_of(policy, noise)
    WAYS[way](bandit, rewards, HORIZON + 100)  # some arrive after the end
    losses = noise.taint.losses()
    worst = max(losses.values())
    assert len(noise.taint.releases) == len(bandit.ledger) - 1 >= 3
    if bandit.guarantee.delta == 0:
        assert worst <= bandit.guarantee.epsilon * (1 + 1e-12)
        assert worst == pytest.approx(bandit.spent().epsilon, rel=1e-12)
    else:
        # The releases that the worst reward is in, as the noise that is drawn live, by the tightest theorem.
        (number, *_) = (number for number, loss in losses.items() if loss == worst)
        scales = [
            noise.taint.scales[drawn]
            for form in noise.taint.releases
            if ("reward", number) in form
            for kind, drawn in form
            if kind == "noise"
        ]
        assert worst == pytest.approx(math.fsum(1 / scale for scale in scales), rel=1e-12)
        events = [DiscreteLaplaceEvent(scale * GRID, GRID) for scale in scales]
        assert compose(events, bandit.guarantee.delta).epsilon <= bandit.guarantee.epsilon
        assert bandit.spent().epsilon <= bandit.guarantee.epsilon
    assert bandit.guarantee.proved


@pytest.mark.parametrize("sticky", [True, False])
@pytest.mark.parametrize("contributions", [2, 5])
@pytest.mark.parametrize("policy", [SERVABLE[0], SERVABLE[2], *SERVABLE[5:]], ids=shown)
def test_a_person_with_several_rewards_has_the_budget_of_the_policy(
    policy: Policy, contributions: int, sticky: bool
) -> None:
    noise = TaintedNoise(3)
    bandit = bandit_of(policy, noise, contributions=contributions, sticky=sticky)
    people: list[int] = []
    dice = np.random.default_rng(1)
    for _ in range(HORIZON):
        person = int(dice.integers(HORIZON // 3))
        before = noise.encoded
        assignment = bandit.assign(unit=person)
        if assignment.is_new:
            bandit.close(assignment, float(dice.random() < 0.5))
        people += [person] * (noise.encoded - before)
    assert max(Counter(people).values()) == contributions
    by_person: Counter[int] = Counter()
    for number, loss in noise.taint.losses().items():
        by_person[people[number - 1]] += Fraction(loss)  # type: ignore[assignment]
    assert bandit.guarantee.within(dpb.Budget(policy.epsilon, getattr(policy, "delta", 0.0)))  # type: ignore[attr-defined]
    assert bandit.guarantee.epsilon > 0.9 * policy.epsilon  # type: ignore[attr-defined]
    if bandit.guarantee.delta == 0:
        assert max(by_person.values()) <= bandit.guarantee.epsilon * (1 + 1e-9)
    assert f"up to {contributions} rewards of one person" in str(bandit.guarantee)


def test_the_taint_run_finds_a_leak() -> None:
    """A reward that is read on its way is noticed: the check has power."""

    class Reading(TaintedNoise):
        def encode(self, reward: float) -> Any:
            return super().encode(reward) if reward == 0 else abs(super().encode(reward))

    with pytest.raises(Leak):
        WAYS["step"](bandit_of(SERVABLE[0], Reading(1)), rewards, 100)


@cache
def served(policy: Policy, way: str) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the arms and the releases of a bandit at work; others are compared with them."""
    return at_work(policy, way, rewards)


def at_work(policy: Policy, way: str, answers: Rewards) -> tuple[list[Any], list[dict[str, Any]]]:
    bandit = bandit_of(policy, SharedNoise(11))
    arms = WAYS[way](bandit, answers, PEOPLE)
    assert bandit.ledger.verify() == bandit.ledger.head
    return arms, [dict(row.content) for row in bandit.ledger][1:]


@every_servable_policy
@every_way
def test_two_bandits_that_differ_in_one_reward_agree_until_the_release_that_contains_it(
    policy: Policy, way: str
) -> None:
    """An early one and a late one; which of two depends on policy and way."""
    arms, rows = served(policy, way)
    for changed in ((1, 30), (2, 77))[(SERVABLE.index(policy) + list(WAYS).index(way)) % 2]:
        before = rewards(changed, arms[changed - 1])
        assert before is not None
        other_arms, other_rows = at_work(policy, way, replaced(changed, 1.0 - before))
        first = next(
            (
                i
                for i, row in enumerate(rows)
                if row["arm"] == arms[changed - 1] and row["first"] <= changed <= row["last"]
            ),
            None,
        )
        if first is None:  # its block never released
            assert other_arms == arms
            assert other_rows == rows
            continue
        assert other_rows[:first] == rows[:first]
        assert other_rows[first] | {"value": None} == rows[first] | {"value": None}
        assert other_rows[first]["value"] - rows[first]["value"] == pytest.approx(1.0 - 2 * before)
        # The release can be made when the last of its block has been assigned, not before.
        known = rows[first]["last"]
        assert other_arms[:known] == arms[:known]


def replaced(changed: int, other: float) -> Rewards:
    return lambda person, arm: other if person == changed else rewards(person, arm)


def test_one_reward_can_change_what_follows() -> None:
    """The test above is not about bandits that never learn: some reward does change later choices."""
    played = []
    for other in (0.0, 1.0):
        bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=300.0, delta=0.0, horizon=500), 2, noise=SharedNoise(1))
        played.append(WAYS["step"](bandit, replaced(1, other), 100))
    assert played[0] != played[1]


@every_servable_policy
def test_one_at_a_time_is_the_policy_as_it_is_simulated(policy: Policy) -> None:
    """Same kernels, same noise, same choices. Live arms begin in turn, some policies begin block by block.

    So the rewards are those of the n-th play of an arm, whenever it is, and up to the first releases order is free.
    """
    live = WAYS["step"](bandit_of(policy, SharedNoise(4)), of_plays(), HORIZON)
    noise, answers = SharedNoise(4), of_plays()
    game = Game(policy.live(1, 12), 3, HORIZON, noise, np.int64)
    game.play(lambda t, arm: noise.encode(answers(t, arm) or 0.0), HORIZON)
    opening = 3 * next(policy.live(1, 12).blocks(HORIZON)).last
    assert live[opening:] == game.actions[opening:]
    assert live[:opening] == [0, 1, 2] * (opening // 3)
    assert game.actions[:opening] in (live[:opening], sorted(live[:opening]))
    assert opening < HORIZON / 2
    if policy.name in ("dp-ucb-int", "phases"):  # these begin in turn everywhere
        assert live == game.actions


def of_plays() -> Rewards:
    """Return rewards that depend on the arm and on how often it has been played."""
    played: Counter[int] = Counter()

    def answer(person: int, arm: int) -> float | None:
        played[arm] += 1
        return rewards(played[arm], arm)

    return answer


@every_servable_policy
@every_way
def test_ledger_rows_are_a_beginning_of_the_declared_blocks(policy: Policy, way: str) -> None:
    arms, released = served(policy, way)
    assert len(released) >= 3
    by_arm: dict[int, list[dict[str, Any]]] = {0: [], 1: [], 2: []}
    for release in released:
        by_arm[release["arm"]].append(release)
    for arm, rows in by_arm.items():
        blocks = policy.live(1, 12).blocks(HORIZON)
        entered = [number for number, chosen in enumerate(arms, start=1) if chosen == arm]
        for number, (row, block) in enumerate(zip(rows, blocks, strict=False), start=1):
            assert (row["release"], row["count"]) == (number, block.last - block.first + 1)
            assert block.scale * GRID <= row["scale"] <= block.scale * GRID * (1 + 2**-23)
            assert math.frexp(row["scale"])[0] * 2**24 % 1 == 0
            assert row["epsilon"] <= 1 / block.scale * (1 + 1e-12)
            assert row["sensitivity"] == GRID
            assert {row["first"], row["last"]} <= set(entered)
            assert len(entered) >= block.last


def everything_shown(bandit: dpb.Bandit) -> list[str]:
    shown_things: list[Any] = [bandit, bandit.spent(), bandit.ledger.to_jsonl(), bandit.exhausted, bandit.guarantee]
    shown_things += [bandit.estimates(), bandit.compare(0, 1), bandit.open_assignments(), bandit.arms, bandit.policy]
    texts = list(map(str, shown_things))
    for tag in {a.id.split("-")[0] for a in bandit.open_assignments()}:  # each bandit has its own
        texts = [text.replace(tag, "tag") for text in texts]
    return texts


@every_way
def test_nothing_is_shown_of_answers_that_are_in_no_release(way: str) -> None:
    """Whatever they are, and whether they came at all: everything that can be read or printed is the same."""
    seen = []
    for reward in (0.0, 0.123, 1.0, None):
        bandit = bandit_of(dpb.DPUCBInt(epsilon=0.5, delta=0.0, horizon=HORIZON), SharedNoise(1))

        def answer(person: int, arm: Any, reward: float | None = reward) -> float | None:
            return reward

        seen.append([[*WAYS[way](bandit, answer, 5), *everything_shown(bandit)] for _ in range(5)])
        assert len(bandit.ledger) == 1
    assert seen[0] == seen[1] == seen[2] == seen[3]


def test_everything_shown_in_a_taint_run_is_public() -> None:
    """Reading whatever there is to read opens no secret."""
    bandit = bandit_of(SERVABLE[0], TaintedNoise(2))
    for person in range(1, 200):
        WAYS["at once"](bandit, rewards, 1)
        if person % 10 == 0:
            everything_shown(bandit)
    assert len(bandit.ledger) > 5
