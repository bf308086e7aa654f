"""Leaderboard: policies on many cases, ranked by their means and compared by their unlucky runs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._extras import require_extras
from dpbandits._progress import Progress
from dpbandits._statistics import mean_margin
from dpbandits.comparison.contenders import (
    Contenders,
    contenders_by_name,
    is_within_level,
    policy_at,
    proved_delta,
    proved_epsilon,
)
from dpbandits.comparison.instances import Case, requested_cases
from dpbandits.environments import Bernoulli, Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies import Policy, is_ours
from dpbandits.simulation import RegretSummary
from dpbandits.simulation.parts import Parts
from dpbandits.theory.lower_bounds import asymptotic_constant

if TYPE_CHECKING:
    import pandas as pd

_POINTS = 10  # in time: only the end counts here
_CONFIDENCE = 0.99
FEWEST_FOR_99 = 100  # runs: what one in a hundred exceeds is not seen in fewer
_FEWEST_ALIKE = 20  # runs that all agree say nothing about their error; 20 miss an event of chance 1/5 in 1% of cases


class Score(NamedTuple):
    """What one policy did on one case."""

    policy: str
    case: str
    arms: int
    epsilon: float  # that was asked for, infinite if none was
    horizon: int
    runs: int
    mean: float
    standard_error: float
    median: float
    percentile_99: float
    worst: float
    yardstick: float  # C ln T of Bernoulli arms with these means: their asymptotic lower bound; a mean can be below it
    is_bernoulli: bool  # whether the arms are Bernoulli arms
    proved: float  # the epsilon that is proved for the policy, infinite if none is
    proved_delta: float  # and the delta that belongs to it
    is_ours: bool  # whether the policy is one of the library; else `proved` is what its author states
    linear: int  # runs with regret above T (smallest gap) / 2, as if they never found the best arm
    counted: int  # runs among which these were counted: all, where T (smallest gap) > 10 C ln T, or none

    @property
    def is_private(self) -> bool:
        """Whether the policy keeps the epsilon of the case."""
        return is_within_level(self.proved, self.epsilon)


class Standing(NamedTuple):
    """What one policy did over all cases."""

    policy: str
    privacy: float  # the largest proved epsilon, as a multiple of what was asked for; NaN if nothing was
    delta: float  # the largest proved delta
    is_ours: bool  # whether the policy is one of the library; else that is what its author states
    cases: int
    ratio: float  # mean regret / yardstick, the geometric mean over the cases
    ratio_90: float  # the same, exceeded on one case in ten
    spread: float  # 99th percentile / median of a run, median over the cases; NaN with too few runs to tell
    spread_95: float  # the same, exceeded on one case in twenty
    linear: float  # share of runs with linear regret, where that can be told
    beaten: float  # share of cases on which a policy that keeps epsilon is better with 99% confidence


@dataclass(frozen=True)
class Leaderboard:
    """The scores of all policies on all cases."""

    scores: tuple[Score, ...]

    def __add__(self, other: "Leaderboard") -> "Leaderboard":
        """Return both together."""
        return Leaderboard(self.scores + other.scores)

    @property
    def policies(self) -> list[str]:
        """The names, in the order in which they were given."""
        return list(dict.fromkeys(score.policy for score in self.scores))

    @property
    def yardstick(self) -> str:
        """What C ln T is: a lower bound for Bernoulli arms alone."""
        if all(score.is_bernoulli for score in self.scores):
            return "the asymptotic lower bound"
        return "that of Bernoulli arms with the same means"

    def of(self, policy: str) -> list[Score]:
        """Return the scores of one policy."""
        if policy not in self.policies:
            raise InvalidInput(f"Expected policy={policy!r} to be one of {', '.join(self.policies)}.")
        return [score for score in self.scores if score.policy == policy]

    def standings(self) -> list[Standing]:
        """Return the policies over all cases: first those that keep epsilon, the smallest ratio first."""
        beaten = {policy: 0 for policy in self.policies}
        for rivals in self.by_case().values():
            for score in rivals:
                private_rivals = [rival for rival in rivals if rival.is_private and rival is not score]
                beaten[score.policy] += any(is_worse(score, rival, len(private_rivals)) for rival in private_rivals)
        standings = [_standing(policy, self.of(policy), beaten[policy]) for policy in self.policies]
        return sorted(standings, key=lambda standing: (standing.privacy > 1 + 1e-9, standing.ratio))

    def by_case(self) -> dict[tuple[str, int], list[Score]]:
        """Return the scores that can be compared: of the same case and horizon."""
        grouped: dict[tuple[str, int], list[Score]] = {}
        for score in self.scores:
            grouped.setdefault((score.case, score.horizon), []).append(score)
        return grouped

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per policy and case."""
        require_extras("pandas")
        import pandas as pd

        return pd.DataFrame(self.scores, columns=list(Score._fields))


def is_worse(score: Score, rival: Score, rivals: int = 1) -> bool:
    """Tell whether the mean is larger than the rival's with 99% confidence, jointly for this number of rivals.

    Welch's t-test, one-sided, with Bonferroni's correction. A policy that loses for ever in one run of a thousand looks
    better than it is in any hundred runs that happen to miss it: no test on means can see that. Fewer than 20 runs that
    all agree are no evidence.
    """
    if any(each.standard_error == 0 and each.runs < _FEWEST_ALIKE for each in (score, rival)):
        return False
    errors, runs = (score.standard_error, rival.standard_error), (score.runs, rival.runs)
    return score.mean - rival.mean > mean_margin(errors, runs, 1 - (1 - _CONFIDENCE) / rivals)


def compare(
    policies: Contenders,
    cases: Case | Environment | Iterable[Case | Environment],
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
    epsilons: Sequence[float] | None = None,
    workers: int | None = None,
    folder: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> Leaderboard:
    """Play every policy on every case and return how they did.

    The policy gets the arms in another random order in every run, so that none is lucky with the place of the best.
    Regret is measured in C ln T, the asymptotic lower bound of Bernoulli arms with the same means. For other arms that
    is a yardstick and no bound.

    Args:
        policies: what `simulate` takes; in a mapping also functions of epsilon, which make the policy of every case. A
            plain policy is played on every case as it is, and its proved epsilon is compared with that of the case.
        cases: environments, each at every one of `epsilons`, or `Case`s, which bring a name and an epsilon.
        horizon, runs, seed, workers: as in `simulate`.
        epsilons: privacy levels, for functions of epsilon and for C. Default: none is asked for, and C is that without
            privacy.
        folder: where results are kept. Stopped at any time, the same call goes on where it was; one with more runs
            begins with those that are there.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    Returns:
        A score for every policy on every case; `standings` ranks them over all cases.

    Raises:
        InvalidInput: the means of a case do not differ, or a function of epsilon gets no epsilon.
        MissingExtra: numba is not installed.

    >>> from dpbandits import UCB, Bernoulli, recommended
    >>> from dpbandits.comparison import cases
    >>> board = compare(UCB(), cases(["paper"], [1.0]), horizon=1000, runs=10)
    >>> [(score.case, score.yardstick) for score in board.scores]
    [('2 arms, ε = 1', 8.58), ('10 arms, ε = 1', 86.6)]
    >>> private = {"it": lambda epsilon: recommended(epsilon=epsilon)}
    >>> board = compare(private, Bernoulli([0.6, 0.4]), epsilons=[0.5, 2.0], horizon=1000, runs=100)
    >>> [(score.case[-7:], score.mean) for score in board.scores]
    [('ε = 0.5', 17.4), (', ε = 2', 12.4)]
    """
    named, case_list = contenders_by_name(policies), requested_cases(cases, epsilons)
    for case in case_list:
        if not case.environment.gaps.any():
            raise InvalidInput(f"Expected the means of {case.name} to differ: there is nothing to compare.")
    runs = _validate.integer("[2, 1000000000]", runs=runs)
    scores = []
    with Progress(len(named) * len(case_list) * runs, "runs", progress) as bar:
        parts = Parts(None if folder is None else Path(folder))
        parts.on_runs = bar.advance
        for name, contender in named.items():
            bar.describe(name)
            for case in case_list:
                policy = policy_at(name, contender, case.epsilon)
                summary = parts.summary(
                    policy,
                    case.environment,
                    horizon=horizon,
                    runs=runs,
                    seed=seed,
                    shuffled=True,
                    workers=workers,
                    points=_POINTS,
                )
                scores.append(_score(name, case, policy, summary))
    return Leaderboard(tuple(scores))


def _score(name: str, case: Case, policy: Policy, summary: RegretSummary) -> Score:
    horizon, environment = summary.horizon, case.environment
    gaps = environment.gaps
    yardstick = asymptotic_constant(environment.means, case.epsilon) * math.log(horizon)
    smallest = float(gaps[gaps > 0].min(initial=math.inf))
    is_counted = horizon * smallest > 10 * yardstick and smallest < math.inf
    return Score(
        policy=name,
        case=case.name,
        arms=environment.arms,
        epsilon=case.epsilon,
        horizon=horizon,
        runs=summary.runs,
        mean=float(summary.mean[-1]),
        standard_error=float(summary.standard_error[-1]),
        median=float(summary.quantile(0.5)[-1]),
        percentile_99=float(summary.quantile(0.99)[-1]),
        worst=float(summary.largest[-1]),
        yardstick=yardstick,
        is_bernoulli=isinstance(environment, Bernoulli),
        proved=proved_epsilon(policy, horizon),
        proved_delta=proved_delta(policy, horizon),
        is_ours=is_ours(policy),
        linear=summary.runs_above(horizon * smallest / 2) if is_counted else 0,
        counted=summary.runs if is_counted else 0,
    )


def _standing(policy: str, scores: list[Score], beaten: int) -> Standing:
    ratios = _ratios([score.mean for score in scores], [score.yardstick for score in scores])
    spreads = _ratios([score.percentile_99 for score in scores], [score.median for score in scores])
    counted = sum(score.counted for score in scores)
    is_told = all(score.runs >= FEWEST_FOR_99 for score in scores)
    return Standing(
        policy=policy,
        privacy=max((score.proved / score.epsilon for score in scores if score.epsilon < math.inf), default=math.nan),
        delta=max(score.proved_delta for score in scores),
        is_ours=all(score.is_ours for score in scores),
        cases=len(scores),
        ratio=float(np.exp(np.log(np.maximum(ratios, 1e-300)).mean())),
        ratio_90=_quantile(ratios, 0.9),
        spread=_quantile(spreads, 0.5) if is_told else math.nan,
        spread_95=_quantile(spreads, 0.95) if is_told else math.nan,
        linear=sum(score.linear for score in scores) / counted if counted else math.nan,
        beaten=beaten / len(scores),
    )


def _quantile(values: NDArray[np.float64], level: float) -> float:
    """Return one of the values: between a number and infinity there is nothing."""
    return float(np.quantile(values, level, method="inverted_cdf"))


def _ratios(above: Sequence[float], below: Sequence[float]) -> NDArray[np.float64]:
    return np.array([x / y if y > 0 else (1.0 if x == 0 else math.inf) for x, y in zip(above, below, strict=True)])
