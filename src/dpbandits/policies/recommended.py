"""The policy to take if there is no reason for another one (docs/choosing_a_policy.md)."""

from dpbandits.policies.base import Policy
from dpbandits.policies.dp_imed import DPIMED
from dpbandits.privacy import Budget


def recommended(*, epsilon: float, delta: float = 0.0) -> Policy:
    """Return the best policy known here for a budget: DP-IMED with the noise-aware index.

    It spends no delta. A reward is released once, and for a single release Laplace noise of scale 1/ε is smaller than
    the Gaussian noise that any small delta would allow.

    >>> recommended(epsilon=0.5)
    DPIMED(epsilon=0.5, index='noise-aware', growth=None, first_phase=None, caution=None)
    """
    return DPIMED(epsilon=Budget(epsilon, delta).epsilon, index="noise-aware")
