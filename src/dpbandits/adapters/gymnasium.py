"""BanditEnv: an environment of ours as a Gymnasium environment, `dpbandits/Bandit-v0` once this is imported."""

from typing import Any, SupportsFloat

import numpy as np

from dpbandits import _validate
from dpbandits._extras import require_extras
from dpbandits.environments import Environment, reward
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms import SeededNoise

require_extras("gymnasium")

import gymnasium  # noqa: E402  (after the check)

__all__ = ["BanditEnv"]


class BanditEnv(gymnasium.Env[np.int64, np.int64]):
    """Actions are arms, there is nothing to observe, and an episode is cut off after `horizon` steps.

    `info["regret"]` is how much less than the best arm the chosen one gives on average.

    Args:
        environment: one of ours, such as `Bernoulli([0.9, 0.6])`.
        horizon: how many steps an episode has.

    >>> import dpbandits as dpb
    >>> env = gymnasium.make("dpbandits/Bandit-v0", environment=dpb.Bernoulli([0.9, 0.6]), horizon=100)
    >>> observation, info = env.reset(seed=1)
    >>> env.step(1)
    (np.int64(0), 1.0, False, False, {'regret': 0.3})
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, as in Gymnasium

    def __init__(self, environment: Environment, horizon: int = 1000) -> None:
        _validate.check_kind(Environment, "one of ours, such as Bernoulli([0.9, 0.6])", environment=environment)
        self.environment = environment
        self.horizon = _validate.integer("[1, 1000000000000000000]", horizon=horizon)
        environment.check_horizon(self.horizon)
        self.action_space = gymnasium.spaces.Discrete(environment.arms)
        self.observation_space = gymnasium.spaces.Discrete(1)
        self._params = environment.configure()
        self._t = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin a new episode."""
        super().reset(seed=seed)
        self._t = 0
        return np.int64(0), {}

    def step(self, action: np.int64) -> tuple[np.int64, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play an arm; return the observation, the reward, whether the episode ended or was cut off, and `info`."""
        if not self.action_space.contains(action):
            raise InvalidInput(f"Expected action={action!r} to be an arm in [0, {self.environment.arms}).")
        self._t += 1
        value = float(reward(self._params, int(action), self._t, SeededNoise(self.np_random)))
        info = {"regret": float(self.environment.gaps[action])}
        return np.int64(0), value, False, self._t >= self.horizon, info


gymnasium.register("dpbandits/Bandit-v0", entry_point="dpbandits.adapters.gymnasium:BanditEnv")
