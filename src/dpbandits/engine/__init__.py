"""The engine: one loop for every policy and environment, in plain Python and compiled, on CPUs and on a GPU.

The only room that knows numba, and it loads it when something is compiled.
"""
