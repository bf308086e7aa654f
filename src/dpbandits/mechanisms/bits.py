"""Bit arithmetic. Compiled code uses the processor's own instructions instead (engine/compiled_bits.py)."""


def popcount(n: int) -> int:
    """Return how many bits of 0 <= n < 2^63 are set."""
    return int(n).bit_count()


def floor_log2(n: int) -> int:
    """Return the position of the highest set bit of 1 <= n < 2^63."""
    return int(n).bit_length() - 1
