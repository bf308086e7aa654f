"""Forwarding: noise sources in front of another one, `source`, which makes the draws that protect nobody."""

from typing import Any, TypeVar

from dpbandits._kernel import kernel
from dpbandits.mechanisms.draws import beta, normal, uniform

Source = TypeVar("Source")


@kernel
def _uniform(noise: Any) -> float:
    return uniform(noise.source)


@kernel
def _normal(noise: Any) -> float:
    return normal(noise.source)


@kernel
def _beta(noise: Any, a: float, b: float) -> float:
    return beta(noise.source, a, b)


def forward_draws(kind: type[Source]) -> type[Source]:
    """Pass the draws of a class of noise sources on to their `source`, plain and compiled; its releases are its own."""
    uniform.register(kind)(_uniform)
    normal.register(kind)(_normal)
    beta.register(kind)(_beta)
    return kind
