"""Differentially private multi-armed bandits.

Importing the package is light: OpenDP and dp-accounting are loaded on first use, and so are numba, pandas and
matplotlib, which extras bring.
"""

from dpbandits import auditing, comparison, environments, live, mechanisms, policies, privacy, theory
from dpbandits._kernel import kernel
from dpbandits.auditing import audit, exact_audit
from dpbandits.comparison import compare, plan
from dpbandits.environments import Bernoulli
from dpbandits.errors import (
    AlreadyClosed,
    DPBanditsError,
    InvalidInput,
    JournalError,
    LedgerError,
    MissingExtra,
    StepError,
)
from dpbandits.live import Bandit, check_ledger
from dpbandits.policies import (
    DPIMED,
    DPKLUCB,
    DPSE,
    DPUCB,
    IMED,
    KLUCB,
    UCB,
    AdaCUCB,
    AdaPKLUCB,
    AdaPUCB,
    AnytimeLazyUCB,
    BlockUCB,
    DPUCBBound,
    DPUCBInt,
    HybridDMAB,
    LazyDPTS,
    LDPUCBBernoulli,
    LDPUCBLaplace,
    NoiseAwareIMED,
    NoiseAwareKLUCB,
    PrivateUCB,
    ThompsonSampling,
    recommended,
)
from dpbandits.privacy import Budget, Guarantee, Ledger
from dpbandits.simulation import SimulationResult, simulate, summarise

__version__ = "0.1.0.dev0"

__all__ = [
    "DPIMED",
    "DPKLUCB",
    "DPSE",
    "DPUCB",
    "IMED",
    "KLUCB",
    "UCB",
    "AdaCUCB",
    "AdaPKLUCB",
    "AdaPUCB",
    "AlreadyClosed",
    "AnytimeLazyUCB",
    "Bandit",
    "Bernoulli",
    "BlockUCB",
    "Budget",
    "DPBanditsError",
    "DPUCBBound",
    "DPUCBInt",
    "Guarantee",
    "HybridDMAB",
    "InvalidInput",
    "JournalError",
    "LDPUCBBernoulli",
    "LDPUCBLaplace",
    "LazyDPTS",
    "Ledger",
    "LedgerError",
    "MissingExtra",
    "NoiseAwareIMED",
    "NoiseAwareKLUCB",
    "PrivateUCB",
    "SimulationResult",
    "StepError",
    "ThompsonSampling",
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
