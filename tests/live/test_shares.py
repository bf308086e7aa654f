"""Shares: some arms get at least a share of all decisions."""

from typing import Any

import pytest

import dpbandits as dpb
from explore_then_commit import ExploreThenCommit
from insides import learner_of
from shared_noise import SharedNoise


@pytest.mark.parametrize("shares", [{"A": 0.3}, {"A": 0.2, "C": 0.45}, {"B": 0.9}, {"A": 2 / 3}])
@pytest.mark.parametrize("policy", [dpb.recommended(epsilon=30.0), dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=2000)])
def test_an_arm_gets_its_share_of_all_decisions(policy: Any, shares: dict[str | int, float]) -> None:
    """At any time, but for one decision per arm; B is better by far."""
    bandit = dpb.Bandit(policy, ["A", "B", "C"], shares=shares, horizon=2000, noise=SharedNoise(1))
    given: list[str | int] = []
    for n in range(1500):
        a = bandit.assign()
        given.append(a.arm)
        bandit.close(a, float(a.arm == "B"))
        for arm, share in shares.items():
            assert given.count(arm) >= share * n - len(shares)
    assert min(row.content["arm"] for row in bandit.ledger if row.number) == 0
    assert {row.content["arm"] for row in bandit.ledger if row.number} == {0, 1, 2}
    rest = 1 - sum(share for arm, share in shares.items() if arm != "B")
    assert given[500:].count("B") >= 0.9 * rest * 1000


def test_visits_are_no_decisions_and_an_arm_without_free_places_gets_no_share() -> None:
    bandit = dpb.Bandit(ExploreThenCommit(epsilon=1.0, plays=3), ["A", "B"], shares={"A": 0.9}, contributions=3)
    visits = [bandit.assign(unit="Ada", key=str(n)) for n in range(2)]
    assert [a.arm for a in visits] == ["A", "A"]
    assert learner_of(bandit).counts.decisions == 1
    given = [bandit.assign(unit=n).arm for n in range(12)]
    # One place of A is left, which its share brings to the second. Then its share is idle: they come in turn.
    assert given == ["B", "A"] * 6


def test_shares_are_less_than_all_whatever_version_of_python_adds_them_up() -> None:
    """Ten tenths are less than 1 if they are added one by one, as Python did it up to 3.11."""
    with pytest.raises(dpb.InvalidInput, match="to be less than 1 together, not 1:"):
        dpb.Bandit(dpb.recommended(epsilon=1.0), 10, shares=dict.fromkeys(range(10), 0.1))


@pytest.mark.parametrize("shares", [{}, {"A": 0}, {"A": 0.0, "B": 0}])
def test_shares_of_nothing_are_none(shares: dict[str | int, float]) -> None:
    bandit = dpb.Bandit(dpb.recommended(epsilon=1.0), ["A", "B"], shares=shares)
    assert bandit.ledger[0].content["shares"] is None
