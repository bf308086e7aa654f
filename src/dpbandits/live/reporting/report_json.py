"""What may be shown of a live experiment, in a form that JSON can hold."""

from dataclasses import asdict
from typing import Any

from dpbandits.live.reporting.findings import CONFIDENCE, DECIDED, Findings


def to_plain(findings: Findings) -> dict[str, Any]:
    """Return everything that the page says, with all arms and all releases."""
    overview = findings.overview
    first = overview.ledger[0].content
    number, digest = overview.ledger.head
    spent = overview.spent()
    arms = [
        {**asdict(estimate), "assigned": assigned, "standing": findings.standing(place)}
        for place, (estimate, assigned) in enumerate(zip(findings.estimates, overview.assigned_to, strict=True))
    ]
    return {
        "configuration": overview.configuration.to_dict(),
        "assigned": overview.assigned,
        "exhausted": overview.exhausted,
        "restored": overview.is_restored,
        "confidence": CONFIDENCE,
        "verdict": findings.state,
        "best": overview.arms[findings.leader] if findings.state == DECIDED else None,
        "says": [findings.status, findings.verdict, findings.prospect],
        "arms": arms,
        "guarantee": first["guarantee"],
        "spent": {**asdict(spent), "exact": spent.delta == 0},
        "releases": [{"row": row.number, **row.content} for row in overview.releases],
        "head": {"number": number, "hash": digest},
    }
