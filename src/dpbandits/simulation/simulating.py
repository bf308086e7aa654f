"""simulate: policies against each other, every run of them."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

from dpbandits._progress import Progress
from dpbandits.engine.seeds import copies_before
from dpbandits.environments.base import Environment
from dpbandits.policies.base import Policy
from dpbandits.simulation.names import unique_names
from dpbandits.simulation.parts import Parts
from dpbandits.simulation.results import SimulationResult
from dpbandits.simulation.runner import checked, log_spaced


def simulate(
    policies: Policy | Iterable[Policy] | Mapping[str, Policy],
    environment: Environment,
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
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
        workers: how many cores; all of them by default.
        folder: where runs are kept. Stopped at any time, the same call goes on where it was; one with more runs begins
            with those that are there.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    >>> from dpbandits import UCB, Bernoulli
    >>> result = simulate([UCB()], Bernoulli([0.9, 0.6]), horizon=1000, runs=100, seed=1)
    >>> float(result.final_regret("ucb").mean())
    22.8
    """
    named = unique_names(policies)
    horizon, runs, seed = checked(environment, horizon, runs, seed)
    regrets, switches = {}, {}
    with Progress(len(named) * runs, "runs", progress) as bar:
        parts = Parts(None if folder is None else Path(folder))
        parts.on_runs = bar.advance
        for (name, policy), copy in zip(named.items(), copies_before(named.values()), strict=True):
            bar.describe(name)
            regrets[name], switches[name] = parts.every_run(
                policy, environment, horizon=horizon, runs=runs, seed=seed, copy=copy, workers=workers
            )
    return SimulationResult(
        regrets,
        switches,
        log_spaced(horizon),
        policies=named,
        environment=repr(environment),
        means=environment.means,
        seed=seed,
    )
