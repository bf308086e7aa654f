"""Policies that are broken on purpose, each in one way, so that the audit can show that it notices.

They are no policies to use: the package exports none of them, and `simulate` does not know their names.
"""

from collections.abc import Callable
from typing import NamedTuple

from dpbandits.auditing.broken.committing import DataDependentTime, OneArmOnly, RawTieBreak, SharedNoise
from dpbandits.auditing.broken.printed import PrintedAlgorithm3
from dpbandits.auditing.broken.redrawn import RedrawnNodes
from dpbandits.auditing.broken.spoiled import HalfNoise, PastHorizon
from dpbandits.policies import DPUCB
from dpbandits.policies.base import Policy

_DECLARED = 64


class Broken(NamedTuple):
    """What is wrong, in one sentence, and how to make one for an epsilon and a delta."""

    wrong: str
    make: Callable[[float, float], Policy]


BROKEN: dict[str, Broken] = {
    "unsplit-hybrid": Broken(
        "The published hybrid gives all of epsilon to its trees and all of it to its totals, and a reward is in both.",
        lambda epsilon, delta: DPUCB(epsilon=epsilon, variant="published"),
    ),
    "redrawn-release": Broken(
        "Algorithm 3 as printed draws the noise of a release anew at every step while the arm waits.",
        lambda epsilon, delta: PrintedAlgorithm3(epsilon=epsilon, delta=delta),
    ),
    "redrawn-nodes": Broken(
        "A node of the tree gets a new noise whenever it is read, so that readings can be averaged.",
        lambda epsilon, delta: RedrawnNodes(epsilon=epsilon),
    ),
    "shared-noise": Broken(
        "All arms get the same noise, which cancels when they are compared.",
        lambda epsilon, delta: SharedNoise(epsilon=epsilon),
    ),
    "half-noise": Broken(
        "The noise has half the scale it should have.",
        lambda epsilon, delta: HalfNoise(epsilon=epsilon),
    ),
    "one-arm-only": Broken(
        "Only the first arm has noise.",
        lambda epsilon, delta: OneArmOnly(epsilon=epsilon),
    ),
    "data-dependent-time": Broken(
        "When sums are released depends on the rewards themselves.",
        lambda epsilon, delta: DataDependentTime(epsilon=epsilon),
    ),
    "raw-tie-break": Broken(
        "Private means are rounded to 0.1, and between equal ones the raw sums decide.",
        lambda epsilon, delta: RawTieBreak(epsilon=epsilon),
    ),
    "past-horizon": Broken(
        f"A schedule that was calibrated for {_DECLARED} plays of an arm goes on after them.",
        lambda epsilon, delta: PastHorizon(epsilon=epsilon, delta=0.0, horizon=_DECLARED),
    ),
}

__all__ = ["BROKEN", "Broken", "PrintedAlgorithm3"]
