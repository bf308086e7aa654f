"""played_chunks and summarise: many runs of a policy, over all cores, the same on any number of them."""

from collections.abc import Generator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._phrases import count_text
from dpbandits._progress import Progress
from dpbandits.engine.driver import Driver, chunks_of
from dpbandits.engine.seeds import seed_of_policy
from dpbandits.environments.environment import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies.policy import MAX_HORIZON, Policy
from dpbandits.simulation.job import Job
from dpbandits.simulation.names import unique_names
from dpbandits.simulation.plays import Plays
from dpbandits.simulation.regrets import Regrets
from dpbandits.simulation.summary import RegretSummary

CHECKPOINTS = 200
# Chunks are small enough for progress to be seen.
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
) -> Generator[RegretSummary]:
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
    horizon, runs, seed = validated_run(environment, horizon, runs, seed)
    checkpoints = log_spaced(horizon, _validate.integer("[1, 10000]", points=points))
    if begun is not None:
        _validate.check_kind(RegretSummary, "a summary that was begun", begun=begun)
    _validate.check_kind(Policy, "a policy, such as DPUCB(epsilon=1.0)", policy=policy)
    unique_names(policy)  # checks it, too
    summary = RegretSummary(checkpoints, environment.gaps) if begun is None else begun
    if (
        summary.horizon != horizon
        or summary.runs > runs
        or (summary.runs < runs and summary.runs % runs_per_chunk(horizon))
    ):
        chunk_text = count_text(runs_per_chunk(horizon), "run")
        raise InvalidInput(
            f"Expected begun, with {count_text(summary.runs, 'run')} up to horizon={summary.horizon}, to be of the "
            f"same simulation: whole chunks of {chunk_text} up to horizon={horizon}, and at most runs={runs}."
        )
    if summary.runs == runs:
        yield summary
        return
    chunks = played_chunks(
        policy,
        environment,
        checkpoints,
        runs=runs,
        seed=seed,
        shuffled=shuffled,
        workers=workers,
        done=summary.runs,
    )
    with closing(chunks) as chunk_stream, Progress(runs - summary.runs, "runs", progress) as bar:
        for chunk in chunk_stream:
            summary.add(chunk.regrets)
            bar.advance(len(chunk.regrets))
            yield summary


def played_chunks(
    policy: Policy,
    environment: Environment,
    checkpoints: NDArray[np.int64],
    *,
    runs: int,
    seed: int,
    kinds: NDArray[np.int64] | None = None,
    shuffled: bool = False,
    workers: int | None = None,
    done: int = 0,
    copy: int = 0,
) -> Generator[Regrets | Plays]:
    """Yield the runs that are not done, chunk by chunk and in order, so that they are the same on any number of cores.

    The last checkpoint is the horizon. `kinds` are what arms are told apart by, if their plays are to be kept. `copy`
    tells the same policy, played twice, apart.
    """
    unique_names(policy)  # checks it
    horizon, runs, seed = validated_run(environment, int(checkpoints[-1]), runs, seed)
    driver = Driver(workers)
    job = Job(policy, environment, horizon, checkpoints, kinds=kinds, shuffled=shuffled)
    chunks = chunks_of(seed_of_policy(seed, policy, copy), runs, runs_per_chunk(horizon), done)
    yield from driver.results(job.play, chunks)


def validated_run(environment: Environment, horizon: int, runs: int, seed: int) -> tuple[int, int, int]:
    """Return horizon, runs and seed, all of them checked."""
    _validate.check_kind(Environment, "an Environment, such as Bernoulli([0.9, 0.6])", environment=environment)
    horizon = _validate.integer(f"[1, {MAX_HORIZON}]", horizon=horizon)
    environment.check_horizon(horizon)
    return (
        horizon,
        _validate.integer("[1, 1000000000]", runs=runs),
        _validate.integer("[0, inf)", seed=seed),
    )


def runs_per_chunk(horizon: int) -> int:
    """Return how many runs share a generator: more runs begin with the same ones up to a whole number of chunks."""
    return max(1, min(_RUNS_PER_CHUNK, _STEPS_PER_CHUNK // horizon))


def log_spaced(horizon: int, points: int = CHECKPOINTS) -> NDArray[np.int64]:
    """Return about `points` times from 1 to the horizon, both included, evenly spaced on a logarithmic scale."""
    times = np.geomspace(1, horizon, points).round().astype(np.int64)
    return np.unique(np.append(times[times < horizon], [1, horizon]))
