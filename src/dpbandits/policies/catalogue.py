"""The one list of policies: what is exported, what the command line knows and what is tested follow from it."""

from dpbandits.policies.adac_ucb import AdaCUCB
from dpbandits.policies.adap_klucb import AdaPKLUCB
from dpbandits.policies.adap_ucb import AdaPUCB
from dpbandits.policies.anytime_lazy_ucb import AnytimeLazyUCB
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
from dpbandits.policies.policy import Policy
from dpbandits.policies.private_ucb import PrivateUCB
from dpbandits.policies.thompson_sampling import ThompsonSampling
from dpbandits.policies.ucb import UCB

# In the order in which they are listed to users.
__all__ = [  # noqa: RUF022
    # without privacy
    "UCB",
    "KLUCB",
    "IMED",
    "ThompsonSampling",
    # the 2016 paper and before
    "PrivateUCB",
    "DPUCB",
    "DPUCBBound",
    "DPUCBInt",
    "HybridDMAB",
    # ours
    "NoiseAwareIMED",
    "NoiseAwareKLUCB",
    # later
    "DPIMED",
    "DPKLUCB",
    "AdaPUCB",
    "AdaPKLUCB",
    "LazyDPTS",
    "AnytimeLazyUCB",
    "DPSE",
    "BlockUCB",
    "AdaCUCB",
    # local
    "LDPUCBBernoulli",
    "LDPUCBLaplace",
]

POLICIES: dict[str, type[Policy]] = {policy.name: policy for policy in map(globals().__getitem__, __all__)}


def is_ours(policy: Policy) -> bool:
    """Tell whether a policy is one of the library, whose accounting is proved and tested."""
    return POLICIES.get(policy.name) is type(policy)
