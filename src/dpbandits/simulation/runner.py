"""simulate: many runs of policies against an environment, compiled, over all cores, the same on any number of them."""

import os
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits.environments.base import Environment
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.mechanisms.state import allocate
from dpbandits.policies.base import FOREVER, MAX_HORIZON, Policy
from dpbandits.simulation.names import unique_names
from dpbandits.simulation.progress import Progress
from dpbandits.simulation.results import SimulationResult

CHECKPOINTS = 200
# A chunk of runs shares one generator, since making one costs as much as a short run. Chunks do not depend on the
# number of cores, and are small enough for progress to be seen.
_RUNS_PER_CHUNK = 64
_STEPS_PER_CHUNK = 2**24


def simulate(
    policies: Policy | Iterable[Policy] | Mapping[str, Policy],
    environment: Environment,
    *,
    horizon: int,
    runs: int,
    seed: int,
    workers: int | None = None,
    progress: bool | None = None,
) -> SimulationResult:
    """Play every policy `runs` times for `horizon` steps and return the regret.

    Args:
        policies: the policies to compare, or a mapping from names of your own to policies.
        environment: where rewards come from.
        horizon: steps per run. Regret is kept at log-spaced times only, so memory does not grow with it.
        runs: independent repetitions.
        seed: the same seed gives the same numbers, with any number of workers. The runs of a policy depend on the seed
            and on its own settings, not on the other policies; more runs begin with the same ones.
        workers: how many cores; all of them by default.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    >>> from dpbandits import UCB, Bernoulli
    >>> result = simulate([UCB()], Bernoulli([0.9, 0.6]), horizon=1000, runs=100, seed=1)
    >>> float(result.final_regret("ucb").mean())
    23.3
    """
    named = unique_names(policies)
    if not isinstance(environment, Environment):
        raise InvalidInput(f"Expected environment={environment!r} to be an Environment, such as Bernoulli([0.9, 0.6]).")
    horizon = _validate.integer(f"[1, {MAX_HORIZON}]", horizon=horizon)
    runs = _validate.integer("[1, 1000000000]", runs=runs)
    seed = _validate.integer("[0, inf)", seed=seed)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = cores if workers is None else _validate.integer("[1, 1024]", workers=workers)

    checkpoints = log_spaced(horizon, CHECKPOINTS)
    regrets, switches = {}, {}
    with Progress(len(named) * runs, progress) as bar, ThreadPoolExecutor(workers) as pool:
        for (name, policy), seeds in zip(named.items(), _seeds(seed, named.values()), strict=True):
            bar.describe(f"preparing {name}")
            job = Job(policy, environment, horizon, checkpoints)
            bar.describe(name)
            regrets[name], switches[name] = np.empty((runs, len(checkpoints))), np.empty(runs, dtype=np.int64)
            size = max(1, min(_RUNS_PER_CHUNK, _STEPS_PER_CHUNK // horizon))
            parts = [slice(first, min(first + size, runs)) for first in range(0, runs, size)]
            waiting = {
                pool.submit(job.play, child, regrets[name][part], switches[name][part]): part.stop - part.start
                for child, part in zip(seeds.spawn(len(parts)), parts, strict=True)
            }
            try:
                for finished in as_completed(waiting):
                    finished.result()
                    bar.advance(waiting[finished])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return SimulationResult(
        regrets,
        switches,
        checkpoints,
        policies=named,
        environment=repr(environment),
        means=environment.means,
        seed=seed,
    )


class Job:
    """One policy in one environment, compiled and ready for any number of runs."""

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        horizon: int,
        checkpoints: NDArray[np.int64],
        *,
        blocks: bool = True,
    ) -> None:
        from dpbandits.simulation.loop import player

        self._setup = policy.configure(environment.arms, horizon)
        self._environment = environment.configure()
        self._gaps = environment.gaps
        self._horizon = horizon
        self._longest_block = FOREVER if blocks else 1
        self._checkpoints = checkpoints
        self._play_runs = player(self._setup.params, self._state(), self._environment)
        self.play(np.random.SeedSequence(0), np.empty((0, len(checkpoints))))  # compiles, or loads from disk

    def play(
        self, seed: np.random.SeedSequence, regrets: NDArray[np.float64], switches: NDArray[np.int64] | None = None
    ) -> None:
        """Play one run per row of `regrets`; write regret at the checkpoints, and how often the arm changed."""
        self._play_runs(
            self._setup.params,
            self._state(),
            self._environment,
            self._gaps,
            SeededNoise(seed),
            self._horizon,
            self._longest_block,
            self._checkpoints,
            regrets,
            np.empty(len(regrets), dtype=np.int64) if switches is None else switches,
        )

    def _state(self) -> Any:
        return allocate(self._setup.state_class, self._setup.sizes, np.float64)


def log_spaced(horizon: int, points: int) -> NDArray[np.int64]:
    """Return about so many times from 1 to the horizon, both included, evenly spaced on a logarithmic scale."""
    spaced = np.geomspace(1, horizon, points).round().astype(np.int64)
    return np.unique(np.append(spaced[spaced < horizon], [1, horizon]))


def _seeds(seed: int, policies: Iterable[Policy]) -> list[np.random.SeedSequence]:
    """Return an independent seed for every policy, which depends on its own settings alone."""
    seen: dict[str, int] = {}
    seeds = []
    for policy in policies:
        settings = repr(policy)
        seen[settings] = seen.get(settings, 0) + 1
        key = (zlib.crc32(settings.encode()), seen[settings])
        seeds.append(np.random.SeedSequence(seed, spawn_key=key))
    return seeds
