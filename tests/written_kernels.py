"""A policy whose kernels are given as text, to be right or wrong in any way."""

from typing import Any


def wrong(**kernels: str) -> Any:
    """Return a policy whose kernels are the given expressions."""
    lines = {"select": "0", "hold": "1", "update": "None"} | kernels
    names: dict[str, Any] = {}
    exec(WRONG.format(**lines), names)
    return names["Wrong"]()


WRONG = """
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
import numpy as np
from dpbandits import kernel
from dpbandits.mechanisms import public
from dpbandits.policies import Policy, Setup, hold, select, update
class Params(NamedTuple):
    unused: int
class State(NamedTuple):
    counts: Annotated[Any, public("arms")]
@select.register(Params)
@kernel
def _select(params, state, t):
    return {select}
@hold.register(Params)
@kernel
def _hold(params, state, arm, t):
    return {hold}
@update.register(Params)
@kernel
def _update(params, state, arm, plays, reward, t, noise):
    return {update}
@dataclass(frozen=True)
class Wrong(Policy):
    name = "wrong"
    source = "a test"
    def setup(self, arms, horizon):
        return Setup(Params(0), State)
    def guarantee(self, horizon=0.0):
        return None
"""
