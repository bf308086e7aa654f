"""The live learner: a policy at work for people, with secure noise, late answers, a ledger and a journal.

It runs the same kernels as the simulation, in plain Python, and never loads numba.
"""

from dpbandits.live.assignments import Assignment
from dpbandits.live.bandit import Bandit
from dpbandits.live.checking import LedgerCheck, check_ledger
from dpbandits.live.estimates import Comparison, Estimate
from dpbandits.live.reward_scale import OutOfBounds
from dpbandits.live.spent_budget import Spent

__all__ = ["Assignment", "Bandit", "Comparison", "Estimate", "LedgerCheck", "OutOfBounds", "Spent", "check_ledger"]
