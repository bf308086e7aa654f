"""TruncatedNormal: a normal distribution, cut off at 0 and 1.

Drawn by rejection, without approximation: a narrow one from normal numbers, of which about half fall outside at worst,
a wide one from uniform numbers, accepted in proportion to the density.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._kernel import kernel
from dpbandits.environments.environment import Environment, block_sum, numbers, one_by_one, reward, same_length
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


def _means(centres: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means. For wide distributions the closed form loses all digits, and quadrature loses none."""
    from scipy.stats import truncnorm

    points, weights = np.polynomial.legendre.leggauss(60)
    x = (points + 1) / 2
    density = weights * np.exp(-0.5 * ((x - centres[:, None]) / np.maximum(scales, _WIDE)[:, None]) ** 2)
    wide = (density * x).sum(axis=1) / density.sum(axis=1)
    is_narrow = scales < _WIDE
    narrow_centres, narrow_scales = centres[is_narrow], scales[is_narrow]
    cuts = -narrow_centres / narrow_scales, (1 - narrow_centres) / narrow_scales
    wide[is_narrow] = truncnorm.mean(*cuts, loc=narrow_centres, scale=narrow_scales)
    return np.asarray(wide)


class TruncatedNormal(Environment):
    """Arms with normal rewards, given that they are in [0, 1]. The mean is not the centre, unless that is 1/2.

    Args:
        centres: one per arm, in [0, 1].
        scales: standard deviations before they are cut to [0, 1], one per arm.

    >>> TruncatedNormal(centres=[0.5, 0.2], scales=[0.1, 0.3]).means.tolist()
    [0.5, 0.3243]
    """

    def __init__(self, centres: ArrayLike, scales: ArrayLike) -> None:
        centres, scales = numbers("centres", centres, 0, 1), numbers("scales", scales, 1e-6, 1e6)
        same_length(centres=centres, scales=scales)
        super().__init__(_means(centres, scales), centres=centres, scales=scales)
        self._params = Params(centres, scales)

    def configure(self) -> Params:
        """Return the Params of the kernels."""
        return self._params
