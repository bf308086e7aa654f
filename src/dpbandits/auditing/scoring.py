"""The loop of an audit: a policy on rewards that are given in advance, one per time, whatever the arm.

As in loop.py the plays of one run are compiled without reference counting and allocate nothing. `totals[t]` is the sum
of the first t rewards, so that a block of plays costs as much as a single one.
"""

from typing import Any

from numba import njit

from dpbandits.auditing.scores import write_scores
from dpbandits.auditing.watched import (
    DIFFERENT,
    PLAIN,
    RELEASES,
    RESERVED,
    WEIGHED,
    ForcedNoise,
    WatchedNoise,
    expect,
)
from dpbandits.engine.compiling import compiled_loop
from dpbandits.engine.loop import _clear, clear
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.policies.base import hold, select, update

WRONG_ARM = -1
WRONG_HOLD = -2
_MULTIPLIER = 6364136223846793005
_POSITIVE = 2**63 - 1


def play_script(
    params: Any, state: Any, totals: Any, noise: Any, arms: int, horizon: int, is_exact: bool, path: Any
) -> int:
    """Play one run from a cleared state and return a number for the sequence of its arms.

    Where that fits into 62 bits (`is_exact`) its digits are the arms, to the base of their number; otherwise it is a
    hash of the times at which the arm changed. The decisions, arm and plays, are written into `path` as far as it goes.
    """
    t = 1
    code = 0
    arm = -1
    decisions = 0
    while t <= horizon:
        choice = select(params, state, t)
        if choice < 0 or choice >= arms:
            return WRONG_ARM
        plays = min(hold(params, state, choice, t), horizon - t + 1)
        if plays < 1:
            return WRONG_HOLD
        if is_exact:
            for _ in range(plays):
                code = code * arms + choice
        elif choice != arm:
            code = ((code + t * arms + choice) * _MULTIPLIER) & _POSITIVE
            code ^= code >> 29
        arm = choice
        if decisions < len(path):
            path[decisions, 0] = arm
            path[decisions, 1] = plays
        decisions += 1
        t += plays
        update(params, state, arm, plays, totals[t - 1] - totals[t - 1 - plays], t, noise)
    return code


def replay_script(params: Any, state: Any, totals: Any, noise: Any, horizon: int, path: Any) -> None:
    """Make the decisions of `path` again with other rewards; the noise notes those the policy would not make."""
    t = 1
    decisions = 0
    while t <= horizon:
        arm, plays = path[decisions, 0], path[decisions, 1]
        if select(params, state, t) != arm:
            noise.seen[DIFFERENT] += 1
        decisions += 1
        t += plays
        update(params, state, arm, plays, totals[t - 1] - totals[t - 1 - plays], t, noise)


_play_script = njit(_nrt=False)(play_script)
_replay_script = njit(_nrt=False)(replay_script)


def play_trials(
    params: Any,
    state: Any,
    totals: Any,
    noise: Any,
    arms: int,
    horizon: int,
    is_exact: bool,
    path: Any,
    codes: Any,
    stop: Any,
) -> None:
    """Play one run per place of `codes`; after the last, `path` has its decisions."""
    for run in range(len(codes)):
        if stop[0] != 0:
            return
        clear(state)
        codes[run] = _play_script(params, state, totals, noise, arms, horizon, is_exact, path)
        if codes[run] < 0:
            return


def force(params: Any, state: Any, totals: Any, forced: Any, horizon: int, path: Any, releases: int, mode: int) -> None:
    """Play again what was written down, with these rewards."""
    clear(state)
    clear(forced.seen)
    clear(forced.known)
    expect(forced, releases, mode)
    _replay_script(params, state, totals, forced, horizon, path)


_force = njit()(force)


def score_trials(
    params: Any,
    state: Any,
    totals: Any,
    first_totals: Any,
    second_totals: Any,
    noise: Any,
    first: Any,
    second: Any,
    arms: int,
    horizon: int,
    path: Any,
    scores: Any,
    stop: Any,
) -> int:
    """Play one run per row of `scores`, and write what it says of the first rewards and the second.

    Which of the two it was played with makes no difference to how it is scored. Returns how many releases did not fit
    into the room for them, or WRONG_ARM or WRONG_HOLD.
    """
    for run in range(len(scores)):
        if stop[0] != 0:
            return 0
        clear(state)
        clear(noise.seen)
        code = _play_script(params, state, totals, noise, arms, horizon, False, path)
        if code < 0:
            return code
        releases = noise.seen[RELEASES]
        if releases > len(noise.values):
            return releases - len(noise.values)
        for mode in range(WEIGHED + 1):  # a loop, since every copy of the call would be compiled
            if mode == PLAIN or first.seen[RESERVED] > 0:
                _force(params, state, first_totals, first, horizon, path, releases, mode)
        mode = WEIGHED if first.seen[RESERVED] > 0 else PLAIN
        _force(params, state, second_totals, second, horizon, path, releases, mode)
        write_scores(first, second, scores[run])
    return 0


_PARTS = (play_script, replay_script, force, write_scores, _clear, SeededNoise, WatchedNoise, ForcedNoise)


def trial_player(params: Any, state: Any) -> Any:
    """Return `play_trials`, compiled for these types and kept on disk for the next process."""
    return compiled_loop(play_trials, _PARTS, params, state)


def score_player(params: Any, state: Any) -> Any:
    """Return `score_trials`, likewise."""
    return compiled_loop(score_trials, _PARTS, params, state)
