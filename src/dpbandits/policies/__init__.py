"""Policies: which arm to play next. One file each, all with the same three kernels (base.py)."""

from dpbandits.policies.adac_ucb import AdaCUCB
from dpbandits.policies.adap_klucb import AdaPKLUCB
from dpbandits.policies.adap_ucb import AdaPUCB
from dpbandits.policies.anytime_lazy_ucb import AnytimeLazyUCB
from dpbandits.policies.base import FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.policies.block_ucb import BlockUCB
from dpbandits.policies.dp_imed import DPIMED
from dpbandits.policies.dp_klucb import DPKLUCB
from dpbandits.policies.dp_se import DPSE
from dpbandits.policies.dp_ucb import DPUCB
from dpbandits.policies.dp_ucb_bound import DPUCBBound
from dpbandits.policies.dp_ucb_int import DPUCBInt
from dpbandits.policies.hybrid_dmab import HybridDMAB
from dpbandits.policies.imed import IMED
from dpbandits.policies.klucb import KLUCB
from dpbandits.policies.lazy_dp_ts import LazyDPTS
from dpbandits.policies.ldp_ucb_bernoulli import LDPUCBBernoulli
from dpbandits.policies.ldp_ucb_laplace import LDPUCBLaplace
from dpbandits.policies.noise_aware_imed import NoiseAwareIMED
from dpbandits.policies.noise_aware_klucb import NoiseAwareKLUCB
from dpbandits.policies.private_ucb import PrivateUCB
from dpbandits.policies.recommended import recommended
from dpbandits.policies.thompson_sampling import ThompsonSampling
from dpbandits.policies.ucb import UCB

# In the order in which they are listed to users: without privacy, the 2016 paper and before, ours, later, local.
POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        *(UCB, KLUCB, IMED, ThompsonSampling),
        *(PrivateUCB, DPUCB, DPUCBBound, DPUCBInt, HybridDMAB),
        *(NoiseAwareIMED, NoiseAwareKLUCB),
        *(DPIMED, DPKLUCB, AdaPUCB, AdaPKLUCB, LazyDPTS, AnytimeLazyUCB, DPSE, BlockUCB, AdaCUCB),
        *(LDPUCBBernoulli, LDPUCBLaplace),
    )
}


def is_ours(policy: Policy) -> bool:
    """Tell whether a policy is one of the library, whose accounting is proved and tested."""
    return POLICIES.get(policy.name) is type(policy)


__all__ = [
    "DPIMED",
    "DPKLUCB",
    "DPSE",
    "DPUCB",
    "FOREVER",
    "IMED",
    "KLUCB",
    "POLICIES",
    "UCB",
    "AdaCUCB",
    "AdaPKLUCB",
    "AdaPUCB",
    "AnytimeLazyUCB",
    "Block",
    "BlockUCB",
    "DPUCBBound",
    "DPUCBInt",
    "HybridDMAB",
    "LDPUCBBernoulli",
    "LDPUCBLaplace",
    "LazyDPTS",
    "NoiseAwareIMED",
    "NoiseAwareKLUCB",
    "Policy",
    "PrivateUCB",
    "Setup",
    "ThompsonSampling",
    "hold",
    "is_ours",
    "recommended",
    "select",
    "update",
]
