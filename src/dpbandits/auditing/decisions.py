"""Decisions: the trace of an audit. Which sequence of arms a run played, as one number, and how."""

from typing import Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.engine.loop import note_plays, note_start, note_switch

_MULTIPLIER = 6364136223846793005
_POSITIVE = 2**63 - 1


class Decisions(NamedTuple):
    """Arrays to fill in, as far as they go.

    Where it fits into 62 bits (`is_exact`) the digits of a code are the arms, to the base of their number; otherwise it
    is a hash of the times at which the arm changed.
    """

    arms: int
    is_exact: bool
    codes: Any  # of every run
    paths: Any  # arm and plays of every decision; a row for every run that is played at the same time


class Memo(NamedTuple):
    """The position of a run, which its trace carries from note to note."""

    run: int
    row: int  # of the paths
    code: int
    decisions: int  # decisions


@note_start.register(Decisions)
@kernel
def _start(trace: Decisions, run: int) -> Memo:
    return Memo(run, run % len(trace.paths), 0, 0)


@note_switch.register(Decisions)
@kernel
def _switch(trace: Decisions, memo: Memo, t: int, arm: int) -> Memo:
    code = memo.code
    if not trace.is_exact:
        code = ((code + t * trace.arms + int(arm)) * _MULTIPLIER) & _POSITIVE
        code ^= code >> 29
    return Memo(memo.run, memo.row, code, memo.decisions)


@note_plays.register(Decisions)
@kernel
def _plays(trace: Decisions, memo: Memo, t: int, arm: int, plays: int) -> Memo:
    code = memo.code
    if trace.is_exact:
        for _ in range(plays):
            code = code * trace.arms + arm
    if memo.run < len(trace.codes):
        trace.codes[memo.run] = code
    if memo.decisions < trace.paths.shape[1]:
        trace.paths[memo.row, memo.decisions, 0] = arm
        trace.paths[memo.row, memo.decisions, 1] = plays
    return Memo(memo.run, memo.row, code, memo.decisions + 1)
