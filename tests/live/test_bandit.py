"""What a program sees of a Bandit: names, places, late and missing answers, units, limits, and clear refusals."""

import copy
import json
import math
import os
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live import Assignment, Spent
from dpbandits.live.configuration import Terms
from dpbandits.live.spent_budget import spent_on, worst_scales
from dpbandits.mechanisms import (
    SecureNoise,
    SeededNoise,
)
from dpbandits.policies import Policy
from dpbandits.privacy import DiscreteLaplaceEvent, compose, zcdp_epsilon
from explore_then_commit import ExploreThenCommit
from insides import state_of
from shared_noise import SharedNoise
from threads import in_threads
from ways_of_answering import step_by_step

pytestmark = pytest.mark.slow

PLAYS = 5
POLICY = ExploreThenCommit(epsilon=1.0, plays=PLAYS)  # one block of five for every arm


def fresh(**options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], **options)


@dataclass(frozen=True, kw_only=True)
class TupleSettings(ExploreThenCommit):
    pair: tuple[int, int] = (1, 2)


# ---- handing out and closing


def test_first_blocks_are_handed_out_in_turn_and_release_when_closed() -> None:
    bandit = fresh()
    assignments = [bandit.assign() for _ in range(2 * PLAYS)]
    assert [a.arm for a in assignments] == ["A", "B"] * PLAYS
    assert len({a.id for a in assignments}) == 2 * PLAYS
    for a in assignments[::2]:
        assert len(bandit.ledger) == 1
        bandit.close(a, 1.0)
    (_, row) = bandit.ledger
    assert {key: row.content[key] for key in ("arm", "release", "count", "first", "last")} == {
        "arm": 0,
        "release": 1,
        "count": PLAYS,
        "first": 1,
        "last": 2 * PLAYS - 1,
    }
    assert bandit.open_assignments() == assignments[1::2]
    assert not bandit.exhausted  # the block of B is out
    for a in assignments[1::2]:
        assert a.id is not None
        bandit.close(a.id, 0.0)  # by id
    assert len(bandit.ledger) == 3
    assert bandit.exhausted  # one block each is the whole schedule


def test_more_people_than_places_get_arms_in_turn_and_then_the_leader() -> None:
    """While answers are awaited nobody waits; what has no place enters nothing."""
    bandit = fresh(noise=SharedNoise(1))
    early = [bandit.assign() for _ in range(2 * PLAYS)]
    over = [bandit.assign() for _ in range(4)]
    assert [a.arm for a in over] == ["A", "B", "A", "B"]
    for a in over:
        bandit.close(a, 1.0)  # outside of any block
    assert len(bandit.ledger) == 1
    for a in early:
        bandit.close(a, 1.0 if a.arm == "B" else 0.0)
    means = bandit.estimates()
    leader = "B" if (means["B"].mean or 0) > (means["A"].mean or 0) else "A"
    assert {bandit.assign().arm for _ in range(20)} == {leader}


def test_overflow_fills_the_leaders_next_blocks() -> None:
    bandit = dpb.Bandit(Phases(epsilon=50.0), ["A", "B", "C"])  # blocks of 8, 16, 32, ...
    for _ in range(24):
        arm = bandit.select()
        bandit.update(arm, 1.0 if arm == "B" else 0.0)
    flood = [bandit.assign() for _ in range(200)]
    assert {a.arm for a in flood} == {"B"}
    for a in reversed(flood):
        bandit.close(a, 1.0)
    assert [row.content["release"] for row in bandit.ledger if row.number > 3] == [2, 3, 4]  # in order
    assert bandit.estimates()["B"].rewards == 8 + 16 + 32 + 64
    # The policy chose B's second block; while that waited B, the leader, filled the blocks after it.
    step_by_step(bandit, lambda n, arm: 1.0, 128 - 88)
    rows = [row.content for row in bandit.ledger if row.number > 3]
    assert [(row["first"], row["last"]) for row in rows] == [(25, 40), (41, 72), (73, 136), (137, 264)]


def test_while_the_chosen_arm_awaits_answers_people_get_the_leader() -> None:
    """After a second block B has the best mean, and C, tried less, the best index: it is chosen for one block."""
    bandit = dpb.Bandit(Phases(epsilon=50.0), ["A", "B", "C"])
    rewards = {"A": 0.0, "B": 1.0, "C": 0.9}
    for _ in range(24 + 16):
        arm = bandit.select()
        bandit.update(arm, rewards[str(arm)])
    assert [row.content["arm"] for row in bandit.ledger if row.number] == [0, 1, 2, 1]
    waiting = [bandit.assign() for _ in range(30)]
    assert [a.arm for a in waiting] == ["C"] * 16 + ["B"] * 14
    more = [bandit.assign() for _ in range(18)]
    for a in waiting + more:
        bandit.close(a, 0.0)
    released = [(row.content["arm"], row.content["first"], row.content["last"]) for row in list(bandit.ledger)[5:]]
    assert released == [(2, 41, 56), (1, 57, 88)]  # what B got is its third block


def test_a_later_block_waits_for_the_one_before() -> None:
    bandit = dpb.Bandit(Phases(epsilon=1.0), 2)
    assignments = [bandit.assign() for _ in range(48)]  # two blocks of each arm: 8 and 16
    held = assignments[0]
    for a in assignments[1:]:
        bandit.close(a, 0.5)
    assert [(row.content["arm"], row.content["release"]) for row in bandit.ledger if row.number] == [(1, 1), (1, 2)]
    bandit.close(held, 0.5)
    assert [(row.content["arm"], row.content["release"]) for row in list(bandit.ledger)[3:]] == [(0, 1), (0, 2)]


def test_a_missing_answer_is_the_default_reward() -> None:
    """Shared noise: closing without an answer releases what closing with the default reward releases."""
    for default, expected in ((None, 1.0), (3.0, 3.0)):
        values = []
        for reward in (None, expected):
            bandit = fresh(noise=SharedNoise(3), reward_bounds=(1, 5), default_reward=default)
            for _ in range(2 * PLAYS):
                bandit.close(bandit.assign(), reward)
            values.append([row.content["value"] for row in bandit.ledger if row.number])
        assert values[0] == values[1]


def test_rewards_are_scaled_rounded_to_the_grid_and_clipped_if_wanted() -> None:
    noiseless = SharedNoise(1, grid_bits=4)
    noiseless.draw = lambda scale, mechanism: 0  # type: ignore[method-assign]
    bandit = fresh(noise=noiseless, reward_bounds=(-2, 2), out_of_bounds="clip")
    rewards: dict[str | int, list[float]] = {"A": [-5, 9, 0.0, 0.12, -0.13], "B": [-2, -2, -2, 2, 2]}
    for i in range(PLAYS):
        for arm, values in rewards.items():
            assert bandit.select() == arm
            bandit.update(arm, values[i])
    released = [row.content["value"] for row in bandit.ledger if row.number]
    assert released == [0 + 1 + 0.5 + 0.5 + 0.5 - 0.0625 * (round(0.4675 * 16) != 8), 2.0]
    assert bandit.estimates()["B"].mean == pytest.approx(-2 + 4 * 2 / 5)


def test_select_and_update_go_one_at_a_time() -> None:
    bandit = fresh()
    arm = bandit.select()
    assert bandit.select() == bandit.select() == arm  # the decision stands
    assert len(bandit.open_assignments()) == 1
    bandit.update(arm, 0.5)
    assert bandit.open_assignments() == []
    numbered = dpb.Bandit(POLICY, 3)
    assert numbered.arms == (0, 1, 2)
    assert step_by_step(numbered, lambda n, arm: 0.5, 6) == [0, 1, 2] * 2
    numbered.select()
    numbered.update(np.int64(0), np.float64(0.25))  # type: ignore[arg-type]


# ---- limits


def test_nothing_enters_or_is_released_after_the_horizon() -> None:
    noise = SharedNoise(1)
    bandit = dpb.Bandit(Phases(epsilon=1.0), 2, horizon=40, noise=noise)
    assert not bandit.exhausted
    ended = None
    for _ in range(100):
        if bandit.exhausted and ended is None:
            ended = len(bandit.ledger)
        step_by_step(bandit, lambda n, arm: float(arm), 1)
    assert ended == len(bandit.ledger)
    assert noise.encoded <= 40
    rows = [row.content for row in bandit.ledger if row.number]
    assert sum(row["count"] for row in rows) <= 40
    means = {e.arm: e.mean or 0.0 for e in bandit.estimates().values()}
    assert bandit.assign().arm == max(means, key=lambda arm: means[arm])  # it goes on from what was released
    assert bandit.guarantee.horizon == 40


def test_the_horizon_counts_the_assignments_of_all_arms_together() -> None:
    noise = SharedNoise(1)
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=60), 3, noise=noise)
    step_by_step(bandit, lambda n, arm: 0.5, 300)
    assert noise.encoded == 60
    assert bandit.exhausted


def test_a_block_that_was_handed_out_in_time_still_releases() -> None:
    bandit = dpb.Bandit(Phases(epsilon=1.0), 2, horizon=16)
    handed = [bandit.assign() for _ in range(30)]
    assert not bandit.exhausted
    for a in handed:
        bandit.close(a, 1.0)
    assert bandit.exhausted
    assert len(bandit.ledger) == 3


def test_the_guarantee_is_fixed_and_within_the_budget() -> None:
    policy = dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=5000)
    bandit = dpb.Bandit(policy, 4)
    before = bandit.guarantee
    assert before.within(dpb.Budget(1.0, 1e-6))
    assert before.epsilon > 0.99
    assert before.horizon == 5000
    step_by_step(bandit, lambda n, arm: 0.5, 500)
    assert bandit.guarantee == before
    assert 0 < bandit.spent().epsilon <= before.epsilon
    assert "about" in str(bandit.spent())
    assert bandit.ledger[0].content["guarantee"] == before.to_dict()


def test_the_grid_is_part_of_the_accounting() -> None:
    """On a grid of one step a reward, discrete noise costs more than continuous noise; calibration knows."""
    policy = dpb.DPUCBInt(epsilon=1.0, delta=1e-5, horizon=2000)
    coarse = dpb.Bandit(policy, 2, noise=SecureNoise(grid_bits=0))
    fine = dpb.Bandit(policy, 2, noise=SecureNoise(grid_bits=20))
    for bandit in (coarse, fine):
        assert bandit.guarantee.within(dpb.Budget(1.0, 1e-5))
    assert coarse.guarantee != fine.guarantee
    live = dpb.DPUCBInt(**coarse.ledger[0].content["live_policy"])
    events = [DiscreteLaplaceEvent(block.scale, 1) for block in live.blocks(2000)]
    assert coarse.guarantee == compose(events, 1e-5, 2000)


def test_spent_is_exact_without_delta() -> None:
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=5000), 2)
    assert bandit.spent().epsilon == 0
    assert bandit.spent().budget == bandit.guarantee.epsilon
    assert str(bandit.spent()).startswith("0 of 1 spent")
    step_by_step(bandit, lambda n, arm: float(arm), 5000)
    rows = [row.content for row in bandit.ledger if row.number]
    losses = [math.fsum(row["epsilon"] for row in rows if row["arm"] == arm) for arm in (0, 1)]
    assert bandit.spent().epsilon == pytest.approx(max(losses), rel=1e-12)
    assert bandit.spent().epsilon <= bandit.guarantee.epsilon


def test_the_reward_that_has_lost_most() -> None:
    """In one release each it is in the one with the least noise, of whichever arm; else in all of one arm."""
    assert worst_scales([[4.0, 3.0], [2.0, 9.0], []], is_cumulative=False) == [2.0]
    assert worst_scales([[], []], is_cumulative=False) == []
    assert worst_scales([[4.0, 3.0], [2.0, 9.0], []], is_cumulative=True) == [2.0, 9.0]


def test_spent_counts_contributions_and_delta() -> None:
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=5000), 2, contributions=3)
    for person in range(600):
        bandit.close(bandit.assign(unit=person), 1.0)
    epsilons = [row.content["epsilon"] for row in bandit.ledger if row.number and row.content["arm"] == 0]
    other = [row.content["epsilon"] for row in bandit.ledger if row.number and row.content["arm"] == 1]
    assert bandit.spent().epsilon == pytest.approx(3 * max(math.fsum(epsilons), math.fsum(other)), rel=1e-12)

    # With delta: composed at the delta of one reward, where that is less.
    steps = [30.0 * 4096] * 200
    one_reward = dpb.Guarantee(5.0, 1e-8, theorem="any", proved=True)
    terms = Terms(POLICY, one_reward, dpb.Guarantee(10.0, 1e-6, theorem="any", proved=True))
    spent = partial(spent_on, terms=terms, contributions=2, grid=4096)
    expected = 2 * compose([DiscreteLaplaceEvent(30.0 * 4096, 4096)] * 200, 1e-8).epsilon
    assert expected < 2 * zcdp_epsilon(200 / 30**2 / 2, 1e-8) < 2 * 200 / 30
    assert spent(steps) == Spent(expected, 1e-6, 10.0)
    assert spent(steps[:3]).epsilon == pytest.approx(2 * 3 / 30)
    assert spent(steps * 10).epsilon > 10.0  # if it were more than was promised, it would show


def test_single_blocks_cost_the_worst_of_them() -> None:
    bandit = dpb.Bandit(Phases(epsilon=0.5), 2)
    step_by_step(bandit, lambda n, arm: float(arm), 500)
    assert len(bandit.ledger) > 5
    assert bandit.spent().epsilon == 0.5


# ---- moving


@pytest.mark.parametrize(
    "policy",
    [dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=400), dpb.NoiseAwareIMED(epsilon=9.0, growth=1.2)],
    ids=lambda policy: policy.name,
)
def test_a_bandit_moves_as_text_in_the_middle_of_everything(policy: Policy) -> None:
    options: dict[str, Any] = {"reward_bounds": (0, 10), "contributions": 2}

    def rewards(n: int) -> float:
        return float(np.random.default_rng(n).integers(11))

    # Noise that was drawn ahead does not move, so the same noise comes whenever it is drawn.
    noise = SharedNoise(9)
    noise.draw = lambda scale, mechanism: round(1000 * scale) * (noise.arm - 1)  # type: ignore[method-assign]
    whole = dpb.Bandit(policy, ["A", "B", "C"], noise=noise, **options)
    moving = dpb.Bandit(policy, ["A", "B", "C"], noise=noise, **options)
    open_of: dict[str, list[Assignment]] = {"whole": [], "moving": []}
    arms: dict[str, list[Any]] = {"whole": [], "moving": []}
    for person in range(300):
        if person % 50 == 49:
            moving = dpb.Bandit.from_json(moving.to_json(), noise=noise)
        for name, bandit in (("whole", whole), ("moving", moving)):
            open_of[name].append(bandit.assign(unit=person // 2))
            arms[name].append(open_of[name][-1].arm)
            if person % 3:
                bandit.close(open_of[name].pop(0), rewards(person))
    assert arms["whole"] == arms["moving"]
    assert [row.content for row in whole.ledger] == [row.content for row in moving.ledger]
    assert whole.estimates() == moving.estimates()
    assert len(whole.open_assignments()) == len(moving.open_assignments()) == 100


def test_a_moved_bandit_takes_no_more_steps() -> None:
    bandit = fresh()
    a = bandit.assign()
    text = bandit.to_json()
    assert "Resume it once" in json.loads(text)["warning"]
    for step in (bandit.assign, bandit.select, lambda: bandit.close(a, 1.0), bandit.to_json):
        with pytest.raises(RuntimeError, match="moved or has let go"):
            step()
    assert bandit.open_assignments() == [a]  # what it knows can still be read
    resumed = dpb.Bandit.from_json(text, policy=POLICY)
    resumed.close(a, 1.0)
    with pytest.raises(dpb.InvalidInput, match="closed before"):
        resumed.close(a, 1.0)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:-20], "as it was written by to_json"),
        (lambda text: text.replace('"assigned": 1', '"assigned": 0'), "as it was written by to_json"),
        (lambda text: "[]", "as it was written by to_json"),
        (lambda text: "{}", "as it was written by to_json"),
        (lambda text: 7, "as it was written by to_json"),
    ],
)
def test_a_damaged_text_is_refused(damage: Callable[[str], Any], message: str) -> None:
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=400), 2)
    bandit.assign()
    with pytest.raises(dpb.InvalidInput, match=message):
        dpb.Bandit.from_json(damage(bandit.to_json()))


def test_a_text_needs_its_policy_and_its_grid() -> None:
    text = fresh().to_json()
    with pytest.raises(dpb.WrongKind, match="Expected policy='x' to be the policy that the bandit was made with"):
        dpb.Bandit.from_json(text, policy="x")  # type: ignore[arg-type]
    with pytest.raises(dpb.InvalidInput, match="Expected policy='explore-then-commit' to be one of ours"):
        dpb.Bandit.from_json(text)
    with pytest.raises(dpb.InvalidInput, match="to be the one that was written down"):
        dpb.Bandit.from_json(text, policy=ExploreThenCommit(epsilon=1.0, plays=PLAYS + 1))
    with pytest.raises(dpb.InvalidInput, match=r"to be SecureNoise\(grid_bits=12\)"):
        dpb.Bandit.from_json(text, policy=POLICY, noise=SecureNoise(grid_bits=13))


# ---- refusals


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (float("nan"), r"Expected reward=nan in \[0.0, 1.0\]."),
        (float("inf"), r"Expected reward=inf in \[0.0, 1.0\]."),
        (-0.001, r"Expected reward=-0.001 in \[0.0, 1.0\]."),
        (1.001, r"Expected reward=1.001 in \[0.0, 1.0\]."),
        ("0.5", r"Expected reward='0.5' to be a number in \[0.0, 1.0\]."),
        ([0.5], r"Expected reward=\[0.5\] to be a number in"),
        (0.5j, r"Expected reward=0.5j to be a number in"),
    ],
)
@pytest.mark.parametrize("out_of_bounds", ["refuse", "clip"])
def test_bad_rewards_change_nothing(reward: Any, message: str, out_of_bounds: str) -> None:
    bandit = fresh(out_of_bounds=out_of_bounds)
    a, arm = bandit.assign(), bandit.select()
    before = state_of(bandit)
    if out_of_bounds == "clip":
        if reward in (-0.001, 1.001):
            bandit.close(a, reward)
            return
        message = message.split(r" in \[")[0]
    with pytest.raises(dpb.InvalidInput, match=message):
        bandit.close(a, reward)
    with pytest.raises(dpb.InvalidInput, match=message):
        bandit.update(arm, reward)
    assert state_of(bandit) == before
    bandit.close(a, 0.5)


@pytest.mark.parametrize("arm", ["C", "", 0, 0.0, None, True, ["A"], Assignment("x", "A")])
def test_unknown_arms_change_nothing(arm: Any) -> None:
    bandit = fresh()
    bandit.select()
    before = state_of(bandit)
    with pytest.raises(dpb.InvalidInput, match=r"Expected arm=.* to be one of 'A', 'B'."):
        bandit.update(arm, 1.0)
    with pytest.raises(dpb.InvalidInput, match=r"Expected arm=.* to be one of 'A', 'B'."):
        bandit.compare("A", arm)
    assert state_of(bandit) == before
    with pytest.raises(dpb.InvalidInput, match="Expected arm=True to be one of 0, 1"):
        dpb.Bandit(POLICY, 2).update(True, 1.0)


def test_names_may_come_from_numpy() -> None:
    numbered = dpb.Bandit(POLICY, np.array([7, 9]))  # type: ignore[arg-type]
    assert numbered.arms == (7, 9)
    named = dpb.Bandit(POLICY, np.array(["A", "B"]))  # type: ignore[arg-type]
    assert json.dumps(named.arms) == '["A", "B"]'
    assert named.assign(unit=np.int64(7)).arm == named.assign(unit="7").arm  # type: ignore[arg-type]


def test_updates_need_their_selection() -> None:
    bandit = fresh()
    with pytest.raises(dpb.InvalidInput, match="Expected arm='A' to be selected before its update"):
        bandit.update("A", 1.0)
    bandit.assign()
    with pytest.raises(dpb.InvalidInput, match="no selection is open"):
        bandit.update("A", 1.0)
    assert bandit.select() == "B"
    before = state_of(bandit)
    with pytest.raises(dpb.InvalidInput, match="Expected arm='A' to be 'B', which was selected"):
        bandit.update("A", 1.0)
    assert state_of(bandit) == before


def test_closing_needs_an_open_assignment_of_this_bandit() -> None:
    bandit, other = fresh(), fresh()
    a, foreign = bandit.assign(), other.assign()
    assert a.id is not None
    bandit.close(a, 1.0)
    before = state_of(bandit)
    for assignment, message in [
        (a, f"Expected assignment='{a.id}' to be open: it was closed before."),
        (a.id, "it was closed before"),
        (foreign, f"Expected assignment='{foreign.id}' to be one of this bandit's."),
        (a.id + "0", "to be one of this bandit"),
        (a.id.replace("-", "-0"), "to be one of this bandit"),
        (a.id.split("-")[0] + "-٣", "to be one of this bandit"),
        ("", "to be one of this bandit"),
        ("x" * 50, "to be one of this bandit"),
        (1, "Expected assignment=1 to be an assignment or its id."),
        (None, "to be an assignment or its id"),
    ]:
        with pytest.raises(dpb.InvalidInput, match=message):
            bandit.close(assignment, 1.0)  # type: ignore[arg-type]
    assert state_of(bandit) == before


@pytest.mark.parametrize("unit", [True, 1.5, "", "x" * 10_001, b"bytes", ["p"], pytest.param(10**5000, id="huge")])
def test_bad_units_change_nothing(unit: Any) -> None:
    bandit = fresh()
    before = state_of(bandit)
    with pytest.raises(dpb.InvalidInput, match=r"Expected (a )?unit"):
        bandit.assign(unit=unit)
    assert state_of(bandit) == before


def test_several_contributions_need_names() -> None:
    bandit = fresh(contributions=2)
    with pytest.raises(dpb.InvalidInput, match="Expected unit=None to be the name of a person"):
        bandit.assign()
    with pytest.raises(dpb.InvalidInput, match=r"Expected contributions=2 to be 1 for select, .* use assign"):
        bandit.select()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": dpb.UCB()}, "Expected policy=ucb to be one that can run live"),
        ({"policy": dpb.DPUCB(epsilon=1)}, "Expected policy=dp-ucb to be one that can run live"),
        ({"policy": dpb.DPUCBInt(epsilon=1, delta=1e-3, horizon=1000)}, r"Expected delta=0.001 in \[0, 0.0001\]"),
        ({"policy": dpb.DPUCBInt(epsilon=1, delta=1e-9)}, "Expected a horizon for delta=1e-09"),
        (
            {"policy": dpb.DPUCBInt(epsilon=1, delta=1.5e-4, horizon=1000), "contributions": 2},
            r"Expected delta=0.00015 in \[0, 0.0001\]",
        ),
        (
            {"policy": dpb.DPUCBInt(epsilon=1, delta=0, horizon=100, grid_bits=3)},
            "Expected grid_bits=3 to be 12, that of the noise.",
        ),
        (
            {"policy": dpb.DPUCBInt(epsilon=1, delta=0, horizon=1000, density=0.5)},
            r"Expected density=0.5 to cost a reward at most Budget\(epsilon=1.0, delta=0.0\).",
        ),
        (
            {"policy": TupleSettings(epsilon=1.0, plays=5)},
            "Expected the settings of policy=explore-then-commit to be plain",
        ),
        ({"policy": dpb.DPUCBInt(epsilon=0.01, delta=0, horizon=1000)}, "Expected horizon=1000 to be "),
        ({"policy": dpb.DPUCBInt(epsilon=1, delta=0, horizon=50), "horizon": 51}, "Expected horizon=51 in"),
        ({"horizon": 9}, "Expected horizon=9 to be "),
        ({"horizon": 0}, "Expected horizon=0 in"),
        ({"arms": 1}, r"Expected arms=1 in \[2, 1000000\]."),
        ({"arms": ["A"]}, "Expected number of arms=1 in"),
        ({"arms": []}, "Expected number of arms=0 in"),
        ({"arms": "AB"}, r"Expected arms='AB' to be a list of names or a whole number in \[2, 1000000\]."),
        ({"arms": b"AB"}, "Expected arms=b'AB' to be a list of names"),
        ({"arms": {"A", "B"}}, "to be a list of names"),
        ({"arms": [10**5000, 1]}, "Expected arm=a number of thousands of digits to be a name"),
        ({"arms": [*range(100_000), 0]}, "Expected different arms: 0 is there more than once."),
        ({"arms": ["A", "A", "B"]}, "Expected different arms: A is there more than once."),
        ({"arms": ["A", ""]}, "Expected arm='' to be a name"),
        ({"arms": ["A", None]}, "Expected arm=None to be a name"),
        ({"arms": [True, False]}, "Expected arm=True to be a name"),
        ({"reward_bounds": (1, 1)}, r"Expected reward_bounds\[1\]=1 in \(1.0, inf\)."),
        ({"reward_bounds": (0, float("inf"))}, r"Expected reward_bounds\[1\]=inf"),
        ({"reward_bounds": (-1e308, 1e308)}, "less than 1.8e308 apart"),
        ({"reward_bounds": 5}, "Expected reward_bounds=5 to be two numbers."),
        ({"reward_bounds": ("0", 1)}, r"Expected reward_bounds\[0\]='0' to be a number"),
        ({"out_of_bounds": "drop"}, "Expected out_of_bounds='drop' to be one of refuse, clip."),
        ({"default_reward": 2}, r"Expected default_reward=2 in \[0.0, 1.0\]."),
        ({"contributions": -1}, r"Expected contributions=-1 in \[1, 1000000\]."),
        ({"contributions": 0}, r"Expected contributions=0 in \[1, 1000000\]."),
        ({"contributions": 1.5}, r"Expected contributions=1.5 to be a whole number"),
        ({"accept_delta": "yes"}, "Expected accept_delta='yes' to be True or False."),
    ],
)
def test_bad_settings_are_refused_with_one_sentence(options: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"policy": POLICY, "arms": ["A", "B"], **options}
    with pytest.raises(dpb.InvalidInput, match=message) as refused:
        dpb.Bandit(**settings)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "dp-ucb-int"}, "Expected policy='dp-ucb-int' to be a policy"),
        ({"policy": dpb.DPUCBInt}, "to be a policy"),
        ({"policy": 7}, "Expected policy=7 to be a policy"),
        ({"noise": SeededNoise(1)}, "Expected noise=SeededNoise to be SecureNoise: live noise .* no seed."),
        ({"noise": np.random.default_rng(1)}, "Expected noise=Generator to be SecureNoise"),
        ({"noise": 7}, "Expected noise=int to be SecureNoise"),
    ],
)
def test_things_of_another_kind_are_refused_with_one_sentence(options: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"policy": POLICY, "arms": ["A", "B"], **options}
    with pytest.raises(dpb.WrongKind, match=message) as refused:
        dpb.Bandit(**settings)
    assert isinstance(refused.value, TypeError)
    assert "\n" not in str(refused.value)


def test_a_large_delta_can_be_accepted() -> None:
    policy = dpb.DPUCBInt(epsilon=1, delta=1e-3, horizon=1000)
    assert dpb.Bandit(policy, 2, accept_delta=True).guarantee.delta == 1e-3
    assert dpb.Bandit(dpb.DPUCBInt(epsilon=1, delta=1e-6), 2, accept_delta=True).guarantee.horizon == math.inf
    assert dpb.Bandit(dpb.DPUCBInt(epsilon=1, delta=1e-6), 2, horizon=50_000).guarantee.horizon == 50_000


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, float("nan"), "0.9", True])
def test_confidence_is_a_probability(confidence: Any) -> None:
    with pytest.raises(dpb.InvalidInput, match="Expected confidence="):
        fresh().estimates(confidence)
    with pytest.raises(dpb.InvalidInput, match="Expected confidence="):
        fresh().compare("A", "B", confidence)
    with pytest.raises(dpb.InvalidInput, match="Expected two different arms"):
        fresh().compare("A", "A")


# ---- one bandit, one process, one thread at a time


def test_threads_do_not_get_into_each_others_way() -> None:
    noise = SharedNoise(1)
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=4000), 3, noise=noise)
    ids = []

    def work() -> None:
        for _ in range(250):
            a = bandit.assign()
            ids.append(a.id)
            bandit.close(a, 0.5)

    in_threads(work)
    assert len(set(ids)) == 1000
    assert bandit.open_assignments() == []
    assert noise.encoded == 1000
    assert bandit.ledger.verify() == bandit.ledger.head
    rows = Counter((row.content["arm"], row.content["release"]) for row in bandit.ledger if row.number)
    assert set(rows.values()) == {1}


def test_a_bandit_cannot_be_copied_or_pickled() -> None:
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            make(fresh())


@pytest.mark.parametrize("use", [dpb.Bandit.assign, dpb.Bandit.estimates, dpb.Bandit.detach])
def test_a_forked_process_is_refused(use: Callable[[dpb.Bandit], Any]) -> None:
    bandit = fresh()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            use(bandit)
            os.write(writer, b"used")
        except RuntimeError as refused:
            os.write(writer, str(refused).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"belongs to the process that made it" in os.read(reader, 1000)
    bandit.assign()


def test_nothing_gets_into_the_middle_of_a_step() -> None:
    """A signal handler runs in the thread of the step, and could see a release that is not on disk."""
    noise = SharedNoise(1)
    bandit = fresh(noise=noise)
    refused = []
    draw = noise.draw

    def interrupted(scale: float, mechanism: int) -> int:
        for use in (
            bandit.assign,
            bandit.estimates,
            bandit.spent,
            bandit.detach,
            bandit.to_json,
            lambda: bandit.ledger,
        ):
            with pytest.raises(RuntimeError, match="in the middle of a step"):
                use()
            refused.append(use)
        return draw(scale, mechanism)

    noise.draw = interrupted  # type: ignore[method-assign]
    step_by_step(bandit, lambda n, arm: 1.0, 2 * PLAYS)
    assert len(refused) == 12
    assert len(bandit.ledger) == 3


def test_after_a_failed_step_nothing_is_seen_or_done() -> None:
    """What was drawn may be gone: neither a second draw nor the first may show."""
    noise = SharedNoise(1)
    bandit = fresh(noise=noise)

    def broken(noisy: int) -> float:
        raise OSError(f"cannot publish {noisy}")

    noise.publish = broken  # type: ignore[method-assign]
    assignments = [bandit.assign() for _ in range(2 * PLAYS)]
    for a in assignments[: 2 * PLAYS - 2]:
        bandit.close(a, 1.0)
    with pytest.raises(dpb.StepError, match=r"^A step ended with OSError\. Its message is not repeated") as failed:
        bandit.close(assignments[-2], 1.0)
    assert "publish" not in str(failed.value)
    for step in (bandit.assign, bandit.select, bandit.spent, bandit.estimates, bandit.to_json, lambda: bandit.ledger):
        with pytest.raises(RuntimeError, match="failed halfway"):
            step()
    assert bandit.guarantee.epsilon == 1.0


def test_noise_that_cannot_be_drawn_changes_nothing() -> None:
    """It is drawn before a step, so the step can be taken again."""
    noise = SharedNoise(1)
    bandit = fresh(noise=noise)
    draw = noise.draw

    def broken(scale: float, mechanism: int) -> int:
        raise OSError("no entropy")

    noise.draw = broken  # type: ignore[method-assign]
    with pytest.raises(dpb.StepError, match="OSError"):
        bandit.assign()
    noise.draw = draw  # type: ignore[method-assign]
    before = state_of(bandit)
    a = bandit.assign()
    assert before != state_of(bandit)
    bandit.close(a, 1.0)


def test_ids_are_those_of_one_bandit_of_many() -> None:
    """16 hexadecimal digits: among 100,000 experiments two are the same with a chance of 3e-10."""
    tags = {str(dpb.Bandit(dpb.recommended(epsilon=1.0), 2).assign().id).split("-")[0] for _ in range(20)}
    assert len(tags) == 20
    assert {len(tag) for tag in tags} == {16}
