"""plan: what privacy will cost an experiment, before it begins.

Arms that could plausibly be there are played many times, by every policy at every privacy level and once without
privacy. What counts is how many people get an arm that is not the best. The policy gets the arms in another random
order in every run: one that plays in phases opens with a fixed schedule, and in a short experiment the place of the
best arm would decide.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.comparison.advice import TOLERANCE, Answer, Plan, Shares
from dpbandits.comparison.leaderboard import Contender, made, proved_epsilon
from dpbandits.environments import Bernoulli
from dpbandits.errors import InvalidInput
from dpbandits.policies import IMED, Policy
from dpbandits.policies.base import every_step, hold
from dpbandits.simulation import RegretSummary
from dpbandits.simulation.runner import log_spaced, play_runs

NO_PRIVACY = "no privacy"
# Policies that decide at every step get fewer runs, so that an answer takes seconds; never fewer than these. With fewer
# still, the runs of a half may agree by chance, and seem to be sure.
_STEPS = 2e8
_FEWEST_RUNS = 20
_POINTS = 60


def plan(
    contenders: Mapping[str, Contender],
    means: ArrayLike,
    *,
    horizon: int,
    epsilons: Sequence[float],
    runs: int = 2000,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    workers: int | None = None,
    show_progress: bool | None = None,
) -> Plan:
    """Return what privacy will cost if the arms have these means.

    Args:
        contenders: policies by name, each as a function of epsilon.
        means: how often each arm succeeds, as far as one can guess. Their order does not matter: it is another one in
            every run.
        horizon: how many people the experiment has.
        epsilons: the privacy levels to ask about.
        runs: how often to play each policy. The policy of a level is chosen on one half of its runs and reported from
            the other. One that decides at every step is played less often.
        tolerance: how many people, as a share of all, privacy may cost without discussion.
        seed, workers: as in `simulate`.
        show_progress: whether to show a progress bar. None: on a terminal, after a second.

    >>> from dpbandits import recommended
    >>> asked = plan({"it": lambda epsilon: recommended(epsilon=epsilon)}, [0.6, 0.5], horizon=1000, epsilons=[1.0])
    >>> asked.best(1.0).policy, asked.lots
    ('it', 0.5)
    """
    environment = Bernoulli(np.sort(Bernoulli(means).means)[::-1])  # one question, however it is written
    if not environment.gaps.any():
        raise InvalidInput(f"Expected means={environment.means.tolist()} to differ: there is nothing to learn.")
    if not contenders or not len(epsilons):
        raise InvalidInput("Expected at least one policy and one epsilon.")
    levels = [_validate.real("[1e-06, inf)", epsilon=epsilon) for epsilon in epsilons]
    horizon = _validate.integer("[2, 100000000]", horizon=horizon)
    runs = _validate.integer(f"[{_FEWEST_RUNS}, 1000000]", runs=runs)
    tolerance = _validate.real("[0, 1]", tolerance=tolerance)
    asked: list[tuple[str, float, Policy]] = [(NO_PRIVACY, math.inf, IMED())]
    for name, contender in contenders.items():
        for epsilon in dict.fromkeys(levels):
            policy = made(name, contender, epsilon)
            proved = proved_epsilon(policy, horizon)
            if proved > epsilon * (1 + 1e-9):
                what = "nothing" if proved == math.inf else f"ε = {proved:g}"
                raise InvalidInput(f"Expected {name!r} to keep ε = {epsilon:g}, but {what} is proved of it.")
            asked.append((name, epsilon, policy))
    often = [_runs(policy, environment, horizon, runs) for *_, policy in asked]
    times = log_spaced(horizon, _POINTS)
    answers = []
    with Progress(sum(often), "runs", show_progress) as bar:
        for (name, epsilon, policy), number in zip(asked, often, strict=True):
            bar.describe(name)
            played = _Played(times, environment.gaps)
            chunks = play_runs(policy, environment, times, runs=number, seed=seed, shuffled=True, workers=workers)
            for chunk in chunks:
                played.add(chunk.regrets, chunk.misses)
                bar.advance(len(chunk.regrets))
            answers.append(played.answer(name, epsilon))
    return Plan(tuple(environment.means.tolist()), horizon, times, answers[0], tuple(answers[1:]), tolerance)


def _runs(policy: Policy, environment: Bernoulli, horizon: int, runs: int) -> int:
    params = policy.configure(environment.arms, horizon).params
    if hold.dispatch(type(params)) is not every_step:
        return runs
    return max(min(runs, _FEWEST_RUNS), min(runs, int(_STEPS / (horizon * environment.arms))))


class _Played:
    """The runs of one policy: every other one is for choosing, the rest is for reporting."""

    def __init__(self, times: NDArray[np.int64], gaps: NDArray[np.float64]) -> None:
        one_person = np.ones(1)
        self._misses = [RegretSummary(times, one_person) for _ in range(2)]
        self._regret = RegretSummary(times[-1:], gaps)
        self._done = 0

    def add(self, regrets: NDArray[np.float64], misses: NDArray[np.int64]) -> None:
        is_reported = (self._done + np.arange(len(regrets))) % 2 == 1
        self._done += len(regrets)
        for summary, chosen in zip(self._misses, (~is_reported, is_reported), strict=True):
            if chosen.any():
                summary.add(misses[chosen].astype(np.float64))
        if is_reported.any():
            self._regret.add(regrets[is_reported, -1:])

    def answer(self, name: str, epsilon: float) -> Answer:
        tried, reported = (_shares(summary) for summary in self._misses)
        misses = self._misses[1]
        return Answer(
            policy=name,
            epsilon=epsilon,
            worse=reported,
            tried=tried,
            regret=float(self._regret.mean[-1]),
            regret_error=float(self._regret.standard_error[-1]),
            curve=misses.mean / misses.checkpoints,
        )


def _shares(misses: RegretSummary) -> Shares:
    people = misses.horizon
    return Shares(
        runs=misses.runs,
        mean=float(misses.mean[-1]) / people,
        error=float(misses.standard_error[-1]) / people,
        unlucky=float(misses.quantile(0.99)[-1]) / people,
    )
