"""The Gymnasium adapter, held to Gymnasium's own checker."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dpbandits as dpb
from dpbandits import environments
from dpbandits.adapters.gymnasium import BanditEnv

ENVIRONMENTS = [
    dpb.Bernoulli([0.9, 0.6]),
    environments.Beta([2, 3], [3, 2]),
    environments.Uniform([0.0, 0.2], [0.5, 1.0]),
    environments.Replay([[0.1, 0.2], [0.3, 0.4]]),
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=str)
def test_gymnasiums_own_check_accepts_it(environment: Any) -> None:
    env = gymnasium.make("dpbandits/Bandit-v0", environment=environment, horizon=50)
    check_env(env.unwrapped)


def test_an_episode_has_the_length_and_the_rewards_of_the_environment() -> None:
    env = BanditEnv(dpb.Bernoulli([0.9, 0.6]), horizon=4000)
    env.reset(seed=1)
    rewards: list[list[float]] = [[], []]
    truncated = False
    while not truncated:
        arm = len(rewards[0] + rewards[1]) % 2
        observation, reward, terminated, truncated, info = env.step(np.int64(arm))
        assert not terminated
        assert observation.item() == 0
        assert info["regret"] == pytest.approx([0.0, 0.3][arm])
        rewards[arm].append(float(reward))
    assert [len(drawn) for drawn in rewards] == [2000, 2000]
    # Six standard errors: a false alarm once in 10^8.
    assert np.mean(rewards[0]) == pytest.approx(0.9, abs=6 * 0.0067)
    assert np.mean(rewards[1]) == pytest.approx(0.6, abs=6 * 0.011)


def test_the_same_seed_gives_the_same_rewards() -> None:
    def episode(seed: int) -> list[float]:
        env = BanditEnv(dpb.Bernoulli([0.5, 0.5]), horizon=100)
        env.reset(seed=seed)
        return [float(env.step(np.int64(0))[1]) for _ in range(100)]

    assert episode(1) == episode(1) != episode(2)


def test_bad_input_is_refused() -> None:
    with pytest.raises(dpb.WrongKind, match="Expected environment=3 to be one of ours"):
        BanditEnv(3)  # type: ignore[arg-type]
    with pytest.raises(dpb.InvalidInput, match="Expected horizon=0 in"):
        BanditEnv(dpb.Bernoulli([0.5, 0.5]), horizon=0)
    with pytest.raises(dpb.InvalidInput, match=r"Expected horizon=3 in \[1, 2\], for which there are rewards"):
        BanditEnv(dpb.environments.Given([0, 1], arms=2), horizon=3)
    env = BanditEnv(dpb.Bernoulli([0.5, 0.5]))
    env.reset(seed=1)
    with pytest.raises(dpb.InvalidInput, match=r"Expected action=2 to be an arm in \[0, 2\)."):
        env.step(2)  # type: ignore[arg-type]
