"""A game in plain Python takes any number for an arm, and hands out Python's own."""

import json

import pytest

import dpbandits as dpb
from dpbandits.engine.game import BLOCKS, Game
from dpbandits.mechanisms import SeededNoise
from written_kernels import wrong


def test_times_arms_and_plays_are_numbers_that_json_can_hold() -> None:
    asked: list[tuple[int, int]] = []

    def reward(t: int, arm: int) -> float:
        asked.append((t, arm))
        return 1.0

    game = Game(dpb.AdaPUCB(epsilon=1.0), 2, 100, SeededNoise(1)).play(reward, 100, BLOCKS)
    assert max(plays for _, _, plays in game.blocks) > 1  # which it has from an array
    told = [*game.blocks, *asked, (game.t, *game.actions)]
    assert {type(number) for numbers in told for number in numbers} == {int}


def test_an_exact_audit_can_be_written_as_json() -> None:
    found = dpb.exact_audit(dpb.AdaPUCB(epsilon=1.0), arms=2, horizon=40)
    assert json.loads(json.dumps(found.to_dict()))["parts"][0]["steps"] == 40


def test_an_arm_may_be_a_comparison() -> None:
    game = Game(wrong(select="t % 2 == 0"), 2, 10, SeededNoise(1)).play(lambda t, arm: 1.0, 10)
    assert game.actions == [0, 1] * 5


@pytest.mark.parametrize("arm", [-(2**62), -(2**63), -1, 2])
def test_what_is_no_arm_is_refused_at_the_first_decision(arm: int) -> None:
    with pytest.raises(dpb.InvalidInput, match=r"Expected `select` of policy=wrong to return an arm in \[0, 1\]\."):
        Game(wrong(select=str(arm)), 2, 10, SeededNoise(1)).play(lambda t, arm: 1.0, 10)
