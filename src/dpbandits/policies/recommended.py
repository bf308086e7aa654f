"""The policy to take if there is no reason for another one (docs/choosing_a_policy.md)."""

from dpbandits import _validate
from dpbandits.policies.noise_aware_imed import NoiseAwareIMED


def recommended(*, epsilon: float, delta: float = 0.0) -> NoiseAwareIMED:
    """Return the policy to take for a budget: noise-aware IMED.

    It spends no delta. A reward is released once, and for a single release Laplace noise of scale 1/ε is smaller than
    the Gaussian noise that any small delta would allow.

    Args:
        epsilon: the budget of the whole action sequence.
        delta: allowed, and not used.

    >>> recommended(epsilon=0.5)
    NoiseAwareIMED(epsilon=0.5, growth=None, first_phase=None, caution=None)
    """
    _validate.real("[0, 1)", delta=delta)
    return NoiseAwareIMED(epsilon=epsilon)
