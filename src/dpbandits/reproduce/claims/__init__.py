"""Every claim of the paper, in its order, each with a test of its own."""

from dpbandits.reproduce.claims import (
    abstract_and_conclusion,
    any_horizon,
    counters,
    definition,
    four_panels,
    interval_privacy,
    regret_theorems,
)
from dpbandits.reproduce.claims.claim import Cause, Claim, Finding, Verdict

CLAIMS: tuple[Claim, ...] = (
    # abstract, introduction, contributions
    abstract_and_conclusion.optimal_regret,
    abstract_and_conclusion.earlier_results,
    abstract_and_conclusion.better_bounds,
    abstract_and_conclusion.experiments_validate,
    definition.side_information,
    definition.no_assumption,
    abstract_and_conclusion.additive_constant,
    abstract_and_conclusion.multiplicative,
    any_horizon.no_horizon,
    any_horizon.any_time,
    # preliminaries
    definition.definition,
    interval_privacy.optimal_trade_off,
    counters.hybrid_private,
    counters.hybrid_error,
    counters.tighter_error,
    # the algorithms
    definition.post_processing,
    counters.theorem_3_1,
    regret_theorems.theorem_3_2,
    regret_theorems.theorem_3_2_order,
    counters.tight_error,
    counters.equal_noise,
    counters.dp_ucb_private,
    regret_theorems.theorem_3_3,
    regret_theorems.proportional,
    regret_theorems.noise_below_bonus,
    interval_privacy.shorter_intervals,
    interval_privacy.lemma_3_1,
    interval_privacy.theorem_3_4,
    interval_privacy.corollary_3_1,
    interval_privacy.corollary_3_2,
    regret_theorems.theorem_3_5,
    # experiments
    four_panels.int_best,
    four_panels.gap_constant,
    four_panels.early_late,
    four_panels.early_late_reason,
    four_panels.private_ucb_worst,
    four_panels.spread,
    four_panels.spread_private_ucb,
    four_panels.trade_off,
    # conclusion and appendix
    abstract_and_conclusion.privacy_for_free,
    definition.several_rewards,
    interval_privacy.lemma_b1,
    counters.lemma_b2,
)

__all__ = ["CLAIMS", "Cause", "Claim", "Finding", "Verdict"]
