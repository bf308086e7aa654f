"""compose: the smallest epsilon that any valid theorem gives for a list of releases."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.privacy.budget import Guarantee
from dpbandits.privacy.composition import advanced_composition, basic_composition, kov_composition
from dpbandits.privacy.events import DiscreteLaplaceEvent, Event, GaussEvent, GaussianEvent, LaplaceEvent, as_event
from dpbandits.privacy.gaussian import gaussian_epsilon
from dpbandits.privacy.pld import pld_epsilon
from dpbandits.privacy.renyi import rdp_epsilon, rho_of, zcdp_epsilon
from dpbandits.privacy.rounding import sum_up, up

BASIC = "basic composition"
ADVANCED = "k-fold adaptive composition (Dwork, Rothblum & Vadhan 2010)"
KOV = "optimal composition bound (Kairouz, Oh & Viswanath 2015)"
ZCDP = "zero-concentrated DP (Bun & Steinke 2016)"
RDP = "Rényi DP (Mironov 2017)"
PLD = "privacy loss distribution (dp-accounting)"
_FEW = 64  # different losses: exact sums of more have long denominators
GAUSSIAN_PROFILE = "exact profile of Gaussian noise (Balle & Wang 2018)"


def compose(events: Iterable[Event | float], delta: float, horizon: float | None = None) -> Guarantee:
    """Return the tightest guarantee that is valid for the adaptive composition of the releases, and of no others.

    Args:
        events: what was released, in any order; a bare number is any epsilon-DP mechanism.
        delta: the largest delta allowed; with 0 only basic composition applies.
        horizon: up to where the list is complete, if it is that of a schedule; it is only passed on.

    Raises:
        InvalidInput: no theorem gives a bound, as for Gaussian noise with a delta of 0.

    >>> from dpbandits.privacy import LaplaceEvent
    >>> compose([LaplaceEvent(scale=10.0)] * 100, delta=1e-6).epsilon
    4.693
    >>> print(compose([0.25, 0.5], delta=0))
    (0.75, 0)-DP in one reward for these releases, by basic composition
    """
    if isinstance(events, Mapping):
        raise InvalidInput("Expected events to be a list of all releases: of a mapping only the keys would count.")
    event_list = [as_event(event) for event in events]
    delta = _validate.real("[0, 1)", delta=delta)
    if horizon is not None:
        horizon = _validate.horizon(horizon)
    candidates = [(epsilon, delta, theorem) for theorem, epsilon in epsilons_by_theorem(event_list, delta).items()]
    pure = _pure_epsilons(event_list)
    if pure is not None:
        candidates.insert(0, (_pure_sum(event_list, pure), 0.0, BASIC))
    epsilon, needed_delta, theorem = min(candidates, key=lambda candidate: candidate[0], default=(math.inf, 0, ""))
    if math.isinf(epsilon):
        raise InvalidInput(f"Expected delta={delta} in (0, 1): Gaussian noise has no pure guarantee.")
    return Guarantee(epsilon=epsilon, delta=needed_delta, horizon=horizon, theorem=theorem, proved=True)


def epsilons_by_theorem(events: Iterable[Event | float], delta: float) -> dict[str, float]:
    """Return the epsilon at `delta` > 0 by every theorem that applies, for comparison; none for delta = 0.

    Args:
        events: what was released, in any order; a bare number is any epsilon-DP mechanism.
        delta: the delta of all of them.
    """
    event_list = [as_event(event) for event in events]
    if delta == 0:
        return {}
    bounds = {
        ZCDP: zcdp_epsilon(sum_up(map(rho_of, event_list)), delta),
        RDP: rdp_epsilon(event_list, delta),
        PLD: pld_epsilon(event_list, delta),
    }
    gaussian = [event for event in event_list if isinstance(event, GaussianEvent)]
    if len(gaussian) == len(event_list):
        bounds[GAUSSIAN_PROFILE] = gaussian_epsilon(gaussian, delta)
    pure = _pure_epsilons(event_list)
    if pure is not None:
        bounds[ADVANCED] = advanced_composition(pure, delta)
        bounds[KOV] = kov_composition(pure, delta)
    return bounds


def _pure_sum(events: list[Event], pure: list[float]) -> float:
    """Return the sum of all losses. Of few different ones it is exact: k releases of scale k / ε cost ε."""
    counts = Counter(events)
    if len(counts) > _FEW or not all(isinstance(event, LaplaceEvent | DiscreteLaplaceEvent) for event in counts):
        return basic_composition(pure)
    losses = (n * Fraction(event.sensitivity) / Fraction(event.scale) for event, n in counts.items())  # type: ignore[union-attr]
    return up(sum(losses, Fraction(0)))


def _pure_epsilons(events: list[Event]) -> list[float] | None:
    epsilons = [event.epsilon for event in events if not isinstance(event, GaussEvent)]
    return epsilons if len(epsilons) == len(events) else None
