"""The policies that a live bandit can be made of, each with settings that release often."""

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.policies import Policy
from explore_then_commit import ExploreThenCommit

HORIZON = 400
SERVABLE: list[Policy] = [
    dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=HORIZON),
    dpb.DPUCBInt(epsilon=3.0, delta=1e-6),
    dpb.DPUCBInt(epsilon=3.0, delta=1e-6, bonus="frozen", series="x", horizon=HORIZON),
    dpb.DPUCBInt(epsilon=9.0, delta=1e-6, accounting="corollary", series="constant", v=1.3),
    ExploreThenCommit(epsilon=0.5, plays=20),
    Phases(epsilon=0.7),
    dpb.DPIMED(epsilon=0.7),
    dpb.NoiseAwareIMED(epsilon=1.5, first_phase=6),
    dpb.DPKLUCB(epsilon=0.7, first_phase=3),
    dpb.NoiseAwareKLUCB(epsilon=1.5, growth=1.2),
    dpb.AdaPUCB(epsilon=0.7),
    dpb.AdaPKLUCB(epsilon=7.0, alpha=0.5),
    dpb.BlockUCB(epsilon=0.7, confidence=1.0),
    dpb.AnytimeLazyUCB(epsilon=0.7),
]


def shown(policy: Policy) -> str:
    return repr(policy).replace(" ", "")
