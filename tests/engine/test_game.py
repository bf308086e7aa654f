"""A game in plain Python: what leaves it are Python's numbers, whatever a policy computes with."""

import json

import dpbandits as dpb
from dpbandits.engine.game import BLOCKS, Game
from dpbandits.mechanisms import SeededNoise


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
