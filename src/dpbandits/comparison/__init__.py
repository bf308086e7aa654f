"""Comparing policies: a leaderboard over many bandits, and a plan before an experiment begins."""

from dpbandits.comparison.instances import SETS, Case, cases, random_cases
from dpbandits.comparison.leaderboard import Contender, Leaderboard, Score, Standing, compare
from dpbandits.comparison.planning import Answer, Plan, plan

__all__ = [
    "SETS",
    "Answer",
    "Case",
    "Contender",
    "Leaderboard",
    "Plan",
    "Score",
    "Standing",
    "cases",
    "compare",
    "plan",
    "random_cases",
]
