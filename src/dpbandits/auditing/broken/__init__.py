"""Policies that are broken on purpose, each in one way, so that the audit can show what it notices.

They are not for use: the package exports none of them, and `simulate` does not know their names.
"""

from collections.abc import Callable
from typing import NamedTuple

from dpbandits.auditing.broken.committing import DataDependentTime, OneArmOnly, RawTieBreak, SharedNoise
from dpbandits.auditing.broken.dropping import DroppedUnreset
from dpbandits.auditing.broken.late import IN_A_ROW, LONG_PHASE, MANY, OverlappingPhases, PooledAgain, TenthAfterMany
from dpbandits.auditing.broken.printed import PrintedAlgorithm3
from dpbandits.auditing.broken.rare import WINDOW, SecondLook, WeakThirdArm
from dpbandits.auditing.broken.redrawn import RedrawnNodes
from dpbandits.auditing.broken.reused import KeptNoise, NeverReset, SmallNoise
from dpbandits.auditing.broken.spoiled import HalfNoise, PastHorizon
from dpbandits.policies import DPUCB
from dpbandits.policies.policy import Policy

_DECLARED = 64


class BrokenPolicy(NamedTuple):
    """What is wrong, in one sentence, and how to make one for an epsilon and a delta."""

    wrong: str
    make: Callable[[float, float], Policy]


BROKEN: dict[str, BrokenPolicy] = {
    "unsplit-hybrid": BrokenPolicy(
        "The published hybrid gives all of epsilon to its trees and all of it to its totals, and a reward is in both.",
        lambda epsilon, delta: DPUCB(epsilon=epsilon, variant="published"),
    ),
    "redrawn-release": BrokenPolicy(
        "Algorithm 3 as printed draws the noise of a release anew at every step while the arm waits.",
        lambda epsilon, delta: PrintedAlgorithm3(epsilon=epsilon, delta=delta),
    ),
    "redrawn-nodes": BrokenPolicy(
        "A node of the tree gets a new noise whenever it is read, so that readings can be averaged.",
        lambda epsilon, delta: RedrawnNodes(epsilon=epsilon),
    ),
    "shared-noise": BrokenPolicy(
        "All arms get the same noise, which cancels when they are compared.",
        lambda epsilon, delta: SharedNoise(epsilon=epsilon),
    ),
    "half-noise": BrokenPolicy(
        "The noise has half the scale it should have.",
        lambda epsilon, delta: HalfNoise(epsilon=epsilon),
    ),
    "one-arm-only": BrokenPolicy(
        "Only the first arm has noise.",
        lambda epsilon, delta: OneArmOnly(epsilon=epsilon),
    ),
    "data-dependent-time": BrokenPolicy(
        "When sums are released depends on the rewards themselves.",
        lambda epsilon, delta: DataDependentTime(epsilon=epsilon),
    ),
    "raw-tie-break": BrokenPolicy(
        "Private means are rounded to 0.1, and between equal ones the raw sums decide.",
        lambda epsilon, delta: RawTieBreak(epsilon=epsilon),
    ),
    "past-horizon": BrokenPolicy(
        f"A schedule that was calibrated for {_DECLARED} plays of an arm goes on after them.",
        lambda epsilon, delta: PastHorizon(epsilon=epsilon, delta=0.0, horizon=_DECLARED),
    ),
    "tenth-after-1024": BrokenPolicy(
        f"After {MANY} plays of an arm its noise is divided by ten.",
        lambda epsilon, delta: TenthAfterMany(epsilon=epsilon),
    ),
    "weak-third-arm": BrokenPolicy(
        "The third arm has half the noise.",
        lambda epsilon, delta: WeakThirdArm(epsilon=epsilon),
    ),
    "second-look": BrokenPolicy(
        f"A sum is released again if its mean is ahead of the next arm's by {WINDOW[0]:.3f} to {WINDOW[1]:.3f}.",
        lambda epsilon, delta: SecondLook(epsilon=epsilon),
    ),
    "kept-noise": BrokenPolicy(
        "Every arm keeps its noise, and uses it for all of its releases.",
        lambda epsilon, delta: KeptNoise(epsilon=epsilon),
    ),
    "small-noise": BrokenPolicy(
        "Noise is drawn again until it is small.",
        lambda epsilon, delta: SmallNoise(epsilon=epsilon),
    ),
    "never-reset": BrokenPolicy(
        "The sum of an arm is not reset after its release, and goes into the next one too.",
        lambda epsilon, delta: NeverReset(epsilon=epsilon),
    ),
    "overlapping-phases": BrokenPolicy(
        f"The last reward of a phase of more than {LONG_PHASE} plays is also the first of the next.",
        lambda epsilon, delta: OverlappingPhases(epsilon=epsilon),
    ),
    "pooled-again": BrokenPolicy(
        f"When an arm was chosen {IN_A_ROW} times in a row, the sum of all these phases is released too.",
        lambda epsilon, delta: PooledAgain(epsilon=epsilon),
    ),
    "dropped-unreset": BrokenPolicy(
        "Once an arm was dropped, the loop that resets the sums ends before the last of those that are left.",
        lambda epsilon, delta: DroppedUnreset(epsilon=epsilon),
    ),
}

__all__ = ["BROKEN", "Broken", "PrintedAlgorithm3"]
