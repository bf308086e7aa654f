"""Counters run on symbols instead of numbers: what a released sum is made of, exactly.

Rewards and noises are symbols; a released value keeps its linear form. So the kernels themselves tell which
rewards and which noises are in every sum, to be compared with what `nodes` claims.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counter_parts import parts_of
from dpbandits.mechanisms import CARRIED, ContinualCounter, insert, release, reserve
from dpbandits.mechanisms.state import fields_of


class Form:
    """A linear form over named symbols."""

    def __init__(self, terms: Mapping[Any, int]) -> None:
        self.terms = {symbol: factor for symbol, factor in terms.items() if factor}

    def __add__(self, other: Any) -> "Form":
        terms = dict(self.terms)
        for symbol, factor in _terms(other).items():
            terms[symbol] = terms.get(symbol, 0) + factor
        return Form(terms)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Form":
        return self + Form({symbol: -factor for symbol, factor in _terms(other).items()})

    def __rsub__(self, other: Any) -> "Form":
        return Form(_terms(other)) - self


def _terms(value: Any) -> Mapping[Any, int]:
    if isinstance(value, Form):
        return value.terms
    assert value == 0, "only zero is a constant here"
    return {}


@dataclass
class SymbolicNoise:
    """A noise source whose noises are numbered symbols; remembers their scales."""

    scales: list[float] = field(default_factory=list)


@reserve.register(SymbolicNoise)
def _reserve(noise: SymbolicNoise, scale: float, mechanism: int = 0, arm: int = 0) -> Form:
    noise.scales.append(scale)
    return Form({("noise", len(noise.scales) - 1): 1})


@release.register(SymbolicNoise)
def _release(noise: SymbolicNoise, secret: Any, scale: float, mechanism: int = 0, arm: int = 0) -> Form:
    return (Form({}) if scale == CARRIED else _reserve(noise, scale)).__add__(secret)


def run(counter: ContinualCounter, items: int) -> tuple[list[Form], list[float]]:
    """Insert so many symbolic rewards with the counter's own kernel; return every sum and all noise scales."""
    params, built = parts_of(counter)
    state_class = type(built)
    arrays = {}
    for name, declared in fields_of(state_class).items():
        shape = getattr(built, name).shape
        holds_values = declared.is_secret or declared.dtype == np.float64
        arrays[name] = np.zeros(shape, object if holds_values else declared.dtype)
    state = state_class(**arrays)
    noise = SymbolicNoise()
    sums = []
    for i in range(1, items + 1):
        insert(params, state, 0, Form({("reward", i): 1}), noise)
        sums.append(state.sums[0])
    return sums, noise.scales
