"""Regrets: the trace of a simulation. Pseudo-regret at chosen times, how often the arm changed, plays of every kind.

Regret grows in a straight line while an arm is held, so that its value at a time within a block is exact.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._kernel import kernel
from dpbandits.engine.loop import note_plays, note_start, note_switch


class Regrets(NamedTuple):
    """Arrays to be filled in: a row for every run, a column for every checkpoint."""

    gaps: Any  # of the environment's arms
    checkpoints: Any
    regrets: Any
    switches: Any  # a number for every run
    # Plays of arms by their kind, at the checkpoints and so far, as far as these go: of no run, or of all.
    kinds: Any  # of every arm: its own number, or whatever is to be told apart
    plays: Any  # the third axis is the kind
    counts: Any
    chosen: Any  # the kind of the arm that is played at a checkpoint


class Memo(NamedTuple):
    """Where a run is."""

    run: int
    regret: float
    reached: int  # checkpoints
    gap: float  # of the arm that is played
    kind: int  # of that arm
    since: int  # when it came


@note_start.register(Regrets)
@kernel
def _start(trace: Regrets, run: int) -> Memo:
    trace.switches[run] = -1  # the first choice is no switch
    if run < len(trace.counts):
        for kind in range(trace.counts.shape[1]):
            trace.counts[run, kind] = 0
    return Memo(run, 0.0, 0, 0.0, 0, 1)


@note_switch.register(Regrets)
@kernel
def _switch(trace: Regrets, memo: Memo, t: int, arm: int) -> Memo:
    trace.switches[memo.run] += 1
    if memo.run < len(trace.counts):
        trace.counts[memo.run, memo.kind] += t - memo.since
    return Memo(memo.run, memo.regret, memo.reached, trace.gaps[arm], trace.kinds[arm], t)


@note_plays.register(Regrets)
@kernel
def _plays(trace: Regrets, memo: Memo, t: int, arm: int, plays: int) -> Memo:
    reached = memo.reached
    while reached < len(trace.checkpoints) and trace.checkpoints[reached] < t + plays:
        time = trace.checkpoints[reached]
        trace.regrets[memo.run, reached] = memo.regret + memo.gap * (time - t + 1)
        if memo.run < len(trace.counts):
            for kind in range(trace.counts.shape[1]):
                trace.plays[memo.run, reached, kind] = trace.counts[memo.run, kind]
            trace.plays[memo.run, reached, memo.kind] += time - memo.since + 1
            trace.chosen[memo.run, reached] = memo.kind
        reached += 1
    return Memo(memo.run, memo.regret + memo.gap * plays, reached, memo.gap, memo.kind, memo.since)


def room_for_regrets(
    gaps: NDArray[np.float64], checkpoints: NDArray[np.int64], kinds: NDArray[np.int64] | None, runs: int
) -> Regrets:
    """Return empty arrays for so many runs; plays are kept if it is said what kind every arm is of."""
    told_apart = 0 if kinds is None else int(kinds.max()) + 1
    kept, points = (0 if kinds is None else runs), len(checkpoints)
    return Regrets(
        gaps,
        checkpoints,
        regrets=np.empty((runs, points)),
        switches=np.empty(runs, dtype=np.int64),
        kinds=np.zeros(len(gaps), dtype=np.int64) if kinds is None else kinds,
        plays=np.empty((kept, points, told_apart), dtype=np.int64),
        counts=np.empty((kept, told_apart), dtype=np.int64),
        chosen=np.empty((kept, points), dtype=np.int64),
    )
