"""Policies: which arm to play next. One file each, all with the same three kernels (base.py)."""

from dpbandits.policies import catalogue
from dpbandits.policies.base import FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.policies.catalogue import *  # noqa: F403
from dpbandits.policies.catalogue import POLICIES, is_ours
from dpbandits.policies.counter_policy import CounterName, Variant
from dpbandits.policies.dp_se import EpochOrder
from dpbandits.policies.dp_ucb_int import Accounting, Bonus
from dpbandits.policies.last_phase import LastPhaseState, keep_last_phase
from dpbandits.policies.phases import (
    PhasePolicy,
    Phases,
    PooledState,
    Tally,
    doubling_epochs,
    geometric_ends,
    phase_choice,
    phase_index,
    pool_phases,
)
from dpbandits.policies.private_ucb import Relaxation
from dpbandits.policies.recommended import recommended

__all__ = [
    "FOREVER",
    "POLICIES",
    "Accounting",
    "Block",
    "Bonus",
    "CounterName",
    "EpochOrder",
    "LastPhaseState",
    "PhasePolicy",
    "Phases",
    "Policy",
    "PooledState",
    "Relaxation",
    "Setup",
    "Tally",
    "Variant",
    "doubling_epochs",
    "geometric_ends",
    "hold",
    "is_ours",
    "keep_last_phase",
    "phase_choice",
    "phase_index",
    "pool_phases",
    "recommended",
    "select",
    "update",
]
__all__ += catalogue.__all__
