"""plan: what privacy will cost an experiment, before it begins.

Arms that could plausibly be there are played many times, by every policy at every privacy level and once without
privacy. What counts is how many people get an arm that is not the best. The policy gets the arms in another random
order in every run: one that plays in phases opens with a fixed schedule, and in a short experiment the place of the
best arm would decide.
"""

import math
from collections.abc import Sequence
from contextlib import closing

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.comparison.advice import TOLERANCE, Answer, Plan, Shares
from dpbandits.comparison.contenders import (
    Contenders,
    contenders_by_name,
    is_within_level,
    policy_at,
    proved_delta,
    proved_epsilon,
)
from dpbandits.environments import Bernoulli, Environment
from dpbandits.environments.environment import block_sum, one_by_one
from dpbandits.errors import InvalidInput
from dpbandits.policies import IMED, Policy
from dpbandits.policies.policy import every_step, hold
from dpbandits.simulation import RegretSummary
from dpbandits.simulation.plays import Plays
from dpbandits.simulation.runner import log_spaced, played_chunks

NO_PRIVACY = "no privacy"
# Policies that decide at every step get fewer runs, so that an answer takes seconds; never fewer than these. With fewer
# still, the runs of a half may agree by chance, and seem to be sure.
_STEPS = 2e8
_FEWEST_RUNS = 20
_POINTS = 60


def plan(
    policies: Contenders,
    environment: Environment | ArrayLike,
    *,
    horizon: int,
    epsilons: Sequence[float] = (),
    runs: int = 2000,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Plan:
    """Return what privacy will cost if the arms are like these.

    The best arm is the one with the largest mean, also where rewards depend on time: with `Replay(..., order="given")`
    that is the best column of the whole table, which is played again and again.

    Args:
        policies: what `simulate` takes; in a mapping also functions of epsilon, which answer at every level. A plain
            policy answers at one level, the epsilon that is proved for it up to the horizon; if that is not among
            `epsilons`, it is added to them.
        environment: arms as far as one can guess, or a list of how often each succeeds. They come in another order in
            every run.
        horizon: how many people the experiment has.
        epsilons: the privacy levels to ask about.
        runs: how often to play each policy. The policy of a level is chosen on one half of its runs and reported from
            the other. One that decides at every step, or gets rewards that are drawn one by one, is played less often.
        tolerance: how many people, as a share of all, privacy may cost without discussion.
        seed, workers, progress: as in `simulate`.

    Returns:
        What every policy does at every level; `sentences` says it in plain words, and `recommendation` is the advice.

    Raises:
        InvalidInput: the means do not differ, or it is not proved for a policy that it keeps its level.
        MissingExtra: numba is not installed.

    >>> from dpbandits import recommended
    >>> answer = plan({"it": lambda epsilon: recommended(epsilon=epsilon)}, [0.6, 0.5], horizon=1000, epsilons=[1.0])
    >>> answer.best(1.0).policy, answer.lots
    ('it', 0.5)
    """
    if not isinstance(environment, Environment):
        environment = Bernoulli(np.sort(Bernoulli(environment).means)[::-1])  # one question, however it is written
    if not environment.gaps.any():
        raise InvalidInput(f"Expected means={environment.means.tolist()} to differ: there is nothing to learn.")
    horizon = _validate.integer("[2, 100000000]", horizon=horizon)
    runs = _validate.integer(f"[{_FEWEST_RUNS}, 1000000]", runs=runs)
    tolerance = _validate.real("[0, 1]", tolerance=tolerance)
    questions = [(NO_PRIVACY, math.inf, IMED()), *_with_levels(policies, epsilons, horizon)]
    runs_of_each = [_runs(policy, environment, horizon, runs) for *_, policy in questions]
    times = log_spaced(horizon, _POINTS)
    is_worse = (environment.gaps > 0).astype(np.int64)
    answers = []
    with Progress(sum(runs_of_each), "runs", progress) as bar:
        for (name, epsilon, policy), number in zip(questions, runs_of_each, strict=True):
            bar.describe(name)
            tally = _RunTally(times, environment.gaps)
            chunks = played_chunks(
                policy, environment, times, runs=number, seed=seed, kinds=is_worse, shuffled=True, workers=workers
            )
            with closing(chunks):
                for chunk in chunks:
                    assert isinstance(chunk, Plays)
                    tally.add(chunk.regrets, chunk.plays[:, :, 1])
                    bar.advance(len(chunk.regrets))
            answers.append(tally.answer(name, epsilon, proved_delta(policy, horizon)))
    return Plan(environment, horizon, times, answers[0], tuple(answers[1:]), tolerance)


def _with_levels(policies: Contenders, epsilons: Sequence[float], horizon: int) -> list[tuple[str, float, Policy]]:
    """Return every policy with the levels at which it answers, all of which it keeps."""
    levels = list(dict.fromkeys(_validate.real("[1e-06, inf)", epsilon=epsilon) for epsilon in epsilons))
    questions = []
    for name, contender in contenders_by_name(policies).items():
        if isinstance(contender, Policy):
            proved = proved_epsilon(policy_at(name, contender, math.inf), horizon)
            equal_levels = [
                level for level in levels if is_within_level(proved, level) and is_within_level(level, proved)
            ]
            own = [*equal_levels, proved][:1]
        else:
            own = levels
        if not own:
            raise InvalidInput(f"Expected at least one epsilon for {name!r}, which is a function of epsilon.")
        for epsilon in own:
            policy = policy_at(name, contender, epsilon)
            proved = proved_epsilon(policy, horizon)
            if proved == math.inf or not is_within_level(proved, epsilon):
                level = "an ε" if epsilon == math.inf else f"ε = {epsilon:g}"
                what = "nothing" if proved == math.inf else f"ε = {proved:g}"
                raise InvalidInput(f"Expected {name!r} to keep {level}, but {what} is proved for it.")
            questions.append((name, epsilon, policy))
    return questions


def _runs(policy: Policy, environment: Environment, horizon: int, runs: int) -> int:
    params = policy.configure(environment.arms, horizon).params
    is_slow = hold.dispatch(type(params)) is every_step
    if not is_slow and block_sum.dispatch(type(environment.configure())) is not one_by_one:
        return runs
    steps = horizon * (environment.arms if is_slow else 1)
    return max(min(runs, _FEWEST_RUNS), min(runs, int(_STEPS / steps)))


class _RunTally:
    """The runs of one policy: every other one is for choosing, the rest is for reporting."""

    def __init__(self, times: NDArray[np.int64], gaps: NDArray[np.float64]) -> None:
        one_person = np.ones(1)
        self._misses = [RegretSummary(times, one_person) for _ in range(2)]
        self._regret = RegretSummary(times[-1:], gaps)
        self._done = 0

    def add(self, regrets: NDArray[np.float64], misses: NDArray[np.int64]) -> None:
        is_reported = (self._done + np.arange(len(regrets))) % 2 == 1
        self._done += len(regrets)
        for summary, is_chosen in zip(self._misses, (~is_reported, is_reported), strict=True):
            if is_chosen.any():
                summary.add(misses[is_chosen].astype(np.float64))
        if is_reported.any():
            self._regret.add(regrets[is_reported, -1:])

    def answer(self, name: str, epsilon: float, delta: float) -> Answer:
        selection, reported = (_shares(summary) for summary in self._misses)
        misses = self._misses[1]
        return Answer(
            policy=name,
            epsilon=epsilon,
            delta=delta,
            worse=reported,
            tried=selection,
            regret=float(self._regret.mean[-1]),
            regret_error=float(self._regret.standard_error[-1]),
            curve=misses.mean / misses.checkpoints,
        )


def _shares(misses: RegretSummary) -> Shares:
    people = misses.horizon
    low, high = misses.quantile_interval(0.99)
    return Shares(
        runs=misses.runs,
        mean=float(misses.mean[-1]) / people,
        error=float(misses.standard_error[-1]) / people,
        unlucky=float(misses.quantile(0.99)[-1]) / people,
        unlucky_low=max(low / people, 0.0),
        unlucky_high=min(high / people, 1.0),
    )
