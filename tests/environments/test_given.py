"""Rewards that are fixed in advance, whichever arm is played."""

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.environments import Given, block_sum, reward


def test_rewards_come_one_after_the_other_and_blocks_are_their_sums() -> None:
    given = Given([0, 1, 0.5, 1], arms=3)
    params = given.configure()
    assert given.means.tolist() == [0.625] * 3
    for arm in range(3):
        assert [reward(params, arm, t, None) for t in (1, 2, 3, 4)] == [0, 1, 0.5, 1]
        for t in range(1, 5):
            for plays in range(1, 6 - t):
                assert block_sum(params, arm, plays, t, None) == given.rewards[t - 1 : t - 1 + plays].sum()


def test_one_that_differs_in_one_entry_differs_in_one_reward() -> None:
    """To the bit: each is the number that was given, not a difference of sums, and sums stay within their range."""
    given = np.random.default_rng(1).choice([0.1, 0.3, 0.7, 1.0], 1000)
    changed = given.copy()
    changed[10] = 1 - changed[10]
    one, other = (Given(rewards, 2).configure() for rewards in (given, changed))
    played = [[reward(params, 0, t, None) for t in range(1, 1001)] for params in (one, other)]
    assert played == [given.tolist(), changed.tolist()]
    ones = Given([0.1] * 10 + [1.0] * 90, 2).configure()
    assert all(block_sum(ones, 0, plays, t, None) <= plays for t in range(11, 100) for plays in range(1, 101 - t))


def test_equal_rewards_are_equal() -> None:
    one, same, other, wider = (
        Given([0, 1, 0.5], 2),
        Given([0.0, 1.0, 0.5], 2),
        Given([0, 1, 1], 2),
        Given([0, 1, 0.5], 3),
    )
    assert one == same
    assert len({one, same, other, wider}) == 3


def test_runs_end_with_the_rewards() -> None:
    given = Given([0, 1, 0.5], arms=2)
    with pytest.raises(dpb.InvalidInput, match=r"Expected horizon=4 in \[1, 3\], for which there are rewards"):
        dpb.simulate(dpb.UCB(), given, horizon=4, runs=1)
    assert not dpb.simulate(dpb.UCB(), given, horizon=3, runs=1).final_regret("ucb").any()


@pytest.mark.parametrize("rewards", [[], [0.5, 1.1], [np.nan], [[0, 1]], "ab"])
def test_what_is_no_reward_is_refused(rewards: object) -> None:
    with pytest.raises(dpb.InvalidInput, match="Expected rewards"):
        Given(rewards, 2)  # type: ignore[arg-type]
