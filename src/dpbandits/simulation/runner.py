"""simulate: many runs of policies against an environment, compiled, over all cores, the same on any number of them."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.environments.base import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies.base import MAX_HORIZON, Policy
from dpbandits.simulation.job import Job
from dpbandits.simulation.names import unique_names
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
    22.8
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
    with Progress(len(named) * runs, "runs", progress) as bar, ThreadPoolExecutor(workers) as pool:
        for (name, policy), seeds in zip(named.items(), _seeds(seed, named.values()), strict=True):
            bar.describe(f"preparing {name}")
            job = Job(policy, environment, horizon, checkpoints)
            bar.describe(name)
            regrets[name], switches[name] = _room(runs, len(checkpoints))
            size = max(1, min(_RUNS_PER_CHUNK, _STEPS_PER_CHUNK // horizon))
            parts = [slice(first, min(first + size, runs)) for first in range(0, runs, size)]
            try:
                waiting = {
                    pool.submit(job.play, child, regrets[name][part], switches[name][part]): part.stop - part.start
                    for child, part in zip(seeds.spawn(len(parts)), parts, strict=True)
                }
                for finished in as_completed(waiting):
                    finished.result()
                    bar.advance(waiting[finished])
            except BaseException:  # Ctrl-C too
                pool.shutdown(wait=False, cancel_futures=True)
                job.stop()
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


def log_spaced(horizon: int, points: int) -> NDArray[np.int64]:
    """Return about so many times from 1 to the horizon, both included, evenly spaced on a logarithmic scale."""
    spaced = np.geomspace(1, horizon, points).round().astype(np.int64)
    return np.unique(np.append(spaced[spaced < horizon], [1, horizon]))


def _room(runs: int, points: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    try:
        return np.empty((runs, points)), np.empty(runs, dtype=np.int64)
    except MemoryError:
        needed = runs * points * 8 / 2**30
        raise InvalidInput(f"Expected runs={runs} to fit into memory, but they need {needed:.0f} GiB.") from None


def _seeds(seed: int, policies: Iterable[Policy]) -> list[np.random.SeedSequence]:
    """Return an independent seed for every policy, which depends on its own settings alone."""
    seen: dict[str, int] = {}
    seeds = []
    for policy in policies:
        settings = repr(policy)
        seen[settings] = seen.get(settings, 0) + 1
        key = int.from_bytes(hashlib.sha256(settings.encode()).digest()[:16])
        seeds.append(np.random.SeedSequence(seed, spawn_key=(key, seen[settings])))
    return seeds
