"""Counting action sequences under given rewards."""

import itertools

import pytest

import dpbandits as dpb
from dpbandits.auditing import count_actions
from dpbandits.engine.game import Game
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms import SeededNoise


@pytest.mark.parametrize("rewards", list(itertools.product((0.0, 1.0), repeat=5)))
def test_a_policy_without_noise_always_plays_what_it_plays_in_python(rewards: tuple[float, ...]) -> None:
    game = Game(dpb.UCB(), 3, 5, SeededNoise(0)).play(lambda t, arm: rewards[t - 1], 5)
    played = tuple(arm + 1 for arm in game.actions)
    assert count_actions(dpb.UCB(), rewards, arms=3, trials=7, seed=1) == {played: 7}


def test_counts_add_up_and_are_the_same_for_the_same_seed() -> None:
    policy = dpb.DPUCB(epsilon=1.0)
    counts = count_actions(policy, [0, 1, 0.5, 0], arms=2, trials=70_000, seed=3)
    assert counts.total() == 70_000
    assert all(sequence[:2] == (1, 2) and len(sequence) == 4 for sequence in counts)
    assert len(counts) == 4
    assert counts == count_actions(policy, [0, 1, 0.5, 0], arms=2, trials=70_000, seed=3)
    assert counts != count_actions(policy, [0, 1, 0.5, 0], arms=2, trials=70_000, seed=4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rewards": [0, 2]}, r"rewards=2.0 in \[0, 1\]"),
        ({"rewards": [0] * 30}, "at most 4194304 sequences"),
        ({"arms": 0}, "arms=0"),
        ({"trials": 0}, "trials=0"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_bad_input_is_refused(changed: dict[str, object], message: str) -> None:
    asked = {"rewards": [0, 1], "arms": 2, "trials": 10, "seed": 0} | changed
    with pytest.raises(InvalidInput, match=message):
        count_actions(dpb.UCB(), **asked)  # type: ignore[arg-type]


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(dpb.WrongKind, match="Expected policy=7 to be a policy"):
        count_actions(7, [0, 1], arms=2, trials=10)  # type: ignore[arg-type]
