"""Differentially private multi-armed bandits.

Importing the package is light: OpenDP and dp-accounting are loaded on first use, and so are numba, pandas and
matplotlib, which extras bring.
"""

from dpbandits import auditing, comparison, environments, live, mechanisms, policies, privacy, theory
from dpbandits._kernel import kernel
from dpbandits._version import __version__ as __version__
from dpbandits.auditing import audit, exact_audit
from dpbandits.comparison import compare, plan
from dpbandits.environments import Bernoulli
from dpbandits.errors import (
    AlreadyClosed,
    BrokenContract,
    ClockWarning,
    DatabaseError,
    DPBanditsError,
    InvalidInput,
    JournalError,
    LedgerError,
    MissingExtra,
    NotFound,
    NotRunning,
    QueueFull,
    StepError,
    WindowClosed,
    WrongKind,
)
from dpbandits.live import Assignment, Bandit, Comparison, Estimate, Spent, check_ledger
from dpbandits.mechanisms import NoiseSource, SecureNoise
from dpbandits.policies import Policy, recommended
from dpbandits.policies.catalogue import *  # noqa: F403
from dpbandits.privacy import Budget, Guarantee, Ledger
from dpbandits.simulation import SimulationResult, simulate, summarise

__all__ = [
    "AlreadyClosed",
    "Assignment",
    "Bandit",
    "Bernoulli",
    "BrokenContract",
    "Budget",
    "ClockWarning",
    "Comparison",
    "DPBanditsError",
    "DatabaseError",
    "Estimate",
    "Guarantee",
    "InvalidInput",
    "JournalError",
    "Ledger",
    "LedgerError",
    "MissingExtra",
    "NoiseSource",
    "NotFound",
    "NotRunning",
    "Policy",
    "QueueFull",
    "SecureNoise",
    "SimulationResult",
    "Spent",
    "StepError",
    "WindowClosed",
    "WrongKind",
    "audit",
    "auditing",
    "check_ledger",
    "compare",
    "comparison",
    "environments",
    "exact_audit",
    "kernel",
    "live",
    "mechanisms",
    "plan",
    "policies",
    "privacy",
    "recommended",
    "simulate",
    "summarise",
    "theory",
]
__all__ += policies.catalogue.__all__
