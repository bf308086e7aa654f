import numpy as np

from dpbandits.mechanisms.bits import floor_log2, popcount


def test_against_python() -> None:
    numbers = [*range(1, 2000), *(2**k + d for k in range(2, 63) for d in (-1, 0, 1))]
    numbers += [int(n) for n in np.random.default_rng(3).integers(1, 2**63 - 1, 1000)]
    for n in numbers:
        if n < 2**63:
            assert popcount(n) == n.bit_count()
            assert floor_log2(n) == n.bit_length() - 1
