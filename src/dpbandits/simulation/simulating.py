"""simulate: policies against each other, every run of them."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
from numpy.typing import NDArray

from dpbandits._progress import Progress
from dpbandits.environments.base import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies.base import Policy
from dpbandits.simulation.job import Job
from dpbandits.simulation.names import unique_names
from dpbandits.simulation.results import SimulationResult
from dpbandits.simulation.runner import CHECKPOINTS, checked, chunks_of, log_spaced, policy_seeds


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
    horizon, runs, seed, workers = checked(environment, horizon, runs, seed, workers)
    checkpoints = log_spaced(horizon, CHECKPOINTS)
    regrets, switches = {}, {}
    with Progress(len(named) * runs, "runs", progress) as bar, ThreadPoolExecutor(workers) as pool:
        for (name, policy), seeds in zip(named.items(), policy_seeds(seed, named.values()), strict=True):
            bar.describe(f"preparing {name}")
            job = Job(policy, environment, horizon, checkpoints)
            bar.describe(name)
            regrets[name], switches[name] = _room(runs, len(checkpoints))
            try:
                waiting = {
                    pool.submit(job.play, child, regrets[name][part], switches[name][part]): part.stop - part.start
                    for child, part in chunks_of(seeds, runs, horizon)
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


def _room(runs: int, points: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    try:
        return np.empty((runs, points)), np.empty(runs, dtype=np.int64)
    except MemoryError:
        needed = runs * points * 8 / 2**30
        raise InvalidInput(f"Expected runs={runs} to fit into memory, but they need {needed:.0f} GiB.") from None
