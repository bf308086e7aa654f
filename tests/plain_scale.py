"""A policy whose scale is 1/ε as Python rounds it, which may cost a reward a little more than ε."""

from collections.abc import Iterator
from dataclasses import dataclass

from dpbandits.policies import Block, Setup
from explore_then_commit import ExploreThenCommit, Params, State


@dataclass(frozen=True, kw_only=True)
class PlainScale(ExploreThenCommit):
    name = "plain-scale"

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(Params(self.plays, 1 / self.epsilon), State)

    def blocks(self, horizon: int) -> Iterator[Block]:
        return iter([Block(1, self.plays, 1 / self.epsilon)])
