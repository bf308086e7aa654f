"""ScoringTask: runs that are played once, watched, and then repeated with either of two rewards, to be scored.

Which of the two a run was played with makes no difference to how it is scored.
"""

from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.auditing.replay_noise import (
    DIFFERENT,
    PLAIN,
    RELEASES,
    REPEATED,
    RESERVED,
    WEIGHED,
    ForcedNoise,
    WatchedNoise,
    expect,
)
from dpbandits.auditing.scores import write_scores
from dpbandits.engine.loop import NO_MISTAKE, clear, note_plays, note_start, note_switch, play, play_run
from dpbandits.policies.policy import hold, select, update

NUMBERS = 4  # of every release: its value, its marks, and its noise with either rewards
RUNS_OF_ONE = 3  # as it is played, and with either rewards


class ScoringTask(NamedTuple):
    """The environment, either rewards, and arrays for all that is counted: a row for each run of the same time."""

    environment: Any
    first: Any  # rewards
    second: Any
    trace: Any  # Decisions, with paths as long as a run
    rules: Any  # never shuffled: the paths are in the environment's arms, and repeated as the policy's
    numbers: Any
    counters: Any
    measures: Any
    scores: Any  # a row for every run


@play_run.register(ScoringTask)
@kernel
def _score_run(task: ScoringTask, params: Any, state: Any, noise: Any, run: int) -> int:
    """Return a mistake, or how many releases did not fit into the room for them."""
    row = run % len(task.numbers)
    values, marks = task.numbers[row, 0], task.numbers[row, 1]
    watched_noise = WatchedNoise(noise, values, task.counters[row, 0])
    clear(watched_noise.counters)
    answer = play(params, state, task.environment, task.trace, watched_noise, task.rules, run)
    if answer != NO_MISTAKE:
        return answer
    releases = watched_noise.counters[RELEASES]
    if releases > len(values):
        return releases - len(values)
    first = ForcedNoise(values, marks, task.numbers[row, 2], task.counters[row, 1], task.measures[row, 0])
    second = ForcedNoise(values, marks, task.numbers[row, 3], task.counters[row, 2], task.measures[row, 1])
    for mode in range(WEIGHED + 1):  # a loop, since every copy of the call would be compiled
        if mode == PLAIN or first.counters[RESERVED] > 0:
            force(task, params, state, task.first, first, releases, mode, row)
    mode = WEIGHED if first.counters[RESERVED] > 0 else PLAIN
    force(task, params, state, task.second, second, releases, mode, row)
    write_scores(first, second, task.scores[run])
    return NO_MISTAKE


@kernel
def force(
    task: ScoringTask, params: Any, state: Any, rewards: Any, noise: ForcedNoise, releases: int, mode: int, row: int
) -> None:
    """Play again what was written down, with these rewards."""
    clear(state)
    clear(noise.counters)
    clear(noise.measures)
    expect(noise, releases, mode)
    repeated_params = RepeatedParams(params, task.trace.paths[row], noise.counters)
    play(repeated_params, state, rewards, Untraced(0), noise, task.rules, row)


# ---- once more


class RepeatedParams(NamedTuple):
    """A policy that repeats decisions (arm and plays), whatever the rewards are now, and counts where it would not."""

    params: Any
    path: Any
    counters: Any


@select.register(RepeatedParams)
@kernel
def _select(params: RepeatedParams, state: Any, t: int) -> int:
    arm = params.path[params.counters[REPEATED], 0]
    if select(params.params, state, t) != arm:
        params.counters[DIFFERENT] += 1
    return arm


@hold.register(RepeatedParams)
@kernel
def _hold(params: RepeatedParams, state: Any, arm: int, t: int) -> int:
    return params.path[params.counters[REPEATED], 1]


@update.register(RepeatedParams)
@kernel
def _update(params: RepeatedParams, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    params.counters[REPEATED] += 1
    update(params.params, state, arm, plays, reward, t, noise)


class Untraced(NamedTuple):
    """A trace that writes nothing down."""

    nothing: int = 0


@note_start.register(Untraced)
@kernel
def _start(trace: Untraced, run: int) -> int:
    return 0


@note_switch.register(Untraced)
@kernel
def _switch(trace: Untraced, memo: int, t: int, arm: int) -> int:
    return memo


@note_plays.register(Untraced)
@kernel
def _plays(trace: Untraced, memo: int, t: int, arm: int, plays: int) -> int:
    return memo
