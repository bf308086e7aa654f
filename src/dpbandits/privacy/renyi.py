"""Rényi and zero-concentrated differential privacy, in closed form.

Weaker than a privacy loss distribution wherever both apply. They are what remains for an endless schedule, for
discrete Gaussian noise and for a delta too small for floating-point convolution. dp-accounting's own Rényi
accountant gives the same figures (tests compare them) but takes 10 ms for one randomised response
(benchmarks/results.md), 4 s for the 396 releases that the curves below settle in 0.02 s.
"""

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits.privacy.events import Event, GaussEvent, LaplaceEvent
from dpbandits.privacy.rounding import above

Curve = NDArray[np.float64]  # a Rényi divergence for every order

# Any order gives a valid bound, so the grid costs tightness and never safety.
ORDERS: Curve = 1 + np.logspace(-2, 8, 2001)
# Absolute rounding error of one divergence, generously: a difference of logarithms, divided by order - 1 >= 0.01.
_ERROR_PER_EVENT = 1e-13


def rdp_epsilon(events: Iterable[Event], delta: float) -> float:
    """Return the epsilon at `delta` of the adaptive composition of the events (Mironov 2017, Prop. 1)."""
    counts = Counter(events)
    total: Curve = np.zeros_like(ORDERS)
    for event, count in counts.items():
        total += count * renyi_curve(event)
    return _epsilon(total + counts.total() * _ERROR_PER_EVENT, delta) if counts else 0.0


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    Args:
        rho: what the mechanism costs in zCDP.
        delta: at which delta, in (0, 1).

    >>> zcdp_epsilon(rho=0.1, delta=1e-6)
    2.142
    """
    rho = _validate.real("[0, inf)", rho=rho)
    return _epsilon(rho * ORDERS, delta) if rho > 0 else 0.0


def rho_of(event: Event) -> float:
    """Return the event's zCDP: (sensitivity/sigma)²/2, or ε²/2 of a pure mechanism (Bun & Steinke, Prop. 1.4).

    Args:
        event: a release, such as `GaussianEvent(sigma=4.0)`.
    """
    if isinstance(event, GaussEvent):
        return above((event.sensitivity / event.sigma) ** 2 / 2)
    return above(event.epsilon**2 / 2)


def renyi_curve(event: Event) -> Curve:
    """Return the Rényi divergence of one event at every order of ORDERS."""
    a = ORDERS
    if isinstance(event, GaussEvent):
        return rho_of(event) * a
    e = event.epsilon
    if isinstance(event, LaplaceEvent):  # Mironov 2017, Prop. 6
        up = np.log(a / (2 * a - 1)) + (a - 1) * e
        down = np.log((a - 1) / (2 * a - 1)) - a * e
        curve: Curve = np.logaddexp(up, down) / (a - 1)
        return curve
    # Randomised response, the worst of all pure mechanisms: ln(cosh((a - 1/2) ε) / cosh(ε/2)) / (a - 1).
    return (_log_cosh((a - 0.5) * e) - _log_cosh(np.float64(e / 2))) / (a - 1)


def _epsilon(curve: Curve, delta: float) -> float:
    """Convert (Canonne, Kamath & Steinke 2020, Prop. 12): D(a) + ln((a-1)/a) - ln(a δ)/(a-1), smallest over a."""
    delta = _validate.real("(0, 1)", delta=delta)
    a = ORDERS
    logs, share = -np.log1p(1 / (a - 1)), -(math.log(delta) + np.log(a)) / (a - 1)
    allowance = 1e-14 * (curve + np.abs(logs) + np.abs(share))  # the terms may cancel, their errors do not
    return above(max(float(np.min(curve + logs + share + allowance)), 0.0))


def _log_cosh(x: Curve | np.float64) -> Curve:
    return np.asarray(np.logaddexp(x, -x) - math.log(2))
