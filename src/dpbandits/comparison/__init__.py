"""Comparing policies: a leaderboard over many bandits, and a plan before an experiment begins."""

from dpbandits.comparison.advice import Answer, Cost, Plan, Shares
from dpbandits.comparison.contenders import Contender, Contenders
from dpbandits.comparison.instances import SETS, Case, cases, random_cases
from dpbandits.comparison.leaderboard import Leaderboard, Score, Standing, compare
from dpbandits.comparison.planning import plan

__all__ = [
    "SETS",
    "Answer",
    "Case",
    "Contender",
    "Contenders",
    "Cost",
    "Leaderboard",
    "Plan",
    "Score",
    "Shares",
    "Standing",
    "cases",
    "compare",
    "plan",
    "random_cases",
]
