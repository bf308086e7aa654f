"""Game: the loop in plain Python, with rewards and noise of any kind; it can be inspected and continued at any step."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits.engine.loop import check_answer, note_plays, note_start, note_switch, play, rules_of
from dpbandits.environments.environment import block_sum, reward
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.policies.policy import FOREVER, Policy, hold, select, update

Totals = Callable[[int, int, int], Any]  # the sum of the rewards of a block, by time, arm and plays
# How many of the plays that `hold` allows are made between two decisions: one, all of them, or as the dice fall.
Cut = Literal["step", "blocks", "cut blocks"]
STEP: Final = "step"
BLOCKS: Final = "blocks"
CUT_BLOCKS: Final = "cut blocks"
CUTS: tuple[Cut, ...] = (STEP, BLOCKS, CUT_BLOCKS)


@dataclass
class Game:
    """A policy at play: its constants, its state, and the arms so far."""

    policy: Policy
    arms: int
    horizon: int
    noise: Any
    secret_dtype: Any = np.float64
    t: int = 1
    actions: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int, int]] = field(default_factory=list)  # t, arm, plays

    def __post_init__(self) -> None:
        setup = self.policy.configure(self.arms, self.horizon)
        self.params, self.state = setup.params, setup.allocate(self.secret_dtype)

    def play(self, reward: Callable[[int, int], Any], until: int, cut: Cut = STEP, seed: int = 0) -> "Game":
        """Play up to and including step `until`; `reward(t, arm)` is the reward of one play."""

        def total(t: int, arm: int, plays: int) -> Any:
            return sum((reward(later, arm) for later in range(t + 1, t + plays)), start=reward(t, arm))

        return self.play_blocks(total, until, cut, seed)

    def play_blocks(self, total: Totals, until: int, cut: Cut, seed: int = 0, decisions: float = math.inf) -> "Game":
        """Play up to step `until`, or `decisions` in all; `total(t, arm, plays)` is the sum of a block from t on."""
        longest = 1 if _validate.one_of(CUTS, cut=cut) == STEP else FOREVER
        rules = rules_of(self.arms, until, first=self.t, longest_block=longest)
        params = self.params
        if cut == CUT_BLOCKS:
            params = _CutParams(params, until, random.Random(seed))  # noqa: S311
        history = _History(self, decisions, rules.stop)
        answer = play(params, self.state, _CallbackEnvironment(total), history, self.noise, rules, 0)
        check_answer(self.policy, self.arms, answer)
        return self


def count_plays(policy: Policy, rewards: Sequence[float], steps: int, *, seed: int = 0) -> list[int]:
    """Play a policy in plain Python, on arms that always give the same reward, and return how often it played each.

    Nothing is compiled, so this shows in an instant what a policy does.

    Args:
        policy: what is played.
        rewards: the reward of every arm, in [0, 1].
        steps: how many plays there are, of all arms together.
        seed: the same seed gives the same noise, and so the same plays.

    >>> from dpbandits import UCB
    >>> count_plays(UCB(), [0.9, 0.5], steps=300)
    [268, 32]
    """
    game = Game(policy, len(rewards), steps, SeededNoise(seed))
    game.play(lambda t, arm: rewards[arm], steps, BLOCKS)
    return [game.actions.count(arm) for arm in range(len(rewards))]


class _CallbackEnvironment(NamedTuple):
    """An environment that asks for every sum."""

    total: Totals


@reward.register(_CallbackEnvironment)
def _reward(params: _CallbackEnvironment, arm: int, t: int, noise: Any) -> Any:
    return params.total(t, int(arm), 1)


@block_sum.register(_CallbackEnvironment)
def _block_sum(params: _CallbackEnvironment, arm: int, plays: int, t: int, noise: Any) -> Any:
    return params.total(t, int(arm), plays)


class _History(NamedTuple):
    """A trace that keeps a game up to date, and ends it after a number of decisions."""

    game: Game
    decisions: float
    stop: Any


@note_start.register(_History)
def _start(trace: _History, run: int) -> None:
    trace.stop[0] = len(trace.game.blocks) >= trace.decisions


@note_switch.register(_History)
def _switch(trace: _History, memo: None, t: int, arm: int) -> None:
    pass


@note_plays.register(_History)
def _plays(trace: _History, memo: None, t: int, arm: int, plays: int) -> None:
    game = trace.game
    game.blocks.append((t, int(arm), plays))
    game.actions += [int(arm)] * plays
    game.t = t + plays
    trace.stop[0] = len(game.blocks) >= trace.decisions


class _CutParams(NamedTuple):
    """Another policy, which holds an arm for as long as the dice say, but no longer than it would."""

    params: Any
    until: int
    dice: random.Random


@select.register(_CutParams)
def _select(params: _CutParams, state: Any, t: int) -> int:
    return select(params.params, state, t)


@hold.register(_CutParams)
def _hold(params: _CutParams, state: Any, arm: int, t: int) -> int:
    longest = min(int(hold(params.params, state, arm, t)), params.until - t + 1)
    return params.dice.randint(1, longest) if longest >= 1 else longest


@update.register(_CutParams)
def _update(params: _CutParams, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    update(params.params, state, arm, plays, reward, t, noise)
