"""What a counter is made of, for tests that run its kernel themselves: compiled, for several arms, on symbols.

A policy gets the same from the `configure` of the counter's module. Here they are those of the counter at hand, however
it was made.
"""

from typing import Any

from dpbandits.mechanisms import ContinualCounter


def parts_of(counter: ContinualCounter) -> tuple[Any, Any]:
    """Return the constants of a counter's kernel, and its state."""
    return counter._params, counter._state
