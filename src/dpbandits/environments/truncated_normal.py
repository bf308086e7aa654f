"""TruncatedNormal: a normal distribution, cut off at 0 and 1.

Drawn by rejection, without approximation: a narrow one from normal numbers that fall outside less than half the time, a
wide one from uniform numbers, accepted in proportion to the density.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._kernel import kernel
from dpbandits.environments.base import Environment, block_sum, numbers, one_by_one, reward, same_length
from dpbandits.mechanisms.draws import normal, uniform

# From this standard deviation on uniform numbers are accepted more often than normal ones.
_WIDE = 0.5


class Params(NamedTuple):
    """Constants of the kernels."""

    centres: Any
    scales: Any


@reward.register(Params)
@kernel
def _reward(params: Params, arm: int, t: int, noise: Any) -> float:
    centre, scale = params.centres[arm], params.scales[arm]
    while True:
        if scale >= _WIDE:
            x = uniform(noise)
            z = (x - centre) / scale
            if uniform(noise) < math.exp(-0.5 * z * z):
                return x
        else:
            x = centre + scale * normal(noise)
            if 0.0 <= x <= 1.0:
                return x


block_sum.register(Params)(one_by_one)


class TruncatedNormal(Environment):
    """Arms with normal rewards, given that they are in [0, 1]. The mean is not the centre, unless that is 1/2.

    >>> TruncatedNormal(centres=[0.5, 0.2], scales=[0.1, 0.3]).means
    array([0.5, 0.3243])
    """

    def __init__(self, centres: ArrayLike, scales: ArrayLike) -> None:
        from scipy.stats import truncnorm

        centres, scales = numbers("centres", centres, 0, 1), numbers("scales", scales, 1e-6, 1e6)
        same_length(centres=centres, scales=scales)
        means = truncnorm.mean(-centres / scales, (1 - centres) / scales, loc=centres, scale=scales)
        super().__init__(np.asarray(means), centres=centres, scales=scales)
        self._params = Params(centres, scales)

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return self._params
