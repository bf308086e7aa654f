"""Plan: what privacy will cost an experiment, before it begins.

Arms that could plausibly be there are played many times, by every policy at every privacy level and once without
privacy. What counts is how many people get an arm that is not the best.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.comparison.instances import best_in_the_middle
from dpbandits.comparison.leaderboard import Contender, made, proved_epsilon
from dpbandits.environments import Bernoulli
from dpbandits.errors import InvalidInput
from dpbandits.policies import IMED, Policy
from dpbandits.policies.base import every_step, hold
from dpbandits.simulation import RegretSummary, summarise

if TYPE_CHECKING:
    import pandas as pd

NO_PRIVACY = "no privacy"
# Policies that decide at every step get fewer runs, so that an answer takes seconds; never fewer than these.
_STEPS = 2e8
_FEWEST_RUNS = 10
_POINTS = 60
_TOLERANCE = 0.01  # a cost of privacy, as a share of the people, that needs no discussion
_TOO_SHORT = 0.8  # of drawing lots: then nothing to speak of was learnt


class Answer(NamedTuple):
    """What one policy does to the people of an experiment, on average over the runs."""

    policy: str
    epsilon: float  # infinite without privacy
    runs: int
    regret: float  # rewards lost against giving everybody the best arm
    regret_error: float
    worse: float  # share of people who get another arm than the best
    worse_error: float
    worse_99: float  # that share in an unlucky run, one in a hundred
    curve: NDArray[np.float64]  # share of people with another arm, among the first so many


class _Counted(Bernoulli):
    """Bernoulli arms whose regret counts people: 1 for everybody who does not get a best arm."""

    @property
    def gaps(self) -> NDArray[np.float64]:
        return np.where(self.means < self.means.max(), 1.0, 0.0)


@dataclass(frozen=True)
class Plan:
    """The answers, and what they say."""

    means: tuple[float, ...]
    horizon: int
    times: NDArray[np.int64]
    without: Answer
    answers: tuple[Answer, ...]
    tolerance: float = _TOLERANCE

    @property
    def at_random(self) -> float:
        """The share of people who would get another arm than the best if nothing was learnt."""
        return sum(mean < max(self.means) for mean in self.means) / len(self.means)

    def best(self, epsilon: float) -> Answer:
        """Return the answer with the fewest people on another arm than the best, at this privacy level.

        Of those that cannot be told apart (2 standard errors) it is the one that does best in an unlucky run.
        """
        here = [answer for answer in self.answers if answer.epsilon == epsilon]
        if not here:
            known = ", ".join(f"{answer.epsilon:g}" for answer in self.answers)
            raise InvalidInput(f"Expected epsilon={epsilon} to be one of {known}.")
        least = min(here, key=lambda answer: answer.worse)
        alike = [
            answer
            for answer in here
            if answer.worse - least.worse <= 2 * math.hypot(answer.worse_error, least.worse_error)
        ]
        return min(alike, key=lambda answer: answer.worse_99)

    @property
    def epsilons(self) -> list[float]:
        """The privacy levels that were asked about, the strictest first."""
        return sorted({answer.epsilon for answer in self.answers})

    @property
    def recommendation(self) -> Answer | None:
        """The strictest level that costs no more than the tolerance, else the cheapest; None if nothing is learnt."""
        learning = [self.best(epsilon) for epsilon in self.epsilons if not self.is_too_short(self.best(epsilon))]
        for answer in learning:
            if answer.worse - self.without.worse <= self.tolerance:
                return answer
        return min(learning, key=lambda answer: answer.worse, default=None)

    def is_too_short(self, answer: Answer) -> bool:
        """Tell whether people would hardly be better off than by drawing lots."""
        return answer.worse > _TOO_SHORT * self.at_random

    def sentences(self) -> list[str]:
        """Return what to tell people, one sentence per privacy level, then the recommendation."""
        return [*(self._sentence(self.best(epsilon)) for epsilon in self.epsilons), self._advice()]

    def _sentence(self, answer: Answer) -> str:
        given, usual = answer.worse * self.horizon, self.without.worse * self.horizon
        text = (
            f"With ε = {answer.epsilon:g} ({answer.policy}), about {_people(given)} of {self.horizon:,} people would "
            f"get an arm that is not the best ({_share(answer.worse)}), against {_people(usual)} without privacy "
            f"({_share(self.without.worse)})"
        )
        if self.is_too_short(answer):
            few = "hardly fewer than" if answer.worse < self.at_random else "no fewer than"
            return f"{text}: {few} by drawing lots ({_share(self.at_random)}), so this experiment is too short."
        return f"{text}."

    def _advice(self) -> str:
        answer = self.recommendation
        if answer is None:
            return "Advice: do not run it like this. Plan for more people, fewer arms or a larger ε."
        cost = answer.worse - self.without.worse
        what = f"ε = {answer.epsilon:g} and the policy '{answer.policy}'"
        limit = _share(self.tolerance)
        if cost <= self.tolerance:
            price = f"costs about {_people(cost * self.horizon)} people, {_share(cost)} of all"
            if cost * self.horizon < 1:  # or less than nothing, by chance
                price = "costs less than one person"
            return f"Advice: {what}. Privacy then {price}; it is the strictest of these levels below {limit}."
        return (
            f"Advice: none of these levels costs less than {limit} of the people. The cheapest, {what}, "
            f"costs {_share(cost)}: plan for more people, fewer arms or a larger ε."
        )

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per policy and privacy level."""
        import pandas as pd

        rows = [{key: value for key, value in a._asdict().items() if key != "curve"} for a in self._all()]
        return pd.DataFrame(rows)

    def _all(self) -> list[Answer]:
        return [self.without, *self.answers]


def plan(
    contenders: Mapping[str, Contender],
    means: ArrayLike,
    *,
    horizon: int,
    epsilons: Sequence[float],
    runs: int = 400,
    tolerance: float = _TOLERANCE,
    seed: int = 0,
    workers: int | None = None,
    show_progress: bool | None = None,
) -> Plan:
    """Return what privacy will cost if the arms have these means.

    Args:
        contenders: policies by name, each as a function of epsilon.
        means: how often each arm succeeds, as far as one can guess. The best one is put in the middle: a policy that
            begins with the first arm must not look good because that happens to be the best.
        horizon: how many people the experiment has.
        epsilons: the privacy levels to ask about.
        runs: how often to play each policy. One that decides at every step is played less often.
        tolerance: how many people, as a share of all, privacy may cost without discussion.
        seed, workers: as in `simulate`.
        show_progress: whether to show a progress bar. None: on a terminal, after a second.

    >>> from dpbandits import recommended
    >>> asked = plan({"it": lambda epsilon: recommended(epsilon=epsilon)}, [0.6, 0.5], horizon=1000, epsilons=[1.0])
    >>> asked.best(1.0).policy, asked.at_random
    ('it', 0.5)
    """
    environment = Bernoulli(best_in_the_middle(Bernoulli(means).means.tolist()))
    if not environment.gaps.any():
        raise InvalidInput(f"Expected means={environment.means.tolist()} to differ: there is nothing to learn.")
    if not contenders or not len(epsilons):
        raise InvalidInput("Expected at least one policy and one epsilon.")
    levels = [_validate.real("[1e-06, inf)", epsilon=epsilon) for epsilon in epsilons]
    horizon = _validate.integer("[2, 100000000]", horizon=horizon)
    runs = _validate.integer("[2, 1000000]", runs=runs)
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
    steps = {"horizon": horizon, "seed": seed, "workers": workers, "points": _POINTS}
    gaps = np.unique(environment.gaps[environment.gaps > 0])
    total = (1 if len(gaps) == 1 else 2) * sum(_runs(policy, environment, horizon, runs) for *_, policy in asked)
    with Progress(total, "runs", show_progress) as bar:
        answers = []
        for name, epsilon, policy in asked:
            bar.describe(name)
            often = _runs(policy, environment, horizon, runs)
            people = _summary(policy, _Counted(environment.means), {**steps, "runs": often}, bar)
            if len(gaps) == 1:  # everybody with another arm loses the same
                regret, loss = people, float(gaps[0])
            else:  # the same runs once more, counted in rewards
                regret, loss = _summary(policy, environment, {**steps, "runs": often}, bar), 1.0
            answers.append(_answer(name, epsilon, people, regret, loss))
    times = people.checkpoints
    return Plan(tuple(environment.means.tolist()), horizon, times, answers[0], tuple(answers[1:]), tolerance)


def _runs(policy: Policy, environment: Bernoulli, horizon: int, runs: int) -> int:
    params = policy.configure(environment.arms, horizon).params
    if hold.dispatch(type(params)) is not every_step:
        return runs
    return max(min(runs, _FEWEST_RUNS), min(runs, int(_STEPS / (horizon * environment.arms))))


def _summary(policy: Policy, environment: Bernoulli, steps: dict[str, Any], bar: Progress) -> RegretSummary:
    done = 0
    for summary in summarise(policy, environment, **steps):
        bar.advance(summary.runs - done)
        done = summary.runs
    return summary


def _answer(name: str, epsilon: float, people: RegretSummary, regret: RegretSummary, loss: float) -> Answer:
    horizon = people.horizon
    return Answer(
        policy=name,
        epsilon=epsilon,
        runs=people.runs,
        regret=float(regret.mean[-1]) * loss,
        regret_error=float(regret.standard_error[-1]) * loss,
        worse=float(people.mean[-1]) / horizon,
        worse_error=float(people.standard_error[-1]) / horizon,
        worse_99=float(people.quantile(0.99)[-1]) / horizon,
        curve=people.mean / people.checkpoints,
    )


def _share(share: float) -> str:
    """Return a share as a percentage that is not rounded to nothing, or to all."""
    percent = 100 * share
    return f"{percent:.2f}%" if 0.01 <= percent <= 99.9 else f"{percent:.4g}%"


def shown_arms(means: Sequence[float]) -> str:
    """Return success rates for a title, the best first, all of them if they are few."""
    ordered = sorted(means, reverse=True)
    if len(ordered) <= 8:
        return ", ".join(f"{mean:.10g}" for mean in ordered)
    return f"{ordered[0]:.10g} and {len(ordered) - 1} more from {ordered[1]:.10g} to {ordered[-1]:.10g}"


def _people(number: float) -> str:
    """Return a number of people with as many digits as it deserves."""
    digits = max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return f"{round(number, -digits):,.0f}"
