"""Snapshots of earlier formats, brought into the form of this one.

Up to format 3 a snapshot was one mapping, people and open assignments included. In the first versions the sums so far
were in the state of the policy.
"""

import copy
from typing import Any

from dpbandits.live.learner import Learner
from dpbandits.live.memory_book import MemoryBook
from dpbandits.live.rehearsal import RehearsedNoise
from dpbandits.mechanisms.state import forget
from dpbandits.policies import update
from dpbandits.privacy import Ledger


def restore_earlier(learner: Learner, snapshot: dict[str, Any]) -> None:
    """Put a snapshot of an earlier format into a fresh learner of the same configuration."""
    places = snapshot["places"]
    arms = len(learner.statistics)
    # The first versions counted only those that have a place.
    assigned_to = snapshot.get("assigned_to", places["handed_out"])
    counts = {
        **{name: snapshot[name] for name in ("assigned", "decisions")},
        **{name: places[name] for name in ("entered", "handed_out", "filling", "released")},
        "assigned_to": assigned_to,
        "decided": [0] * arms,  # which shares alone depend on
        "now": None,
    }
    own = {name: snapshot[name] for name in ("tag", "key", "selection", "state")}
    learner.restore({**own, "counts": counts}, list(Ledger.from_jsonl(snapshot["ledger"])))
    assert isinstance(learner.book, MemoryBook)
    sums = places["landed"] if "landed" in places else _sums_in_state(learner)
    flights = [
        # Arm, block, its first and last assignment, how many of them are not answered, their sum.
        [arm, block, first, last, None, unanswered, block < places["filling"][arm], total]
        for arm, block, first, last, unanswered, total in places["flights"]
    ]
    people = [[unit, *past, *([0] if len(past) == 2 else [])] for unit, past in snapshot["units"].items()]
    # Whose a visit was is known of the latest one of everybody. The others cannot be forgotten.
    owners = {number: unit for unit, _, _, number in people if number}
    visits = [[owners.get(number), key, arm, number] for key, (_, arm, number) in snapshot.get("visits", {}).items()]
    awaited = [[number, arm, block, None, False] for number, arm, block in snapshot["awaited"]]
    rows = {
        "blocks": flights,
        "places": awaited,
        "people": people,
        "visits": visits,
        "answers": snapshot.get("keys", []),
    }
    learner.book.take_piece({"released_sums": sums})
    for table, table_rows in rows.items():
        if table_rows:
            learner.book.take_piece({table: [list(column) for column in zip(*table_rows, strict=True)]})
    learner.book.settle()


def _sums_in_state(learner: Learner) -> list[int]:
    """Find the sums so far in the policy's state, where the first versions kept them.

    They are what the kernel would release if nothing were added in the next block.
    """
    sums = [0] * len(learner.statistics)
    for arm, number in enumerate(learner.counts.released):
        block = learner.schedule.block(number)
        if number and block is not None and learner.schedule.is_cumulative:
            noise, state = RehearsedNoise(), copy.deepcopy(learner.state)
            plays = block.last - learner.schedule.count(number)
            update(learner.params, state, arm, plays, 0, learner.counts.decisions + 1, noise)
            sums[arm] = int(noise.requests[0][0])
    forget(learner.state)
    return sums
