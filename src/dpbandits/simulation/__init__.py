"""Fast simulation: the same kernels, compiled. The only room that knows numba, and it loads it when a run starts."""

from dpbandits.simulation.actions import count_actions
from dpbandits.simulation.results import SimulationResult
from dpbandits.simulation.runner import summarise
from dpbandits.simulation.simulating import simulate
from dpbandits.simulation.summary import RegretSummary

__all__ = ["RegretSummary", "SimulationResult", "count_actions", "simulate", "summarise"]
