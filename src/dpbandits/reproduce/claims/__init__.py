"""Every claim of the paper, in its order, each with a test of its own."""

from dpbandits.reproduce.claims import bounds, counters, definition, experiments, horizon, interval, overview
from dpbandits.reproduce.claims.base import Cause, Claim, Finding, Verdict

CLAIMS: tuple[Claim, ...] = (
    # abstract, introduction, contributions
    overview.optimal_regret,
    overview.earlier_results,
    overview.better_bounds,
    overview.experiments_validate,
    definition.side_information,
    definition.no_assumption,
    overview.additive_constant,
    overview.multiplicative,
    horizon.no_horizon,
    horizon.any_time,
    # preliminaries
    definition.definition,
    interval.optimal_trade_off,
    counters.hybrid_private,
    counters.hybrid_error,
    counters.tighter_error,
    # the algorithms
    definition.post_processing,
    counters.theorem_3_1,
    bounds.theorem_3_2,
    bounds.theorem_3_2_order,
    counters.tight_error,
    counters.equal_noise,
    counters.dp_ucb_private,
    bounds.theorem_3_3,
    bounds.proportional,
    bounds.noise_below_bonus,
    interval.shorter_intervals,
    interval.lemma_3_1,
    interval.theorem_3_4,
    interval.corollary_3_1,
    interval.corollary_3_2,
    bounds.theorem_3_5,
    # experiments
    experiments.int_best,
    experiments.gap_constant,
    experiments.early_late,
    experiments.early_late_reason,
    experiments.private_ucb_worst,
    experiments.spread,
    experiments.spread_private_ucb,
    experiments.trade_off,
    # conclusion and appendix
    overview.privacy_for_free,
    definition.several_rewards,
    interval.lemma_b1,
    counters.lemma_b2,
)

__all__ = ["CLAIMS", "Cause", "Claim", "Finding", "Verdict"]
