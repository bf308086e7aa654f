"""Simulation: policies played many times in environments whose means are known, and what their regret was."""

from dpbandits.simulation.results import SimulationResult
from dpbandits.simulation.runner import summarise
from dpbandits.simulation.simulating import simulate
from dpbandits.simulation.summary import RegretSummary

__all__ = ["RegretSummary", "SimulationResult", "simulate", "summarise"]
