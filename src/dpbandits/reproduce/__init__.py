"""The paper, reproduced: its experiments as data, its figure, and a verdict on every claim."""

from dpbandits.reproduce.claims import CLAIMS, Claim, Finding, Verdict
from dpbandits.reproduce.stages import check_claims, play_more, play_panels, write_all
from dpbandits.reproduce.study import Settings, Study

__all__ = [
    "CLAIMS",
    "Claim",
    "Finding",
    "Settings",
    "Study",
    "Verdict",
    "check_claims",
    "play_more",
    "play_panels",
    "write_all",
]
