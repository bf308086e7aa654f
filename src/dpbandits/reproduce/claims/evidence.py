"""Runs that several claims look at, beyond those of the four panels."""

from collections import Counter

from dpbandits.policies import DPUCB
from dpbandits.reproduce.experiments import DELTA, PANELS, TWO_ARMS, Panel, V, published_interval
from dpbandits.reproduce.printed import PrintedAlgorithm3
from dpbandits.reproduce.statistics import Interval, log_ratio
from dpbandits.reproduce.study import Study
from dpbandits.simulation import RegretSummary, count_actions

EASY = next(panel for panel in PANELS if panel.scenario is TWO_ARMS and panel.epsilon == 1.0)
PRIVATE = ("Private-UCB", "DP-UCB", "DP-UCB-Bound", "DP-UCB-Int")
OURS = ("DP-UCB", "DP-UCB-Bound", "DP-UCB-Int")

# Rewards 000000 against 001000, arms 1,2,2,1,1,1: found by a search over all sequences of six steps.
QUIET, CHANGED = (0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0)
TELLING = (1, 2, 2, 1, 1, 1)


def of_panel(study: Study, panel: Panel, algorithm: str) -> RegretSummary:
    """Return the runs of one algorithm as published."""
    return study.summary(panel.published(algorithm), panel.scenario.environment)


def many_interval_runs(study: Study, panel: Panel) -> RegretSummary:
    """Return so many runs of DP-UCB-Int that the few with linear regret show in its mean."""
    runs = study.scaled(20_000, least=1000)
    return study.summary(published_interval(panel.epsilon), panel.scenario.environment, runs=runs)


def long_interval_runs(study: Study) -> RegretSummary:
    """Return runs of DP-UCB-Int that are ten times as long, on two arms at ε = 1."""
    policy, runs = published_interval(1.0), study.scaled(4000, least=500)
    return study.summary(policy, TWO_ARMS.environment, horizon=10 * study.settings.horizon, runs=runs)


def long_ucb_runs(study: Study) -> RegretSummary:
    """Return runs of UCB that are ten times as long, on two arms."""
    return study.summary(EASY.published("UCB"), TWO_ARMS.environment, horizon=10 * study.settings.horizon)


def printed_runs(study: Study, panel: Panel) -> RegretSummary:
    """Return runs of Algorithm 3 exactly as printed."""
    policy = PrintedAlgorithm3(epsilon=panel.epsilon, delta=DELTA, v=V)
    return study.summary(policy, panel.scenario.environment)


def telling_ratio(study: Study, variant: str) -> tuple[Interval, int, int, int]:
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
