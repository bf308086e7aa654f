"""How long one pull takes: every policy beside the floor, and beside peers from PyPI, in one process on one core.

The floor is a compiled loop that only draws the rewards of the pulls that UCB made. Peers: pymab's public `run()` and
its native core by itself, and river. Run with `make bench`.
"""

import math
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pymab
import pymab.policies
from numba import njit
from pymab._backend import run_native_experiment
from river import bandit as river_bandit

import dpbandits as dpb
from dpbandits.engine.driver import Chunk
from dpbandits.engine.kernels import register_kernels
from dpbandits.environments import reward
from dpbandits.environments.alias import GROUPS, alias_tables, from_tables
from dpbandits.environments.binomial import binomial
from dpbandits.mechanisms import SeededNoise
from dpbandits.policies import Policy, select, update
from dpbandits.simulation.job import Job
from report import seconds, table, write_section

HORIZON = 100_000
DELTA = math.exp(-10)
SCENARIOS = {2: [0.9, 0.6], 10: [0.1] * 8 + [0.2, 0.55]}
PAPER_INT: dict[str, Any] = {"epsilon": 1.0, "delta": DELTA, "accounting": "corollary"}
POLICIES: dict[str, Policy] = {
    "ucb": dpb.UCB(),
    "private-ucb": dpb.PrivateUCB(epsilon=1.0),
    "dp-ucb": dpb.DPUCB(epsilon=1.0),
    "dp-ucb, published": dpb.DPUCB(epsilon=1.0, variant="published"),
    "dp-ucb, weighted counter": dpb.DPUCB(epsilon=1.0, counter="weighted"),
    "dp-ucb-bound": dpb.DPUCBBound(epsilon=1.0),
    "dp-ucb-bound, published": dpb.DPUCBBound(epsilon=1.0, variant="published"),
    "dp-ucb-bound, weighted counter": dpb.DPUCBBound(epsilon=1.0, counter="weighted"),
    "dp-ucb-int": dpb.DPUCBInt(epsilon=1.0, delta=DELTA),
    "dp-ucb-int, Corollary 3.2": dpb.DPUCBInt(**PAPER_INT),
    "dp-ucb-int, Corollary 3.2, frozen": dpb.DPUCBInt(**PAPER_INT, bonus="frozen"),
    "hybrid-dmab": dpb.HybridDMAB(epsilon=1.0),
}

register_kernels()


@njit(_nrt=False)
def _pulls_of_ucb(params: Any, state: Any, environment: Any, noise: Any, arms: Any) -> None:
    for t in range(1, len(arms) + 1):
        arms[t - 1] = select(params, state, t)
        update(params, state, arms[t - 1], 1, reward(environment, arms[t - 1], t, noise), t + 1, noise)


@njit(_nrt=False)
def _rewards_only(environment: Any, noise: Any, arms: Any) -> int:
    total = 0
    for t in range(len(arms)):
        total += int(reward(environment, arms[t], t + 1, noise))  # adding integers is faster
    return total


def floor(arms: int) -> float:
    environment = dpb.Bernoulli(SCENARIOS[arms]).configure()
    setup = dpb.UCB().configure(arms, HORIZON)
    params = setup.params
    pulls = np.zeros(HORIZON, dtype=np.int64)
    _pulls_of_ucb(params, setup.allocate(np.float64), environment, SeededNoise(1), pulls)
    noise = SeededNoise(1)
    _rewards_only(environment, noise, pulls)
    return seconds(lambda: [_rewards_only(environment, noise, pulls) for _ in range(20)], 7) / 20 / HORIZON


def ours(policy: Policy, arms: int) -> float:
    job = Job(policy, dpb.Bernoulli(SCENARIOS[arms]), HORIZON, np.array([HORIZON]))
    job.play(Chunk(0, np.random.SeedSequence(1)))  # compiles it
    return seconds(lambda: job.play(Chunk(20, np.random.SeedSequence(1))), 5) / 20 / HORIZON


def peers(arms: int) -> dict[str, float]:
    means = np.array(SCENARIOS[arms])
    horizon, runs = 10_000, 10
    environment = pymab.BanditEnvironment(means=means, reward_model=pymab.BernoulliReward())
    policies = {"ucb": pymab.policies.UCBPolicy(n_arms=arms, c=2.0)}
    config = pymab.ExperimentConfig(horizon=horizon, n_replicates=runs, seed=1, backend="rust")

    def public() -> None:
        pymab.Experiment(environment=environment, policies=policies, config=config).run()

    def native() -> None:
        run_native_experiment(
            environment=environment, policies=policies, horizon=horizon, n_replicates=runs, seed=1,
            reward_coupling="common", record_contexts=False,
        )  # fmt: skip

    def river() -> None:
        policy = river_bandit.UCB(delta=1.0, seed=1)
        dice = np.random.default_rng(1)
        for _ in range(horizon):
            arm = policy.pull(range(arms))
            policy.update(arm, float(dice.random() < means[arm]))

    return {
        "pymab, run()": seconds(public) / horizon / runs,
        "pymab, native core": seconds(native) / horizon / runs,
        "river": seconds(river) / horizon,
    }


def speed_table() -> str:
    floors = {arms: floor(arms) for arms in SCENARIOS}
    times = {"floor: rewards alone": floors}
    for name, policy in POLICIES.items():
        times[name] = {arms: ours(policy, arms) for arms in SCENARIOS}
        print(name, *(f"{value * 1e9:.2f}" for value in times[name].values()), flush=True)
    by_arms = {arms: peers(arms) for arms in SCENARIOS}
    for name in by_arms[2]:
        times[name] = {arms: by_arms[arms][name] for arms in SCENARIOS}
    rows = [
        [
            name,
            *(f"{value * 1e9:,.2f}" for value in by_scenario.values()),
            *(f"{value / floors[arms]:,.1f}" for arms, value in by_scenario.items()),
            *(f"{value / times['ucb'][arms]:,.2f}" for arms, value in by_scenario.items()),
        ]
        for name, by_scenario in times.items()
    ]
    header = [
        "",
        "ns a pull, 2 arms",
        "10 arms",
        "times the floor, 2 arms",
        "10 arms",
        "times our UCB, 2 arms",
        "10 arms",
    ]
    return table(header, rows)


def process_table() -> str:
    """Fresh processes: how soon a second one simulates, what a long horizon costs in time and memory."""
    start = "import dpbandits as dpb; dpb.simulate([dpb.UCB()], dpb.Bernoulli([0.9, 0.6]), horizon=100, runs=1, seed=1)"
    long = (
        "import time, math, dpbandits as dpb; p = dpb.DPUCBInt(epsilon=1, delta=math.exp(-10){options});"
        "dpb.simulate(p, dpb.Bernoulli([0.9, 0.6]), horizon={horizon}, runs=100, seed=1);"
        "print(time.process_time(), [x.split()[1] for x in open('/proc/self/status') if x.startswith('VmHWM')][0])"
    )
    rows = []
    cached(start)
    elapsed = seconds(lambda: cached(start))
    rows.append(["a second process, from start to end of a tiny simulation", f"{elapsed:.2f} s", ""])
    for name, options in (("dp-ucb-int", ""), ("dp-ucb-int, Corollary 3.2", ", accounting='corollary'")):
        for horizon in (10**6, 10**8):
            code = long.format(options=options, horizon=horizon)
            cached(code)
            cpu, memory = map(float, cached(code).split())
            rows.append(
                [f"{name}, 100 runs of {horizon:.0e} steps, CPU time", f"{cpu:.2f} s", f"{memory / 1024:.0f} MiB"]
            )
    return table(["whole processes, compiled code on disk", "time", "largest memory"], rows)


def cached(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@njit
def _numba_binomial(generator: Any, n: int, p: float, draws: int) -> int:
    total = 0
    for _ in range(draws):
        total += generator.binomial(n, p)
    return total


@njit
def _our_binomial(noise: Any, n: int, p: float, draws: int) -> int:
    total = 0
    for _ in range(draws):
        total += binomial(noise, n, p)
    return total


@njit
def _tabulated_binomial(tables: Any, noise: Any, n: int, draws: int) -> int:
    total = 0
    for _ in range(draws):
        total += from_tables(tables, 0, n, noise)
    return total


def binomial_table() -> str:
    noise, draws, rows = SeededNoise(1), 300_000, []
    for n, p in ((144, 0.9), (253, 0.9), (253, 0.6), (10_000, 0.6)):
        _numba_binomial(noise.generator, n, p, 1)
        _our_binomial(noise, n, p, 1)
        theirs = seconds(lambda n=n, p=p: _numba_binomial(noise.generator, n, p, draws)) / draws  # type: ignore[misc]
        mine = seconds(lambda n=n, p=p: _our_binomial(noise, n, p, draws)) / draws  # type: ignore[misc]
        row = [f"n = {n}, p = {p}", "", f"{mine * 1e9:.0f} ns", f"{theirs * 1e9:.0f} ns"]
        if n < 2**GROUPS:
            tables = alias_tables(np.array([p]))
            _tabulated_binomial(tables, noise, n, 1)
            duration = seconds(lambda n=n, at=tables: _tabulated_binomial(at, noise, n, draws))  # type: ignore[misc]
            row[1] = f"{duration / draws * 1e9:.0f} ns"
        rows.append(row)
    return table(["one binomial number", "from tables", "by rejection", "numba's Generator.binomial"], rows)


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, for the peers' threads too
    started = time.perf_counter()
    text = (
        f"One core, T = {HORIZON:,}, epsilon = 1, delta = e^-10, arms {{0.9, 0.6}} or ten of them.\n\n" + speed_table()
    )
    text += "\n" + binomial_table() + "\n" + process_table()
    write_section("Simulation", "speed.py", text)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
