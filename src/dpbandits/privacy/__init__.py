"""What a guarantee costs: budgets, composition, calibration and the ledger.

The only room that turns releases into (epsilon, delta). It knows no policy and draws no noise.
"""

from dpbandits.privacy.accountant import compose, epsilons_by_theorem
from dpbandits.privacy.budget import Budget, Guarantee
from dpbandits.privacy.calibration import calibrate
from dpbandits.privacy.composition import advanced_composition, basic_composition, kov_composition
from dpbandits.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    RandomizedResponseEvent,
)
from dpbandits.privacy.gaussian import gaussian_delta, gaussian_epsilon
from dpbandits.privacy.group import group_guarantee, per_reward_budget, per_reward_rho
from dpbandits.privacy.least_loss import epsilon_below
from dpbandits.privacy.ledger import Ledger, Row, verify
from dpbandits.privacy.renyi import rho_of, zcdp_epsilon
from dpbandits.privacy.rounding import scale_for

__all__ = [
    "Budget",
    "DiscreteGaussianEvent",
    "DiscreteLaplaceEvent",
    "Event",
    "GaussianEvent",
    "Guarantee",
    "LaplaceEvent",
    "Ledger",
    "PureEvent",
    "RandomizedResponseEvent",
    "Row",
    "advanced_composition",
    "basic_composition",
    "calibrate",
    "compose",
    "epsilon_below",
    "epsilons_by_theorem",
    "gaussian_delta",
    "gaussian_epsilon",
    "group_guarantee",
    "kov_composition",
    "per_reward_budget",
    "per_reward_rho",
    "rho_of",
    "scale_for",
    "verify",
    "zcdp_epsilon",
]
