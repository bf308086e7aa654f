"""Environments: where simulated rewards come from. One file each, all with the same two kernels (environment.py)."""

from dpbandits.environments.bernoulli import Bernoulli
from dpbandits.environments.beta import Beta
from dpbandits.environments.categorical import Categorical
from dpbandits.environments.environment import Environment, block_sum, one_by_one, reward
from dpbandits.environments.given import Given
from dpbandits.environments.replay import Replay, ReplayOrder
from dpbandits.environments.truncated_normal import TruncatedNormal
from dpbandits.environments.uniform import Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Environment",
    "Given",
    "Replay",
    "ReplayOrder",
    "TruncatedNormal",
    "Uniform",
    "block_sum",
    "one_by_one",
    "reward",
]
