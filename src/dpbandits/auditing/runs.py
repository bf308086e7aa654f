"""Runs: a policy played again and again with hidden rewards, by one adversary after the other, on one account."""

import math
import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._phrases import count_text
from dpbandits._progress import Progress
from dpbandits.auditing.account import Account, CertainLoss
from dpbandits.auditing.disclosure import reading_shows
from dpbandits.auditing.hidden_rewards import EVERY, FEW, MANY, HiddenRewards
from dpbandits.auditing.kernel_coverage import KernelCoverage
from dpbandits.auditing.replay_noise import COUNTERS, RELEASES, WatchedNoise
from dpbandits.auditing.steering import Steering, adversaries
from dpbandits.auditing.taint import TaintNoise
from dpbandits.auditing.witness import density_ratio, on_one_side, repeat_steering, shifts_for
from dpbandits.engine.game import BLOCKS, CUT_BLOCKS, STEP, Cut, Game
from dpbandits.mechanisms import SeededNoise
from dpbandits.mechanisms.linear import Leak, Reading, Secret, Unknown
from dpbandits.policies.policy import Policy
from dpbandits.privacy import Guarantee

FULLY_FOLLOWED = 1024  # steps: in longer runs a reward stands for its block
LONGEST = 150_000  # no power of two, so that something comes after the last phase that ends in time
DECISIONS = 1536  # of one long run, from its first release on
MOST_RUNS = 64
_SILENT = 2**15  # decisions: a policy that has released nothing by then never will
_BUDGET = 8_000  # decisions of all runs of a part; nobody is left out for it
_MORE_RUNS = 240  # at most, while a line has not been reached
_MORE_BUDGET = 4_000
_PROGRAMS = 20  # decisions that take as long as a linear program for one reward
_COVERED_DECISIONS = 3_000  # decisions for which executed lines are recorded, since that is slow
_TOLERANCE = 1e-9
_TRIES = 12  # runs with a loss above the claim that are repeated until one witnesses it
_SUSPECTS = 2  # rewards of each
_RARE = 1e-5  # a delta that chance does not reach in all runs together
_CHANCES = 8
_AFTERWARDS = 32  # steps in which what was read may show


class Size(NamedTuple):
    """The size of a run: its arms, its steps, and the most decisions before it ends."""

    arms: int
    horizon: int
    decisions: float = math.inf
    adversaries: tuple[str, ...] = ()  # all of them, if none is named


@dataclass(frozen=True)
class Part:
    """The result of all runs with one number of arms and of steps: the most that every reward lost, and the worst."""

    arms: int
    horizon: int
    steps: int  # of the longest run
    runs: int
    claim: Guarantee
    losses: NDArray[np.float64]
    epsilon: float
    worst: int
    adversary: str
    certain_loss: CertainLoss  # of any reward
    followed: int  # how many rewards were followed, in any run
    leak: str | None
    unknown: str | None

    @property
    def exceeds(self) -> bool:
        """Whether some reward certainly loses more than is claimed."""
        return self.certain_loss.epsilon > self.claim.epsilon * (1 + _TOLERANCE)

    @property
    def is_open(self) -> bool:
        """Whether the bound is above the claim, and that is not certain of the loss."""
        return not self.exceeds and self.epsilon > self.claim.epsilon * (1 + _TOLERANCE)

    @property
    def share(self) -> float:
        """How much of the claim the worst reward loses; of no loss at all, nothing or all."""
        return self.epsilon / self.claim.epsilon if self.claim.epsilon else math.inf if self.epsilon else 0.0


class Run(NamedTuple):
    """All that repeats a run: its number, who chooses the noise, the cut, how many rewards are followed."""

    number: int
    adversary: str
    cut: Cut
    followed: int


class FinishedRun(NamedTuple):
    """A run with its game, the noise that it drew and its rewards."""

    run: Run
    game: Game
    noise: TaintNoise
    rewards: HiddenRewards


class Runs:
    """Runs of one number of arms and steps. In long ones, a reward stands for its block, and decisions are counted."""

    def __init__(self, policy: Policy, size: Size, claim: Guarantee, seed: int, coverage: KernelCoverage) -> None:
        self.policy, self.claim, self.seed, self.coverage = policy, claim, seed, coverage
        self.arms, self.horizon, self.most_decisions, names = size
        self.is_long = self.horizon > FULLY_FOLLOWED
        self.until = 2 * self.horizon if policy.horizon == self.horizon else self.horizon
        self.account = Account(self.until, claim.delta)
        self.enough = claim.epsilon * (1 + _TOLERANCE)
        self.adversaries = {
            name: way for name, way in adversaries(self.arms).items() if name in (names or adversaries(self.arms))
        }
        self.runs = self.steps = self.decisions = 0
        self.shares_noise = False
        self._tries = 0  # runs that were repeated with noise on one side
        self.has_blocks = False  # whether a choice was ever held for more than one play
        self.unknown: str | None = None
        self._leaked_at = 1  # the time of a leak

    def play(self, bar: Progress, *, to_the_last_line: bool) -> Part:
        """Play them, and more `to_the_last_line`, as long as one is left that no run has reached."""
        leak = None
        where = f"{count_text(self.arms, 'arm')}, {count_text(self.horizon, 'step')}"
        try:
            for name, cut in self._plays():
                if self._is_enough():
                    break
                bar.describe(f"{where}: {name}")
                self._play(name, cut, is_watched=self.decisions < _COVERED_DECISIONS)
                bar.advance(1)
            if to_the_last_line and not self._is_refuted():
                bar.describe(f"{where}: to the last line")
                self._play_more()
            bar.describe("composing")
            self.account.settle(self.enough)
        except Leak as problem:
            self.account.note_loss(math.inf, 0, self._name)
            self.account.losses[:] = math.inf
            if self._is_shown(problem):
                leak = str(problem)
                self.account.note_certain_loss(math.inf, 0, self._name)
            elif isinstance(problem, Reading):
                self.unknown = f"{problem}, and nothing public was found that depends on it"
            else:
                self.unknown = f"{problem}, which may be rarer than delta"
        return Part(
            *(self.arms, self.horizon, self.steps, self.runs, self.claim),
            losses=self.account.losses,
            epsilon=self.account.epsilon,
            worst=self.account.worst,
            adversary=self.account.adversary,
            certain_loss=self.account.certain_loss,
            followed=int(self.account.is_followed[: self.steps].sum()),
            leak=leak,
            unknown=self.unknown,
        )

    def _plays(self) -> Iterator[tuple[str, Cut]]:
        """Yield adversaries and cuts: everybody in blocks, then in the other cuts if these differ, then by chance."""
        cuts: list[Cut] = [BLOCKS, CUT_BLOCKS, STEP] if self.is_long else [BLOCKS, STEP, CUT_BLOCKS]
        for cut in cuts:
            for name in self.adversaries:
                if cut == BLOCKS or (self.has_blocks and self._is_worthwhile(name, cut)):
                    yield name, cut
        while self.runs < MOST_RUNS:
            for name in ("usual", "aimed", "usual", "mixed"):
                yield name, cuts[self.runs % 2]

    def _is_enough(self) -> bool:
        """Whether everybody has had a turn and it costs too much, or there is nothing left to find."""
        is_all = self.runs >= len(self.adversaries)
        return math.isinf(self.account.certain_loss.epsilon) or (
            is_all and (self._is_refuted() or self.decisions > _BUDGET)
        )

    def _is_refuted(self) -> bool:
        return self.account.certain_loss.epsilon > self.enough

    def _is_worthwhile(self, name: str, cut: Cut) -> bool:
        """Step by step, a long run does not come far: once is enough."""
        return not (self.is_long and cut == STEP) or name in ("usual", "turns")

    def _rewards_to_follow(self) -> int:
        """Noise that is in several releases is a linear program for every reward: in long runs fewer of them, then."""
        return EVERY if not self.is_long else FEW if self.shares_noise else MANY

    def _play_more(self) -> None:
        most, decisions = self.runs + _MORE_RUNS, self.decisions + _MORE_BUDGET
        while (
            self.unknown is None and not self.coverage.is_complete and self.runs < most and self.decisions < decisions
        ):
            self._play(("aimed", "mixed", "aimed", "aimed")[self.runs % 4], BLOCKS, is_watched=True)

    def _play(self, name: str, cut: Cut, *, is_watched: bool) -> None:
        self.runs += 1
        self._name = name
        finished_run = self._run(Run(self.runs, name, cut, self._rewards_to_follow()), is_watched=is_watched)
        game, noise, rewards = finished_run.game, finished_run.noise, finished_run.rewards
        self.has_blocks |= any(plays > 1 for _, _, plays in game.blocks)
        self.shares_noise |= not noise.has_noise_for_each()
        self.steps = max(self.steps, game.t - 1)
        self.decisions += len(game.blocks) * (_PROGRAMS if self.shares_noise else 1)
        try:
            losses = self.account.add(noise, name, rewards.until)
        except Unknown as problem:
            self.unknown = str(problem)
        else:
            self._look_for_witness(finished_run, losses)

    def _run(
        self,
        run: Run,
        *,
        steer: Callable[[random.Random], Steering] | None = None,
        level: float | None = None,
        decisions: float = math.inf,
        is_watched: bool = False,
    ) -> FinishedRun:
        """Play a run: as it comes, or with this steering and these rewards."""
        dice = random.Random(self.seed * MOST_RUNS * 1000 + run.number)  # noqa: S311
        others = random.Random(dice.getrandbits(62))  # noqa: S311
        rewards = HiddenRewards(self.arms, self.until, dice, run.followed, level)
        steering = self.adversaries[run.adversary](self.arms, others, run.number) if steer is None else steer(others)
        noise = TaintNoise(dice.getrandbits(62), steering)
        noise.plays_in = rewards.plays_in
        game = Game(self.policy, self.arms, self.horizon, noise, object)

        def total(t: int, arm: int, plays: int) -> Secret:
            noise.begin_step()
            return rewards(t, arm, plays)

        try:
            with self.coverage if is_watched else nullcontext():
                game.play_blocks(total, self.until, run.cut, run.number, min(decisions, self.most_decisions))
        except Leak:
            self._leaked_at = game.t
            raise
        except Unknown as problem:
            if noise.takes_noise_out_of(problem.form):
                raise Leak("a secret was read after its noise had been let out") from problem
            if steer is None:
                self.unknown = str(problem)
        return FinishedRun(run, game, noise, rewards)

    def _look_for_witness(self, finished_run: FinishedRun, losses: dict[int, float]) -> None:
        """See whether this run, or one that repeats its releases with other rewards, really loses so much."""
        threshold = max(self.enough, self.account.certain_loss.epsilon)
        suspects = sorted((number for number, loss in losses.items() if loss > threshold), key=lambda n: -losses[n])
        if not suspects or finished_run.noise.draws:
            return
        if self.claim.delta > 0:
            # What has a chance below delta does not come by chance in so few runs.
            is_by_chance = finished_run.run.adversary == "usual" and self.claim.delta <= _RARE
            if is_by_chance and math.inf in (shifts_for(finished_run.noise, suspects[0]) or {}).values():
                self.account.note_certain_loss(math.inf, suspects[0], "usual")
            return
        self._witness(finished_run, suspects[0], None, 0)
        if self._is_refuted() or self._tries >= _TRIES:
            return
        self._tries += 1
        for number in suspects[:_SUSPECTS]:
            for level, side in product((0.0, 1.0), (1, -1)):
                self._witness(finished_run, number, level, side)
                if self._is_refuted():
                    return

    def _witness(self, finished_run: FinishedRun, number: int, level: float | None, side: int) -> None:
        """Repeat a run, with all rewards at a level and the noises that matter on one side; note what it loses."""
        shifts = shifts_for(finished_run.noise, number)
        if shifts is None:
            return
        change = 1 if level == 0.0 else -1
        signed_shifts = {noise: change * shift for noise, shift in shifts.items()} if level is not None else {}
        last = max(
            step
            for step, rewards in zip(finished_run.noise.steps, finished_run.noise.rewards, strict=True)
            if number in dict(rewards)
        )
        repetition = self._run(
            finished_run.run,
            steer=lambda dice: repeat_steering(
                finished_run.noise, dice, on_one_side(finished_run.noise, signed_shifts, side)
            ),
            level=level,
            decisions=last,
        )
        new_shifts = shifts_for(repetition.noise, number)
        if new_shifts is None or not new_shifts or repetition.noise.draws:
            return
        ratio = max(
            abs(density_ratio(repetition.noise, new_shifts, each)) for each in repetition.rewards.changes(number)
        )
        if ratio > self.enough:
            self.account.note_certain_loss(ratio, number, finished_run.run.adversary)

    def _is_shown(self, problem: Leak) -> bool:
        """Tell whether a leak is certain: what was read becomes public, and is not rarer than delta."""
        delta = self.claim.delta
        if delta > _RARE:
            return False
        if isinstance(problem, Reading):
            steps = min(self.until, self._leaked_at + _AFTERWARDS, FULLY_FOLLOWED)
            return reading_shows(self.policy, self.arms, self.horizon, steps, self.seed, is_usual=delta > 0)
        return delta == 0 or self._leaks_by_chance()

    def _leaks_by_chance(self) -> bool:
        """Tell whether a leak comes by usual noise, too: then it is not rarer than any small delta."""
        try:
            for number in range(_CHANCES):
                self._run(Run(MOST_RUNS + number, "usual", BLOCKS, self._rewards_to_follow()))
        except Leak:
            return True
        return False


def reachable(policy: Policy, arms: int) -> Size:
    """Return how far a policy gets with usual noise in some 1500 decisions, once it has released something."""
    longest = LONGEST if policy.horizon is None else min(LONGEST, policy.horizon)
    noise = WatchedNoise(SeededNoise(0), np.empty(0), np.zeros(COUNTERS, dtype=np.int64))
    game = Game(policy, arms, longest, noise)
    dice = random.Random(0)  # noqa: S311
    most = _SILENT
    while game.t <= longest and len(game.blocks) < most:
        until = min(most, len(game.blocks) + 64)
        game.play_blocks(lambda t, arm, plays: plays * dice.random(), longest, BLOCKS, decisions=until)
        if noise.counters[RELEASES] and most == _SILENT:
            most = len(game.blocks) + DECISIONS
    return Size(arms, min(game.t - 1, longest), max(len(game.blocks), DECISIONS))
