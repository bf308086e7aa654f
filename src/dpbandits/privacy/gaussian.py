"""Gaussian noise, exactly: the smallest delta for an epsilon, and the smallest epsilon for a delta.

A release with sensitivity / σ = μ is (ε, δ)-DP if and only if (Balle & Wang 2018, Thm 8)

    δ  >=  Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ),

and releases with μ_1, μ_2, ... are together as one with √(Σ μ_i²), adaptively too (Dong, Roth & Su 2022, Cor. 3.3).
"""

import math
from collections.abc import Iterable

from dpbandits import _validate
from dpbandits.privacy.events import GaussianEvent
from dpbandits.privacy.renyi import rho_of
from dpbandits.privacy.rounding import above, sum_up

# Deltas below this are left to the closed form of zero-concentrated DP: their logarithms are exact, they are not.
_SMALLEST_DELTA = 1e-290
# Relative error of either term of the profile, generously: those of exp, erfcx and ndtr are a tenth of it.
_ERROR = 2.0**-46
_HALVINGS = 60


def gaussian_epsilon(events: Iterable[GaussianEvent], delta: float) -> float:
    """Return the epsilon at `delta` of releases with Gaussian noise, exact but for rounding up.

    Args:
        events: what is released.
        delta: at which delta, in (0, 1).

    >>> gaussian_epsilon([GaussianEvent(sigma=4.0)], delta=1e-6)
    1.0607
    """
    delta = _validate.real("(0, 1)", delta=delta)
    mu = above(math.sqrt(2 * sum_up(map(rho_of, events))))
    # μ²/2-zCDP gives this one (Bun & Steinke 2016, Prop. 1.3).
    safe = above(mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta)))
    if mu == 0 or delta < _SMALLEST_DELTA:
        return safe
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    unsafe = 0.0
    for _ in range(_HALVINGS):
        middle = (safe + unsafe) / 2
        if gaussian_delta(mu, middle) <= delta:
            safe = middle
        else:
            unsafe = middle
    return safe


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta for which noise of σ = sensitivity / mu is (epsilon, delta)-DP, rounded up.

    Args:
        mu: the sensitivity over the standard deviation of the noise.
        epsilon: at which epsilon.

    >>> gaussian_delta(mu=0.25, epsilon=1.0607)
    1e-06
    """
    from scipy.special import erfcx, ndtr

    mu, epsilon = _validate.real("(0, inf)", mu=mu), _validate.real("[0, inf)", epsilon=epsilon)
    # e^ε φ(b) = φ(a) with b = ε/μ + μ/2 and a = b - μ. So δ = φ(a) (m(a) - m(b)), Mills' ratio m(x) = Φ(-x) / φ(x).
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    more = density * _mills(erfcx(a / math.sqrt(2))) if a > 0 else float(ndtr(-a))
    less = density * _mills(erfcx(b / math.sqrt(2)))
    # The rounding of a moves the density by a factor of e^(a da).
    error = _ERROR + 4 * (abs(a) + 1) * b * 2.0**-51
    return min(1.0, more - less + error * (more + less) + _SMALLEST_DELTA * 1e-9)


def _mills(scaled: float) -> float:
    return math.sqrt(math.pi / 2) * float(scaled)
