"""Randomised response: the chances of its answers."""

import math

from dpbandits._kernel import kernel


@kernel
def truthful_chance(epsilon: float) -> float:
    """Return how likely the answer to a bit is the bit: e^ε / (e^ε + 1).

    >>> truthful_chance(1.0)
    0.731
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


@kernel
def response_chance(secret: float, scale: float) -> float:
    """Return how likely the answer to a reward r in [0, 1] is 1: (r e^ε + 1 - r) / (e^ε + 1), ε = 1/scale.

    >>> response_chance(0.0, scale=1.0), response_chance(0.5, scale=1.0), response_chance(1.0, scale=1.0)
    (0.269, 0.5, 0.731)
    """
    truthful = truthful_chance(1.0 / scale)
    return secret * truthful + (1.0 - secret) * (1.0 - truthful)
