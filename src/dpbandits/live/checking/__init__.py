"""Checking a ledger: whether the releases that it holds keep the promise that it begins with.

row 0 -> promise (policy, schedule, cost) -> rows: each the next of its arm -> cost of all -> verdict
"""

from dpbandits.live.checking.ledger_check import check_ledger
from dpbandits.live.checking.verdict import ArmSpent, LedgerCheck

__all__ = ["ArmSpent", "LedgerCheck", "check_ledger"]
