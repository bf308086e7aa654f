"""Plays: the trace of a simulation that also keeps how often arms of every kind were played.

It is a trace of its own, since counting takes a seventh of the time of a policy that plays in long blocks.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._kernel import kernel
from dpbandits.engine.loop import note_plays, note_start, note_switch
from dpbandits.simulation.regrets import Memo, Regrets, room_for_regrets


class Plays(NamedTuple):
    """Arrays to fill in: a row for every run, a column for every checkpoint."""

    base: Regrets  # regret and switches
    kinds: Any  # of every arm: its own number, or that of its group
    plays: Any  # at the checkpoints; the third axis is the kind
    counts: Any  # so far
    chosen: Any  # the kind of the arm that is played at a checkpoint

    @property
    def regrets(self) -> Any:
        """At the checkpoints."""
        return self.base.regrets

    @property
    def switches(self) -> Any:
        """A number for every run."""
        return self.base.switches


class CountingMemo(NamedTuple):
    """The position of a run, which its trace carries from note to note."""

    base: Memo
    kind: int  # of the arm that is played
    since: int  # when it came


@note_start.register(Plays)
@kernel
def _start(trace: Plays, run: int) -> CountingMemo:
    for kind in range(trace.counts.shape[1]):
        trace.counts[run, kind] = 0
    return CountingMemo(note_start(trace.base, run), 0, 1)


@note_switch.register(Plays)
@kernel
def _switch(trace: Plays, memo: CountingMemo, t: int, arm: int) -> CountingMemo:
    trace.counts[memo.base.run, memo.kind] += t - memo.since
    return CountingMemo(note_switch(trace.base, memo.base, t, arm), trace.kinds[arm], t)


@note_plays.register(Plays)
@kernel
def _plays(trace: Plays, memo: CountingMemo, t: int, arm: int, plays: int) -> CountingMemo:
    base = note_plays(trace.base, memo.base, t, arm, plays)
    for checkpoint in range(memo.base.next_checkpoint, base.next_checkpoint):
        for kind in range(trace.counts.shape[1]):
            trace.plays[base.run, checkpoint, kind] = trace.counts[base.run, kind]
        trace.plays[base.run, checkpoint, memo.kind] += trace.base.checkpoints[checkpoint] - memo.since + 1
        trace.chosen[base.run, checkpoint] = memo.kind
    return CountingMemo(base, memo.kind, memo.since)


def room_for_plays(
    gaps: NDArray[np.float64], checkpoints: NDArray[np.int64], kinds: NDArray[np.int64], runs: int
) -> Plays:
    """Return empty arrays for this number of runs, with room for every kind of arm."""
    points, groups = len(checkpoints), int(kinds.max()) + 1
    return Plays(
        room_for_regrets(gaps, checkpoints, runs),
        kinds,
        plays=np.empty((runs, points, groups), dtype=np.int64),
        counts=np.empty((runs, groups), dtype=np.int64),
        chosen=np.empty((runs, points), dtype=np.int64),
    )
