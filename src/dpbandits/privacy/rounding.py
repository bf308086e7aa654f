"""Directed rounding: losses go up, scales go up, budgets go down, whatever the float in between.

Where a value is a ratio or a sum of floats it is computed exactly as a Fraction and rounded once.
Where it comes out of a formula with logarithms or square roots, `above` and `below` add a margin that is
much wider than the formula's own rounding error.
"""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from dpbandits import _validate

# 2^-40: eight thousand units in the last place, and still invisible in any printed figure.
MARGIN = 2.0**-40
# Well above the subnormal numbers, whose relative error is not small.
_SMALLEST_EXACT = 1e-290


def up(exact: Fraction) -> float:
    """Return the smallest float that is at least `exact`."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def down(exact: Fraction) -> float:
    """Return the largest float that is at most `exact`."""
    return -up(-exact)


def above(computed: float) -> float:
    """Return a value safely above the exact result of a formula that gave `computed` >= 0; 0 stays 0."""
    return max(computed, _SMALLEST_EXACT) * (1 + MARGIN) if computed > 0 else 0.0


def below(computed: float, margins: int = 1) -> float:
    """Return a value safely below the exact result of a formula that gave `computed` >= 0.

    Several margins make room for what a later `above` will add again.
    """
    return computed * (1 - margins * MARGIN) if computed > _SMALLEST_EXACT else 0.0


def ratio_up(numerator: float, denominator: float) -> float:
    """Return numerator / denominator, rounded up. An infinite denominator gives 0."""
    if math.isinf(denominator):
        return 0.0
    return up(Fraction(numerator) / Fraction(denominator))


def bits_up(value: float, bits: int) -> float:
    """Return the smallest number with at most `bits` significant bits that is at least `value` > 0.

    >>> bits_up(5.0, bits=2), bits_up(6.0, bits=2)
    (6.0, 6.0)
    """
    fraction, exponent = math.frexp(value)
    return math.ldexp(math.ceil(math.ldexp(fraction, bits)), exponent - bits) if math.isfinite(value) else value


def sum_up(terms: Iterable[float]) -> float:
    """Return the sum of the terms, rounded up once."""
    counts = Counter(terms)  # equal terms are common and exact addition is slow
    if math.inf in counts:
        return math.inf
    return up(sum((Fraction(term) * count for term, count in counts.items()), Fraction(0)))


def scale_for(epsilon: float, uses: int = 1) -> float:
    """Return the smallest float scale b with uses * (1 / b) <= epsilon exactly.

    It is the Laplace scale of a sum of rewards in [0, 1] when one reward enters `uses` released sums.

    Args:
        epsilon: what all these sums may cost together.
        uses: how many released sums one reward enters; one by default.

    >>> scale_for(0.1), scale_for(0.5, uses=3)
    (10.0, 6.0)
    """
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    return ratio_up(_validate.integer("[1, inf)", uses=uses), epsilon)
