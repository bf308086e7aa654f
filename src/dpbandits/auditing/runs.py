"""Runs: a policy played again and again with hidden rewards, by one adversary after the other, on one account."""

import math
import random
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._progress import Progress
from dpbandits.auditing.account import Account
from dpbandits.auditing.hidden import EVERY, FEW, MANY, Hidden
from dpbandits.auditing.playing import Game
from dpbandits.auditing.reached import Reached
from dpbandits.auditing.secret import Leak, Secret, Unknown
from dpbandits.auditing.steering import adversaries
from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import SeededNoise
from dpbandits.policies.base import Policy
from dpbandits.privacy import Guarantee
from dpbandits.simulation.watched import RELEASES, SEEN, WatchedNoise

FULLY_FOLLOWED = 1024  # steps: in longer runs a reward stands for its block
LONGEST = 150_000  # no power of two, so that something comes after the last phase that ends in time
DECISIONS = 1536  # of one long run, from its first release on
MOST_RUNS = 64
_SILENT = 2**15  # decisions: who has released nothing by then never does
_BUDGET = 8_000  # decisions of all runs of a part; nobody is left out for it
_MORE_RUNS = 120  # at most, while a line has not been reached
_MORE_BUDGET = 4_000
_PROGRAMS = 20  # a linear program for a reward takes as long as so many decisions
_WATCHED = 3_000  # decisions after which nobody watches any more which lines are reached: that takes long
_TOLERANCE = 1e-9


class Size(NamedTuple):
    """Of a run: its arms, its steps, and the most decisions before it ends."""

    arms: int
    horizon: int
    decisions: float = math.inf


@dataclass(frozen=True)
class Part:
    """What was found in runs of so many arms and steps: the most that every reward lost, and the worst of them."""

    arms: int
    horizon: int
    steps: int  # of the longest run
    runs: int
    claim: Guarantee
    losses: NDArray[np.float64]
    epsilon: float
    worst: int
    adversary: str
    leak: str | None
    unknown: str | None

    @property
    def exceeds(self) -> bool:
        """Whether some reward loses more than is claimed."""
        return self.epsilon > self.claim.epsilon * (1 + _TOLERANCE)

    @property
    def share(self) -> float:
        """How much of the claim the worst reward loses; of no loss at all, nothing or all."""
        return self.epsilon / self.claim.epsilon if self.claim.epsilon else math.inf if self.epsilon else 0.0


class Runs:
    """Runs of one number of arms and steps. In long ones, a reward stands for its block, and decisions are counted."""

    def __init__(self, policy: Policy, size: Size, claim: Guarantee, seed: int, reached: Reached) -> None:
        self.policy, self.claim, self.seed, self.reached = policy, claim, seed, reached
        self.arms, self.horizon, self.most_decisions = size
        self.is_long = self.horizon > FULLY_FOLLOWED
        self.until = 2 * self.horizon if policy.horizon == self.horizon else self.horizon
        self.account = Account(self.until, claim.delta)
        self.enough = claim.epsilon * (1 + _TOLERANCE)
        self.adversaries = adversaries(self.arms)
        self.runs = self.steps = self.decisions = 0
        self.shares_noise = False
        self.has_blocks = False  # whether a choice was ever held for more than one play
        self.unknown: str | None = None

    def play(self, bar: Progress, *, to_the_last_line: bool) -> Part:
        """Play them, and more `to_the_last_line`, as long as one is left that no run has reached."""
        leak = None
        try:
            for name, cut in self._plays():
                if self._is_enough():
                    break
                bar.describe(f"{self.arms} arms, {self.horizon} steps: {name}")
                self._play(name, cut, is_watched=self.decisions < _WATCHED)
                bar.advance(1)
            if to_the_last_line and not self._is_refuted():
                bar.describe(f"{self.arms} arms, {self.horizon} steps: to the last line")
                self._play_more()
            bar.describe("composing")
            self.account.settle(self.enough)
        except Leak as problem:
            leak = str(problem)
            self.account.say(math.inf, 0, self._name)
            self.account.losses[:] = math.inf
        return Part(
            *(self.arms, self.horizon, self.steps, self.runs, self.claim),
            losses=self.account.losses,
            epsilon=self.account.epsilon,
            worst=self.account.worst,
            adversary=self.account.adversary,
            leak=leak,
            unknown=self.unknown,
        )

    def _plays(self) -> Iterator[tuple[str, str]]:
        """Yield adversaries and cuts: everybody in blocks, then in the other cuts if these differ, then by chance."""
        cuts = ["blocks", "cut blocks", "step"] if self.is_long else ["blocks", "step", "cut blocks"]
        for cut in cuts:
            for name in self.adversaries:
                if cut == "blocks" or (self.has_blocks and self._is_worthwhile(name, cut)):
                    yield name, cut
        while self.runs < MOST_RUNS:
            for name in ("usual", "aimed", "usual", "mixed"):
                yield name, cuts[self.runs % 2]

    def _is_enough(self) -> bool:
        """Whether everybody has had a turn and it costs too much, or there is nothing left to find."""
        is_all = self.runs >= len(self.adversaries)
        return math.isinf(self._pure_loss()) or (is_all and (self._is_refuted() or self.decisions > _BUDGET))

    def _is_refuted(self) -> bool:
        return self._pure_loss() > self.enough

    def _pure_loss(self) -> float:
        """Return the largest loss of one run; with delta that does not count, since it takes all of them together."""
        return self.account.largest if self.claim.delta == 0 else 0.0

    def _is_worthwhile(self, name: str, cut: str) -> bool:
        """Step by step, a long run does not come far: once is enough."""
        return not (self.is_long and cut == "step") or name in ("usual", "turns")

    def _followed(self) -> int:
        """Noise that is in several releases is a linear program for every reward: fewer of them, then."""
        return FEW if self.shares_noise else MANY if self.is_long else EVERY

    def _play_more(self) -> None:
        most, decisions = self.runs + _MORE_RUNS, self.decisions + _MORE_BUDGET
        while self.unknown is None and not self.reached.is_complete and self.runs < most and self.decisions < decisions:
            self._play(("aimed", "mixed", "aimed", "usual")[self.runs % 4], "blocks", is_watched=True)

    def _play(self, name: str, cut: str, *, is_watched: bool) -> None:
        self.runs += 1
        self._name = name
        dice = random.Random(self.seed * MOST_RUNS * 1000 + self.runs)  # noqa: S311
        hidden = Hidden(self.arms, self.until, dice, self._followed())
        noise = TaintNoise(dice.getrandbits(62), self.adversaries[name](self.arms, dice, self.runs))
        noise.plays_in = hidden.plays_in
        game = Game(self.policy, self.arms, self.horizon, noise, object)

        def total(t: int, arm: int, plays: int) -> Secret:
            noise.begin_step()
            return hidden(t, arm, plays)

        try:
            with self.reached if is_watched else nullcontext():
                game.play_blocks(total, self.until, cut, self.runs, self.most_decisions)
        except Unknown as problem:
            if noise.takes_noise_out_of(problem.form):
                raise Leak("a secret was read after its noise had been let out") from problem
            self.unknown = str(problem)
        self.has_blocks |= any(plays > 1 for _, _, plays in game.blocks)
        self.shares_noise |= not noise.has_noise_for_each()
        self.steps = max(self.steps, game.t - 1)
        self.decisions += len(game.blocks) * (_PROGRAMS if self.shares_noise else 1)
        try:
            self.account.add(noise, name, hidden.until)
        except Unknown as problem:
            self.unknown = str(problem)


def reachable(policy: Policy, arms: int) -> Size:
    """Return how far a policy comes by usual noise in so many decisions, once it has released something."""
    longest = LONGEST if policy.horizon is None else min(LONGEST, policy.horizon)
    noise = WatchedNoise(SeededNoise(0), np.empty(0), np.zeros(SEEN, dtype=np.int64))
    game = Game(policy, arms, longest, noise)
    dice = random.Random(0)  # noqa: S311
    most = _SILENT
    while game.t <= longest and len(game.blocks) < most:
        until = min(most, len(game.blocks) + 64)
        game.play_blocks(lambda t, arm, plays: plays * dice.random(), longest, "blocks", decisions=until)
        if noise.seen[RELEASES] and most == _SILENT:
            most = len(game.blocks) + DECISIONS
    return Size(arms, min(game.t - 1, longest), max(len(game.blocks), DECISIONS))
