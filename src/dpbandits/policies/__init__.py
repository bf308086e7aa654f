"""Policies: which arm to play next. One file each, all with the same three kernels (base.py)."""

from dpbandits.policies.base import FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.policies.dp_ucb import DPUCB
from dpbandits.policies.dp_ucb_bound import DPUCBBound
from dpbandits.policies.dp_ucb_int import DPUCBInt
from dpbandits.policies.hybrid_dmab import HybridDMAB
from dpbandits.policies.private_ucb import PrivateUCB
from dpbandits.policies.ucb import UCB

# In the order in which they are listed to users.
POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (UCB, PrivateUCB, DPUCB, DPUCBBound, DPUCBInt, HybridDMAB)
}

__all__ = [
    "DPUCB",
    "FOREVER",
    "POLICIES",
    "UCB",
    "Block",
    "DPUCBBound",
    "DPUCBInt",
    "HybridDMAB",
    "Policy",
    "PrivateUCB",
    "Setup",
    "hold",
    "select",
    "update",
]
