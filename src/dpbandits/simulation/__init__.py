"""Fast simulation: the same kernels, compiled. The only room that knows numba, and it loads it when a run starts."""

from dpbandits.simulation.results import SimulationResult
from dpbandits.simulation.runner import simulate

__all__ = ["SimulationResult", "simulate"]
