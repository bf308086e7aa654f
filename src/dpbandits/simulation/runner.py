"""play_runs and summarise: many runs of a policy, compiled, over all cores, the same on any number of them."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits._words import counted
from dpbandits.engine.seeds import seed_of_policy
from dpbandits.environments.base import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies.base import MAX_HORIZON, Policy
from dpbandits.simulation.job import Job
from dpbandits.simulation.names import unique_names
from dpbandits.simulation.summary import RegretSummary

CHECKPOINTS = 200
# A chunk of runs shares one generator, since making one costs as much as a short run. Chunks do not depend on the
# number of cores, and are small enough for progress to be seen.
_RUNS_PER_CHUNK = 64
_STEPS_PER_CHUNK = 2**24


def summarise(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
    shuffled: bool = False,
    workers: int | None = None,
    points: int = CHECKPOINTS,
    begun: RegretSummary | None = None,
    progress: bool | None = None,
) -> Iterator[RegretSummary]:
    """Play the same runs as `simulate` and yield their summary, again after every chunk of runs.

    It is one summary that grows; its memory does not grow. The last one has all runs.

    Args:
        policy: what is played.
        environment, horizon, runs, seed, workers, progress: as in `simulate`.
        shuffled: whether the policy gets the arms in another random order in every run.
        points: at about how many times regret is kept.
        begun: a summary that was left, saved and loaded again: with the same other arguments, or more runs, it goes on
            where it was, to the same bits. It must have whole chunks of runs, as all but the last one have.
    """
    horizon, runs, seed, workers = checked(environment, horizon, runs, seed, workers)
    checkpoints = log_spaced(horizon, _validate.integer("[1, 10000]", points=points))
    summary = RegretSummary(checkpoints, environment.gaps) if begun is None else begun
    if (
        summary.horizon != horizon
        or summary.runs > runs
        or (summary.runs < runs and summary.runs % runs_per_chunk(horizon))
    ):
        raise InvalidInput(
            f"Expected begun with {counted(summary.runs, 'run')} to be a summary of the same simulation."
        )
    if summary.runs == runs:
        unique_names(policy)  # checks it
        yield summary
        return
    played = play_runs(
        policy,
        environment,
        checkpoints,
        runs=runs,
        seed=seed,
        shuffled=shuffled,
        workers=workers,
        done=summary.runs,
    )
    with Progress(runs - summary.runs, "runs", progress) as bar:
        for chunk in played:
            summary.add(chunk.regrets)
            bar.advance(len(chunk.regrets))
            yield summary


class Runs(NamedTuple):
    """Some runs: a row for each, a column for every checkpoint."""

    regrets: NDArray[np.float64]
    misses: NDArray[np.int64]  # plays of arms that are not the best
    switches: NDArray[np.int64]  # how often the arm changed, a number for every run


def play_runs(
    policy: Policy,
    environment: Environment,
    checkpoints: NDArray[np.int64],
    *,
    runs: int,
    seed: int,
    shuffled: bool = False,
    workers: int | None = None,
    done: int = 0,
    copy: int = 0,
) -> Iterator[Runs]:
    """Yield the runs that are not done, chunk by chunk and in order, so that they are the same on any number of cores.

    The last checkpoint is the horizon. `copy` tells the same policy, played twice, apart.
    """
    unique_names(policy)  # checks it
    horizon, runs, seed, workers = checked(environment, int(checkpoints[-1]), runs, seed, workers)
    job = Job(policy, environment, horizon, checkpoints, shuffled=shuffled)

    def play(child: np.random.SeedSequence, part: slice) -> Runs:
        shape = part.stop - part.start, len(checkpoints)
        chunk = Runs(np.empty(shape), np.empty(shape, dtype=np.int64), np.empty(shape[0], dtype=np.int64))
        job.play(child, *chunk)
        return chunk

    todo = _chunks(seed_of_policy(seed, policy, copy), runs, horizon, done)
    waiting: deque[Future[Runs]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for child, part in islice(todo, workers + 1):  # so much ahead that no core waits, and no more
            waiting.append(pool.submit(play, child, part))
        while waiting:
            chunk = waiting.popleft().result()
            waiting.extend(pool.submit(play, child, part) for child, part in islice(todo, 1))
            yield chunk
    finally:
        job.stop()
        pool.shutdown(cancel_futures=True)


def checked(
    environment: Environment, horizon: int, runs: int, seed: int, workers: int | None
) -> tuple[int, int, int, int]:
    """Return horizon, runs, seed and the number of workers, all of them checked."""
    _validate.check_kind(Environment, "an Environment, such as Bernoulli([0.9, 0.6])", environment=environment)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return (
        _validate.integer(f"[1, {MAX_HORIZON}]", horizon=horizon),
        _validate.integer("[1, 1000000000]", runs=runs),
        _validate.integer("[0, inf)", seed=seed),
        cores if workers is None else _validate.integer("[1, 1024]", workers=workers),
    )


def runs_per_chunk(horizon: int) -> int:
    """Return how many runs share a generator: more runs begin with the same ones up to a whole number of chunks."""
    return max(1, min(_RUNS_PER_CHUNK, _STEPS_PER_CHUNK // horizon))


def _chunks(
    seeds: np.random.SeedSequence, runs: int, horizon: int, done: int = 0
) -> Iterator[tuple[np.random.SeedSequence, slice]]:
    """Yield the runs that are not done in chunks, each with the seed that `spawn` would give it."""
    size = runs_per_chunk(horizon)
    for first in range(done, runs, size):
        child = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, first // size))
        yield child, slice(first, min(first + size, runs))


def log_spaced(horizon: int, points: int = CHECKPOINTS) -> NDArray[np.int64]:
    """Return about so many times from 1 to the horizon, both included, evenly spaced on a logarithmic scale."""
    spaced = np.geomspace(1, horizon, points).round().astype(np.int64)
    return np.unique(np.append(spaced[spaced < horizon], [1, horizon]))
