"""The policy to take if there is no reason for another one (docs/choosing_a_policy.md)."""

from dpbandits import _validate
from dpbandits.policies.base import Policy
from dpbandits.policies.dp_imed import DPIMED


def recommended(*, epsilon: float, delta: float = 0.0) -> Policy:
    """Return the policy to take for a budget: DP-IMED with the noise-aware index.

    It spends no delta. A reward is released once, and for a single release Laplace noise of scale 1/ε is smaller than
    the Gaussian noise that any small delta would allow.

    >>> recommended(epsilon=0.5)
    DPIMED(epsilon=0.5, index='noise-aware', growth=None, first_phase=None, caution=None)
    """
    _validate.real("[0, 1)", delta=delta)
    return DPIMED(epsilon=epsilon, index="noise-aware")
