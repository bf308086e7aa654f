"""Fast simulation: the same kernels, compiled. The only room that knows numba."""
