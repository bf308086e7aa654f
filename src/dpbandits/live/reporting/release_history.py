"""What was known after fewer releases, and what had been spent by then. Both follow from the ledger's rows."""

from dpbandits.live.estimates import Estimate
from dpbandits.live.experiment_overview import Overview

_POINTS = 40  # of one line; every estimate takes a millisecond, and every sum of losses may take much more


def estimates_over_releases(overview: Overview, number: int, confidence: float) -> list[tuple[int, Estimate]]:
    """Return the estimates of an arm after some of its releases, the last one included, each with its ledger row."""
    rows = [row.number for row in overview.releases if row.content["arm"] == number]
    return [(rows[count - 1], overview.estimate(number, confidence, count)) for count in _spread(len(rows))]


def spent_over_releases(overview: Overview) -> list[tuple[int, float]]:
    """Return the epsilon that was spent after some of the releases, each with its ledger row; 0 at the beginning."""
    arms = [row.content["arm"] for row in overview.releases]
    spent = [(0, 0.0)]
    for count in _spread(len(arms)):
        had = [0] * len(overview.arms)
        for arm in arms[:count]:
            had[arm] += 1
        steps = tuple(scales[:releases] for scales, releases in zip(overview.steps, had, strict=True))
        spent.append((count, overview.spent_in(steps).epsilon))
    return spent


def _spread(count: int) -> list[int]:
    """Return numbers from 1 to `count`: all of them, or as many as there are points, evenly spread."""
    if count <= _POINTS:
        return list(range(1, count + 1))
    return sorted({1 + round(point * (count - 1) / (_POINTS - 1)) for point in range(_POINTS)})
