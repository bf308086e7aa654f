"""Random numbers that protect nobody: exploration in policies, rewards in simulated environments.

Generic like `release`, so a kernel that calls them runs with every noise source. Privacy noise never comes from
here.
"""

from typing import Any

from dpbandits._kernel import generic


@generic
def uniform(noise: Any) -> float:
    """Return a number from [0, 1)."""
    raise TypeError(f"{type(noise).__name__} cannot draw uniform numbers.")


@generic
def normal(noise: Any) -> float:
    """Return a standard normal number."""
    raise TypeError(f"{type(noise).__name__} cannot draw normal numbers.")


@generic
def beta(noise: Any, a: float, b: float) -> float:
    """Return a number from the Beta(a, b) distribution."""
    raise TypeError(f"{type(noise).__name__} cannot draw beta numbers.")
