"""Policies: which arm to play next. One file each, all with the same three kernels (policy.py)."""

from dpbandits.policies import catalogue
from dpbandits.policies.catalogue import *  # noqa: F403
from dpbandits.policies.catalogue import POLICIES, is_ours
from dpbandits.policies.counter_policy import CounterName, Variant
from dpbandits.policies.dp_se import EpochOrder
from dpbandits.policies.dp_ucb_int import Accounting, Bonus
from dpbandits.policies.interval_calibration import calibrate_interval
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
from dpbandits.policies.policy import FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.policies.private_ucb import Relaxation
from dpbandits.policies.recommended import recommended
from dpbandits.policies.release_intervals import (
    Series,
    interval_epsilon,
    interval_events,
    interval_guarantee,
    published_interval_guarantee,
    release_progression,
    release_times,
    squared_loss_bound,
)

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
    "Series",
    "Setup",
    "Tally",
    "Variant",
    "calibrate_interval",
    "doubling_epochs",
    "geometric_ends",
    "hold",
    "interval_epsilon",
    "interval_events",
    "interval_guarantee",
    "is_ours",
    "keep_last_phase",
    "phase_choice",
    "phase_index",
    "pool_phases",
    "published_interval_guarantee",
    "recommended",
    "release_progression",
    "release_times",
    "select",
    "squared_loss_bound",
    "update",
]
__all__ += catalogue.__all__
