"""What the foundation costs, and the measurements that comments in the code refer to.

Run with `make bench`; the table goes to benchmarks/results.md. Times are the best of several repetitions on one core.
"""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from numba import njit

import dpbandits.engine.kernels  # noqa: F401  (makes kernels callable from the loop below)
from dpbandits.mechanisms import (
    Binary,
    ContinualCounter,
    Hybrid,
    Logarithmic,
    NoiseSource,
    SecureNoise,
    SeededNoise,
    SubtractionTree,
    WeightedHybrid,
    insert,
    release,
    reserve,
)
from dpbandits.policies import calibrate_interval
from dpbandits.privacy import Budget, DiscreteLaplaceEvent, LaplaceEvent, PureEvent, compose
from dpbandits.privacy.pld import _distribution
from dpbandits.privacy.renyi import renyi_curve
from report import seconds, table, write_section

DELTA = math.exp(-10)
ITEMS = 100_000

COUNTERS: dict[str, Callable[[NoiseSource], ContinualCounter]] = {
    "Logarithmic": lambda noise: Logarithmic(1.0, noise=noise),
    "Binary": lambda noise: Binary(1.0, ITEMS, noise=noise),
    "Hybrid": lambda noise: Hybrid(1.0, noise=noise),
    "SubtractionTree, base 9": lambda noise: SubtractionTree(1.0, ITEMS, 9, noise=noise),
    "WeightedHybrid": lambda noise: WeightedHybrid(1.0, noise=noise),
}


def shown(duration: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if duration * factor >= 1:
            return f"{duration * factor:.3g} {unit}"
    return f"{duration * 1e9:.3g} ns"


def import_rows() -> list[tuple[str, str]]:
    def start(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), repeat=5)

    return [("`import dpbandits`, without Python's own start", shown(start("import dpbandits") - start("")))]


def accounting_rows() -> list[tuple[str, str]]:
    times = range(252, 100_001, 252)
    compose([0.1], DELTA)  # loads dp-accounting
    rows = [
        ("compose 396 Laplace releases", seconds(lambda: compose([LaplaceEvent(n**0.55) for n in times], DELTA))),
        ("compose 396 bare epsilons", seconds(lambda: compose([n**-0.55 for n in times], DELTA))),
        (
            "compose 396 discrete Laplace releases on a grid of 2^12",
            seconds(lambda: compose([DiscreteLaplaceEvent(4096 * n**0.55, 4096) for n in times], DELTA)),
        ),
        (
            "compose 100,000 different Laplace releases",
            seconds(lambda: compose([LaplaceEvent(n**0.55) for n in range(1, 100_001)], DELTA), repeat=1),
        ),
        (
            "calibrate the y-series, T = 1e5, (1, e^-10)",
            seconds(lambda: calibrate_interval(Budget(1.0, DELTA), 1.1, "y", 100_000), repeat=1),
        ),
        (
            "calibrate the y-series, T = 1e5, (0.1, e^-10)",
            seconds(lambda: calibrate_interval(Budget(0.1, DELTA), 1.1, "y", 100_000)),
        ),
        (
            "calibrate the y-series live, T = 1e6, (1, 1e-6): 9,711 releases",
            seconds(lambda: calibrate_interval(Budget(1.0, 1e-6), 1.1, "y", 10**6, grid_bits=12), repeat=1),
        ),
        (
            "calibrate the y-series live, v = 1.5, T = 1e6, (1, 1e-7): 50,002 releases",
            seconds(lambda: calibrate_interval(Budget(1.0, 1e-7), 1.5, "y", 10**6, grid_bits=12), repeat=1),
        ),
    ]
    return [(name, shown(duration)) for name, duration in rows]


def library_rows() -> list[tuple[str, str, str]]:
    """One event's distribution or curve: ours, and dp-accounting's own constructor."""

    def response_curve() -> None:
        accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
        accountant.compose(dp_event.RandomizedResponseDpEvent(2 / (1 + math.exp(0.05)), 2))

    step = 1e-4
    pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        (
            "Laplace, epsilon 0.05",
            lambda: _distribution(LaplaceEvent(20.0), step),
            lambda: pld.from_laplace_mechanism(20.0, value_discretization_interval=step),
        ),
        *(
            (
                f"discrete Laplace, epsilon 0.05, sensitivity 2^{bits}",
                lambda bits=bits: _distribution(DiscreteLaplaceEvent(20.0 * 2**bits, 2**bits), step),
                lambda bits=bits: pld.from_discrete_laplace_mechanism(
                    1 / (20.0 * 2**bits), 2**bits, value_discretization_interval=step
                ),
            )
            for bits in (12, 20)
        ),
        ("Rényi curve of randomised response", lambda: renyi_curve(PureEvent(0.05)), response_curve),
    ]
    return [(name, shown(seconds(ours)), shown(seconds(theirs))) for name, ours, theirs in pairs]


@njit
def _count(params: Any, state: Any, rewards: Any, noise: Any) -> None:
    for i in range(len(rewards)):
        insert(params, state, 0, rewards[i], noise)


def counter_rows() -> list[tuple[str, str, str, str]]:
    rewards = np.random.default_rng(0).random(ITEMS)
    rows = []
    for name, make in COUNTERS.items():

        def compiled(make: Callable[[NoiseSource], ContinualCounter] = make) -> None:
            counter = make(SeededNoise(1))
            _count(counter._params, counter._state, rewards, SeededNoise(1))

        def plain(noise: NoiseSource, items: int, make: Callable[[NoiseSource], ContinualCounter] = make) -> float:
            counter = make(noise)
            return seconds(lambda: [counter.insert(reward) for reward in rewards[:items]], repeat=1) / items

        compiled()
        in_python, live = plain(SeededNoise(1), 10_000), plain(SecureNoise(), 2000)
        rows.append((name, shown(seconds(compiled) / ITEMS), shown(in_python), shown(live)))
        print(*rows[-1], sep=" | ", flush=True)
    return rows


@njit
def _sign_times_exponential(noise: Any, draws: int) -> float:
    total = 0.0
    for _ in range(draws):
        total += reserve(noise, 2.0)
    return total


@njit
def _generator_laplace(generator: Any, draws: int) -> float:
    total = 0.0
    for _ in range(draws):
        total += generator.laplace(0.0, 2.0)
    return total


def draw_rows() -> list[tuple[str, str]]:
    noise, draws = SeededNoise(1), 10**6

    def one_draw(loop: Any, source: Any) -> str:
        loop(source, 1)  # compiles
        return shown(seconds(lambda: loop(source, draws)) / draws)

    return [
        ("one compiled Laplace draw, sign times exponential", one_draw(_sign_times_exponential, noise)),
        ("one compiled Laplace draw, Generator.laplace", one_draw(_generator_laplace, noise.generator)),
    ]


def secure_rows() -> list[tuple[str, str]]:
    noise = SecureNoise()
    release(noise, 0, 10.0)
    fresh = iter(range(10, 10**6))
    return [
        ("one live release, scale seen before", shown(seconds(lambda: release(noise, 0, 10.0), 200))),
        ("one live release, new scale", shown(seconds(lambda: release(noise, 0, float(next(fresh))), 50))),
    ]


def main() -> None:
    print("accounting ...", flush=True)
    accounting = import_rows() + accounting_rows() + secure_rows() + draw_rows()
    print("against dp-accounting ...", flush=True)
    library = library_rows()
    print("counters ...", flush=True)
    counters = counter_rows()
    write_section(
        "Foundation",
        "foundation.py",
        table(["what", "time"], accounting)
        + "\nOne event, ours against dp-accounting's own constructor:\n\n"
        + table(["event", "ours", "dp-accounting"], library)
        + "\nOne insertion into a counter: compiled, in plain Python with seeded noise, and live with secure noise:\n\n"
        + table(["counter", "compiled", "plain", "live"], counters),
    )


if __name__ == "__main__":
    main()
