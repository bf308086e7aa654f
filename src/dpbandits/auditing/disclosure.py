"""Whether a reward that was read becomes public: two runs with the same released values that go different ways.

A kernel that reads a reward need not let it out. One that is rounded by a coin, or compared with a threshold, and gets
its noise afterwards, may be private. It is let out for certain if the rewards of two runs differ in one, the released
values do not, and yet an arm does, the number of releases, or a public field of the state: then some outcome has a
density with the one and none with the other. The other run ends where it would read a number that carries noise, or
toss a coin, for then that might explain the difference.
"""

import random
from typing import Any

import numpy as np

from dpbandits.auditing.replay_noise import COUNTERS, RELEASES, WatchedNoise
from dpbandits.auditing.taint import TaintNoise
from dpbandits.engine.game import Game
from dpbandits.mechanisms import CARRIED, LAPLACE, release, reserve
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.linear import Leak, Secret, Unknown, value_and_form
from dpbandits.policies.policy import Policy

_TRIES = 12
_POSITIONS = 24  # rewards that are changed in a run
_RELEASES = 4096
_COIN = "random numbers were drawn"


class _ImpossibleRelease(BaseException):
    """A released value that these rewards cannot have, or one too many."""


class _RepeatingNoise:
    """A noise source that gives what was released once more. What it reserves cannot be read, and it draws nothing."""

    def __init__(self, values: list[float]) -> None:
        self.values = values
        self.releases = self.reserved = 0


@release.register(_RepeatingNoise)
def _release(noise: _RepeatingNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if noise.releases == len(noise.values):
        raise _ImpossibleRelease
    released = noise.values[noise.releases]
    noise.releases += 1
    value, form = value_and_form(secret)
    if scale == CARRIED and not form and abs(value - released) > 1e-9 * (1 + abs(released)):
        raise _ImpossibleRelease
    return released


@reserve.register(_RepeatingNoise)
def _reserve(noise: _RepeatingNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Secret:
    noise.reserved += 1
    return Secret(0.0, {("noise", noise.reserved): 1})


@uniform.register(_RepeatingNoise)
def _uniform(noise: _RepeatingNoise) -> float:
    raise Unknown(_COIN)


@normal.register(_RepeatingNoise)
def _normal(noise: _RepeatingNoise) -> float:
    raise Unknown(_COIN)


@beta.register(_RepeatingNoise)
def _beta(noise: _RepeatingNoise, a: float, b: float) -> float:
    raise Unknown(_COIN)


def reading_shows(policy: Policy, arms: int, horizon: int, steps: int, seed: int, *, is_usual: bool) -> bool:
    """Tell whether some reward of the first steps, changed alone, shows after the same released values.

    The noise is usual, or a little of it, or a lot: its density is positive there, and no two values are equal to the
    last digit.
    """
    dice = random.Random(seed)  # noqa: S311
    for number in range(_TRIES):
        share = 1.0 if is_usual or number % 2 == 0 else 10 ** dice.uniform(-3, 3)
        source = TaintNoise(dice.getrandbits(62), lambda draw, share=share: share * draw.noise)  # type: ignore[misc]
        watched_noise = WatchedNoise(source, np.empty(_RELEASES), np.zeros(COUNTERS, dtype=np.int64))
        level = dice.choice((0.2, 0.5, 0.8))
        rewards = [float(dice.random() < level) for _ in range(steps)]
        history = _public_history(policy, arms, horizon, watched_noise, rewards)
        if len(history) < steps or watched_noise.counters[RELEASES] > _RELEASES:
            continue
        values = watched_noise.values[: watched_noise.counters[RELEASES]].tolist()
        for place in dice.sample(range(steps), min(steps, _POSITIONS)):
            repeating_noise = _RepeatingNoise(values)
            neighbours = [*rewards[:place], 1 - rewards[place], *rewards[place + 1 :]]
            try:
                other_history = _public_history(policy, arms, horizon, repeating_noise, neighbours)
            except _ImpossibleRelease:
                return True
            if other_history != history[: len(other_history)] or (
                len(other_history) == steps and repeating_noise.releases < len(values)
            ):
                return True
    return False


def _public_history(policy: Policy, arms: int, horizon: int, noise: object, rewards: list[float]) -> list[bytes]:
    """Return what is public after every step of a run with rewards that may be read, until noise is read."""
    game, history = Game(policy, arms, horizon, noise, object), []
    try:
        for t in range(1, len(rewards) + 1):
            game.play(lambda t, arm: rewards[t - 1], t)
            history.append(bytes(str(game.actions[-1]), "ascii") + _public(game.state))
    except (Leak, Unknown):
        pass
    return history


def _public(state: Any) -> bytes:
    """Return the public fields of a state in which objects are secrets."""
    parts = []
    for field in state:
        if not isinstance(field, np.ndarray):
            parts.append(_public(field))
        elif field.dtype != object:
            parts.append(field.tobytes())
    return b"".join(parts)
