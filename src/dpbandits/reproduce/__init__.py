"""The paper, reproduced: its experiments as data, its figure, and a verdict on every claim."""

from dpbandits.reproduce.agreement import Agreement, Record, agreement
from dpbandits.reproduce.claims import CLAIMS, Claim, Finding, Verdict
from dpbandits.reproduce.measures import Measure, measure_lines
from dpbandits.reproduce.stages import check_claims, play_more, play_panels, write_all
from dpbandits.reproduce.study import Settings, Study

__all__ = [
    "CLAIMS",
    "Agreement",
    "Claim",
    "Finding",
    "Measure",
    "Record",
    "Settings",
    "Study",
    "Verdict",
    "agreement",
    "check_claims",
    "measure_lines",
    "play_more",
    "play_panels",
    "write_all",
]
