"""Group privacy: one person gives up to m rewards, the accountant counts single ones.

A mechanism that is (ε, δ)-DP in one reward is (mε, δ Σ_{i<m} e^(iε))-DP in m of them: replaced one after the other,
they give P_0(E) <= e^ε P_1(E) + δ <= e^ε (e^ε P_2(E) + δ) + δ <= ... Nothing smaller holds for all such mechanisms: one
that says yes with probability 0, δ, δ (1 + e^ε), ... has equality. A ρ-zCDP one is m²ρ-zCDP (Bun & Steinke 2016,
Prop. 1.9).
"""

import math
import sys
from dataclasses import replace
from fractions import Fraction

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.privacy.budget import ONE_REWARD, Budget, Guarantee
from dpbandits.privacy.rounding import above, below, down, up


def per_reward_budget(budget: Budget, contributions: int) -> Budget:
    """Return what may be spent on one reward so that a person with m rewards stays within `budget`.

    (ε/m, δ / Σ_{i<m} e^(iε/m)), rounded down.

    Args:
        budget: what may be spent on one person.
        contributions: m, how many rewards of one person enter at most.

    >>> per_reward_budget(Budget(1.0, 1e-6), contributions=4)
    Budget(epsilon=0.25, delta=1.653e-07)
    """
    m = _validate.integer("[1, inf)", contributions=contributions)
    if m == 1:
        return budget
    epsilon = down(Fraction(budget.epsilon) / m)
    return Budget(epsilon, below(budget.delta * math.exp(-_log_growth(epsilon, m)), margins=2))


def per_reward_rho(rho: float, contributions: int) -> float:
    """Return the zCDP that may be spent on one reward so that a person with m rewards stays within `rho`.

    Args:
        rho: the zCDP that may be spent on one person.
        contributions: m, how many rewards of one person enter at most.
    """
    m = _validate.integer("[1, inf)", contributions=contributions)
    return down(Fraction(_validate.real("(0, inf)", rho=rho)) / m**2)


def group_guarantee(guarantee: Guarantee, contributions: int) -> Guarantee:
    """Return what a guarantee for one reward is worth to a person who gives m of them.

    Args:
        guarantee: what holds for one reward.
        contributions: m, how many rewards of one person enter at most.

    Raises:
        InvalidInput: the delta for a person would be 1 or more.
    """
    m = _validate.integer("[1, inf)", contributions=contributions)
    if guarantee.unit != ONE_REWARD:
        raise InvalidInput(f"Expected the guarantee's unit={guarantee.unit!r} to be {ONE_REWARD!r}.")
    if m == 1:
        return guarantee
    log_growth = _log_growth(guarantee.epsilon, m)
    if guarantee.delta > 0 and log_growth + math.log(guarantee.delta) >= 0:
        raise InvalidInput(
            f"Expected contributions={m} small enough to keep delta below 1: "
            f"delta={guarantee.delta} for one reward grows by a factor of e^{log_growth:.3g}."
        )
    return replace(
        guarantee,
        epsilon=up(Fraction(guarantee.epsilon) * m),
        delta=above(math.exp(log_growth + math.log(guarantee.delta))) if guarantee.delta > 0 else 0.0,
        unit=f"up to {m} rewards of one person",
        theorem=f"{guarantee.theorem}, group privacy",
    )


def _log_growth(epsilon: float, m: int) -> float:
    """Return ln Σ_{i<m} e^(iε), which is ln((e^(mε) - 1) / (e^ε - 1))."""
    if epsilon == 0 or m * epsilon < sys.float_info.min:  # where quotients of the smallest floats mean nothing
        return math.log(m)
    return (m - 1) * epsilon + math.log(math.expm1(-m * epsilon) / math.expm1(-epsilon))
