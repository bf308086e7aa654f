"""Runs that several claims look at, beyond those of the four panels."""

from collections import Counter

from dpbandits.auditing import count_actions
from dpbandits.auditing.broken.printed import PrintedAlgorithm3
from dpbandits.policies import DPUCB, Bonus, Series, Variant
from dpbandits.reproduce.confidence import Interval, log_ratio, mean_at
from dpbandits.reproduce.paper_experiments import DELTA, PANELS, TWO_ARMS, Panel, V, published_interval
from dpbandits.reproduce.study import Study
from dpbandits.simulation import RegretSummary

EASY = next(panel for panel in PANELS if panel.scenario is TWO_ARMS and panel.epsilon == 1.0)
GAP = max(TWO_ARMS.gaps)
PRIVATE = ("Private-UCB", "DP-UCB", "DP-UCB-Bound", "DP-UCB-Int")
OURS = ("DP-UCB", "DP-UCB-Bound", "DP-UCB-Int")

# Rewards 000000 against 001000, arms 1,2,2,1,1,1: found by a search over all sequences of six steps.
QUIET, CHANGED = (0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0)
TELLING = (1, 2, 2, 1, 1, 1)


def of_panel(study: Study, panel: Panel, algorithm: str) -> RegretSummary:
    """Return the runs of one algorithm as published, so many that their mean can be trusted."""
    return study.steady(panel.published(algorithm), panel.scenario.environment)


def means_of_panel(study: Study, panel: Panel) -> dict[str, Interval]:
    """Return the mean regret of every private algorithm as published."""
    return {name: mean_at(of_panel(study, panel, name)) for name in PRIVATE}


def long_interval_runs(study: Study, bonus: Bonus = "frozen") -> RegretSummary:
    """Return runs of DP-UCB-Int that are ten times as long, on two arms at ε = 1."""
    policy, runs = published_interval(1.0, bonus=bonus), study.scaled(10_000 if bonus == "frozen" else 4000, least=500)
    return study.summary(policy, TWO_ARMS.environment, horizon=10 * study.settings.horizon, runs=runs)


def long_ucb_runs(study: Study) -> RegretSummary:
    """Return runs of UCB that are ten times as long, on two arms."""
    return study.summary(EASY.published("UCB"), TWO_ARMS.environment, horizon=10 * study.settings.horizon)


def reading_runs(study: Study, panel: Panel, series: Series) -> RegretSummary:
    """Return runs of DP-UCB-Int with another series: many at ε = 1, where few of them decide the mean."""
    policy = published_interval(panel.epsilon, series)
    runs = study.scaled(5000, least=500) if panel.epsilon == 1.0 else None  # at 0.1 nearly all is the initial phase
    return study.summary(policy, panel.scenario.environment, runs=runs)


def printed_runs(study: Study, panel: Panel) -> RegretSummary:
    """Return runs of Algorithm 3 exactly as printed."""
    policy = PrintedAlgorithm3(epsilon=panel.epsilon, delta=DELTA, v=V)
    return study.summary(policy, panel.scenario.environment)


def telling_ratio(study: Study, variant: Variant) -> tuple[Interval, int, int, int]:
    """Return ln of the ratio at which DP-UCB with ε = 1 plays the telling arms, and the counts and trials behind it."""
    policy, trials = DPUCB(epsilon=1.0, variant=variant), study.scaled(2_000_000, least=200_000)

    def count() -> list[int]:
        counts: list[Counter[tuple[int, ...]]] = [
            count_actions(policy, rewards, arms=2, trials=trials, seed=2 * study.settings.seed + place)
            for place, rewards in enumerate((QUIET, CHANGED))
        ]
        return [count[TELLING] for count in counts]

    one, other = study.kept(f"telling {variant}", count)
    return log_ratio(one, other, trials), one, other, trials
