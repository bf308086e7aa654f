"""The page of a live experiment: one file that needs nothing else."""

from dpbandits.document import to_html
from dpbandits.live.overview import Overview
from dpbandits.live.reporting.contents import TITLE, contents
from dpbandits.live.reporting.findings import Findings

_ARMS, _RELEASES = 100, 10  # on a page that stays readable


def overview_page(overview: Overview) -> bytes:
    """Return the page of what may be shown."""
    return to_html(contents(Findings(overview), _ARMS, _RELEASES), TITLE).encode("utf-8", "replace")
