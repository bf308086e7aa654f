"""Regrets: the trace of a simulation. Pseudo-regret at chosen times, and how often the arm changed.

Regret grows in a straight line while an arm is held, so that its value at a time within a block is exact.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._kernel import kernel
from dpbandits.engine.loop import note_plays, note_start, note_switch


class Regrets(NamedTuple):
    """Arrays to fill in: a row for every run, a column for every checkpoint."""

    gaps: Any  # of the environment's arms
    checkpoints: Any
    regrets: Any
    switches: Any  # a number for every run


class Memo(NamedTuple):
    """The position of a run, which its trace carries from note to note."""

    run: int
    regret: float
    next_checkpoint: int  # its place
    gap: float  # of the arm that is played


@note_start.register(Regrets)
@kernel
def _start(trace: Regrets, run: int) -> Memo:
    trace.switches[run] = -1  # the first choice is no switch
    return Memo(run, 0.0, 0, 0.0)


@note_switch.register(Regrets)
@kernel
def _switch(trace: Regrets, memo: Memo, t: int, arm: int) -> Memo:
    trace.switches[memo.run] += 1
    return Memo(memo.run, memo.regret, memo.next_checkpoint, trace.gaps[arm])


@note_plays.register(Regrets)
@kernel
def _plays(trace: Regrets, memo: Memo, t: int, arm: int, plays: int) -> Memo:
    next_checkpoint = memo.next_checkpoint
    while next_checkpoint < len(trace.checkpoints) and trace.checkpoints[next_checkpoint] < t + plays:
        time = trace.checkpoints[next_checkpoint]
        trace.regrets[memo.run, next_checkpoint] = memo.regret + memo.gap * (time - t + 1)
        next_checkpoint += 1
    return Memo(memo.run, memo.regret + memo.gap * plays, next_checkpoint, memo.gap)


def room_for_regrets(gaps: NDArray[np.float64], checkpoints: NDArray[np.int64], runs: int) -> Regrets:
    """Return empty arrays for this number of runs."""
    return Regrets(gaps, checkpoints, np.empty((runs, len(checkpoints))), np.empty(runs, dtype=np.int64))
