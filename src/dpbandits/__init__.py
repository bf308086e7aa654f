"""Differentially private multi-armed bandits.

Importing the package is light: numba, OpenDP, dp-accounting, pandas and matplotlib are loaded on first use.
"""

from dpbandits import environments, live, mechanisms, policies, privacy, theory
from dpbandits._kernel import kernel
from dpbandits.environments import Bernoulli
from dpbandits.errors import DPBanditsError, InvalidInput, JournalError, LedgerError
from dpbandits.live import Bandit
from dpbandits.policies import DPUCB, UCB, DPUCBBound, DPUCBInt, HybridDMAB, PrivateUCB
from dpbandits.privacy import Budget, Guarantee, Ledger
from dpbandits.simulation import SimulationResult, simulate

__version__ = "0.1.0.dev0"

__all__ = [
    "DPUCB",
    "UCB",
    "Bandit",
    "Bernoulli",
    "Budget",
    "DPBanditsError",
    "DPUCBBound",
    "DPUCBInt",
    "Guarantee",
    "HybridDMAB",
    "InvalidInput",
    "JournalError",
    "Ledger",
    "LedgerError",
    "PrivateUCB",
    "SimulationResult",
    "environments",
    "kernel",
    "live",
    "mechanisms",
    "policies",
    "privacy",
    "simulate",
    "theory",
]
