"""Policies of ours with one number changed, which makes their claims false."""

import math
from dataclasses import dataclass, replace

from dpbandits.policies.dp_imed import DPIMED
from dpbandits.policies.dp_ucb_int import DPUCBInt
from dpbandits.policies.phases import Phases
from dpbandits.policies.policy import FOREVER, Setup
from dpbandits.privacy import Guarantee


@dataclass(frozen=True, kw_only=True)
class HalfNoise(DPIMED):
    """DP-IMED with noise of half the scale."""

    name = "broken/half-noise"
    seed_text = (
        "HalfNoise(epsilon={epsilon!r}, index='published', growth={growth!r}, first_phase={first_phase!r}, "
        "caution={caution!r})"
    )

    def phases(self, horizon: int) -> Phases:
        """Return the phases, with too little noise."""
        right = super().phases(horizon)
        return right._replace(scale=right.scale / 2)

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:  # type: ignore[override]
        """Return None: nothing is proved."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee that would hold with all of the noise."""
        return replace(super().guarantee(horizon), proved=False)


@dataclass(frozen=True, kw_only=True)
class PastHorizon(DPUCBInt):
    """DP-UCB-Int that goes on releasing after the horizon it was declared for."""

    name = "broken/past-horizon"

    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state, without the end."""
        right = super().setup(arms, horizon)
        return right._replace(params=right.params._replace(last=FOREVER))

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:  # type: ignore[override]
        """Return None: nothing is proved."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee:
        """Return the guarantee that holds up to the declared horizon."""
        return replace(super().guarantee(horizon), proved=False)
