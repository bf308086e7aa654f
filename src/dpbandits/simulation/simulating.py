"""simulate: policies against each other, every run of them."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.engine.driver import checked_workers
from dpbandits.engine.seeds import copies_before
from dpbandits.environments.environment import Environment
from dpbandits.policies.policy import Policy
from dpbandits.simulation.names import unique_names
from dpbandits.simulation.parts import Parts
from dpbandits.simulation.results import SimulationResult
from dpbandits.simulation.runner import log_spaced, validated_run


def simulate(
    policies: Policy | Iterable[Policy] | Mapping[str, Policy],
    environment: Environment,
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
    plays: bool = False,
    workers: int | None = None,
    folder: str | PathLike[str] | None = None,
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
        plays: keep how often every arm was played over time, too; that takes as much memory again for every arm.
        workers: how many cores; all of them by default.
        folder: where runs are kept. Stopped at any time, the same call goes on where it was; one with more runs begins
            with those that are there.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    Raises:
        InvalidInput: a setting is outside its range, a kernel cannot be compiled, or a policy chooses an arm that does
            not exist.
        MissingExtra: numba is not installed.

    >>> from dpbandits import UCB, Bernoulli
    >>> result = simulate([UCB()], Bernoulli([0.9, 0.6]), horizon=1000, runs=100, seed=1)
    >>> float(result.final_regret("ucb").mean())
    22.8
    >>> result = simulate([UCB()], Bernoulli([0.9, 0.6]), horizon=1000, runs=100, seed=1, plays=True)
    >>> float(result.best_share("ucb")[-1]), float(result.best_probability("ucb")[-1])
    (0.924, 0.94)
    """
    named = unique_names(policies)
    horizon, runs, seed = validated_run(environment, horizon, runs, seed)
    plays, workers = _validate.flag(plays=plays), checked_workers(workers)
    rows = {}
    with Progress(len(named) * runs, "runs", progress) as bar:
        parts = Parts(None if folder is None else Path(folder))
        parts.on_runs = bar.advance
        for (name, policy), copy in zip(named.items(), copies_before(named.values()), strict=True):
            bar.describe(name)
            rows[name] = parts.every_run(
                policy, environment, horizon=horizon, runs=runs, seed=seed, copy=copy, plays=plays, workers=workers
            )
    return SimulationResult(
        rows,
        log_spaced(horizon),
        policies=named,
        environment=repr(environment),
        means=environment.means,
        seed=seed,
    )
