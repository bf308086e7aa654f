"""Group privacy: one person gives up to m rewards, the accountant counts single ones.

A mechanism that is (ε, δ)-DP in one reward is (mε, m e^((m-1)ε) δ)-DP in m of them (Dwork & Roth 2014,
Thm 2.2 and its (ε, δ) form); a ρ-zCDP one is m²ρ-zCDP (Bun & Steinke 2016, Prop. 1.9).
"""

import math
from dataclasses import replace
from fractions import Fraction

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.privacy.budget import ONE_REWARD, Budget, Guarantee
from dpbandits.privacy.rounding import above, below, down, up


def per_reward_budget(budget: Budget, contributions: int) -> Budget:
    """Return what may be spent on one reward so that a person with m rewards stays within `budget`.

    (ε/m, δ / (m e^((m-1) ε/m))), rounded down.

    >>> per_reward_budget(Budget(1.0, 1e-6), contributions=4)
    Budget(epsilon=0.25, delta=1.181e-07)
    """
    m = _validate.integer("[1, inf)", contributions=contributions)
    if m == 1:
        return budget
    epsilon = down(Fraction(budget.epsilon) / m)
    return Budget(epsilon, below(budget.delta / m * math.exp(-(m - 1) * epsilon), margins=2))


def per_reward_rho(rho: float, contributions: int) -> float:
    """Return the zCDP that may be spent on one reward so that a person with m rewards stays within `rho`."""
    m = _validate.integer("[1, inf)", contributions=contributions)
    return down(Fraction(_validate.real("(0, inf)", rho=rho)) / m**2)


def group_guarantee(guarantee: Guarantee, contributions: int) -> Guarantee:
    """Return what a guarantee for one reward is worth to a person who gives m of them."""
    m = _validate.integer("[1, inf)", contributions=contributions)
    if guarantee.unit != ONE_REWARD:
        raise InvalidInput(f"Expected the guarantee's unit={guarantee.unit!r} to be {ONE_REWARD!r}.")
    if m == 1:
        return guarantee
    log_growth = math.log(m) + (m - 1) * guarantee.epsilon
    if guarantee.delta > 0 and log_growth + math.log(guarantee.delta) >= 0:
        raise InvalidInput(
            f"Expected contributions={m} small enough to keep delta below 1: "
            f"delta={guarantee.delta} for one reward grows by a factor of e^{log_growth:.3g}."
        )
    return replace(
        guarantee,
        epsilon=up(Fraction(guarantee.epsilon) * m),
        delta=above(guarantee.delta * math.exp(log_growth)) if guarantee.delta > 0 else 0.0,
        unit=f"up to {m} rewards of one person",
        theorem=f"{guarantee.theorem}, group privacy",
    )
