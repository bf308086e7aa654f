"""Differentially private multi-armed bandits.

Importing the package is light: numba, OpenDP and dp-accounting are loaded on first use.
"""

from dpbandits import mechanisms, privacy
from dpbandits.errors import DPBanditsError, InvalidInput, LedgerError
from dpbandits.privacy import Budget, Guarantee, Ledger

__version__ = "0.1.0.dev0"

__all__ = [
    "Budget",
    "DPBanditsError",
    "Guarantee",
    "InvalidInput",
    "Ledger",
    "LedgerError",
    "mechanisms",
    "privacy",
]
