"""Restoration: an experiment that goes on from an earlier copy of its database. It never releases anything again.

Releases may be missing in the copy, and to draw them again would tell of the same rewards twice. So a row of the ledger
ends all releases. From then on the whole budget counts as spent: whatever is missing was of the same schedule.
"""

from collections.abc import Mapping
from typing import Any

from dpbandits.live.counts import Counts
from dpbandits.privacy import Row


def restoration_content(missing_releases: int | None) -> dict[str, Any]:
    """Return what the row says: how many releases are known to be missing; None if that is not known."""
    return {"restored": {"missing_releases": missing_releases}}


def is_restoration(content: Mapping[str, Any]) -> bool:
    """Tell whether a row says that the experiment was restored."""
    return content.keys() == {"restored"}


def is_restoration_row(row: Row) -> bool:
    """Tell the same of a row as it is stored, without reading all of it."""
    return row.content_json.startswith('{"restored":')


def restoration_problem(content: Mapping[str, Any]) -> str | None:
    """Return what is wrong with such a row; None if nothing is."""
    said = content["restored"]
    if not isinstance(said, dict) or said.keys() != {"missing_releases"}:
        return "does not say how many releases are missing."
    missing = said["missing_releases"]
    if missing is not None and (type(missing) is not int or missing < 0):
        return "has missing_releases, which is not a number of releases."
    return None


def exhausted_counts(counts: Counts, most: int) -> dict[str, Any]:
    """Return counts, of which a snapshot is like any other, that let nothing enter and nothing be released any more.

    Args:
        counts: as they are.
        most: how many assignments could enter, all in all.
    """
    return {
        **counts.snapshot(),
        "entered": most,
        "handed_out": [counts.schedule.count(released) for released in counts.released],
        "filling": list(counts.released),
    }
