"""A policy that repeats the decisions of another run, whatever the rewards are now, and notes where it would not."""

from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.auditing.watched import DIFFERENT, REPEATED
from dpbandits.engine.loop import note_plays, note_start, note_switch
from dpbandits.policies.base import hold, select, update


class RepeatedParams(NamedTuple):
    """The policy, the decisions (arm and plays), and what is counted: see watched.py."""

    params: Any
    path: Any
    seen: Any


@select.register(RepeatedParams)
@kernel
def _select(params: RepeatedParams, state: Any, t: int) -> int:
    arm = params.path[params.seen[REPEATED], 0]
    if select(params.params, state, t) != arm:
        params.seen[DIFFERENT] += 1
    return arm


@hold.register(RepeatedParams)
@kernel
def _hold(params: RepeatedParams, state: Any, arm: int, t: int) -> int:
    return params.path[params.seen[REPEATED], 1]


@update.register(RepeatedParams)
@kernel
def _update(params: RepeatedParams, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    params.seen[REPEATED] += 1
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
