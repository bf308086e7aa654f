"""Bit arithmetic in constant time, for plain Python and for compiled kernels."""

from dpbandits._kernel import kernel


@kernel
def popcount(n: int) -> int:
    """Return how many bits of 0 <= n < 2^63 are set, by adding neighbours in parallel."""
    n = n - ((n >> 1) & 0x5555555555555555)
    n = (n & 0x3333333333333333) + ((n >> 2) & 0x3333333333333333)
    n = (n + (n >> 4)) & 0x0F0F0F0F0F0F0F0F
    n = n + (n >> 8)
    n = n + (n >> 16)
    n = n + (n >> 32)
    return n & 0x7F


@kernel
def floor_log2(n: int) -> int:
    """Return the position of the highest set bit of 1 <= n < 2^63."""
    n = n | (n >> 1)
    n = n | (n >> 2)
    n = n | (n >> 4)
    n = n | (n >> 8)
    n = n | (n >> 16)
    n = n | (n >> 32)
    return popcount(n) - 1
