"""Leaderboard: policies on many cases, ranked fairly: by their means, and by what happens in bad luck."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._extras import require_extras
from dpbandits._progress import Progress
from dpbandits.comparison.instances import Case
from dpbandits.comparison.welch import margin
from dpbandits.errors import InvalidInput
from dpbandits.policies import Policy
from dpbandits.simulation import RegretSummary
from dpbandits.simulation.parts import Parts
from dpbandits.theory.lower_bounds import asymptotic_constant

if TYPE_CHECKING:
    import pandas as pd

Contender = Callable[[float], Policy]  # a policy for an epsilon

_POINTS = 10  # in time: only the end counts here
_CONFIDENCE = 0.99


class Score(NamedTuple):
    """What one policy did on one case."""

    policy: str
    case: str
    arms: int
    epsilon: float
    horizon: int
    runs: int
    mean: float
    standard_error: float
    median: float
    percentile_99: float
    worst: float
    lower_bound: float  # C ln T, asymptotic: a mean can be below it
    proved: float  # the epsilon that is proved of the policy, infinite if none is
    linear: int  # runs with regret above T (smallest gap) / 2, as if they never found the best arm
    counted: int  # runs among which these were counted: all, where T (smallest gap) > 10 C ln T, or none

    @property
    def is_private(self) -> bool:
        """Whether the policy keeps the epsilon of the case."""
        return self.proved <= self.epsilon * (1 + 1e-9)


class Standing(NamedTuple):
    """What one policy did over all cases."""

    policy: str
    privacy: float  # the largest proved epsilon, as a multiple of what was asked for; infinite if none is proved
    cases: int
    ratio: float  # mean regret / lower bound, the geometric mean over the cases
    ratio_90: float  # the same, exceeded on one case in ten
    spread: float  # 99th percentile / median of a run, median over the cases
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

    def of(self, policy: str) -> list[Score]:
        """Return the scores of one policy."""
        if policy not in self.policies:
            raise InvalidInput(f"Expected policy={policy!r} to be one of {', '.join(self.policies)}.")
        return [score for score in self.scores if score.policy == policy]

    def standings(self) -> list[Standing]:
        """Return the policies over all cases: first those that keep epsilon, the smallest ratio to the bound first."""
        beaten = {policy: 0 for policy in self.policies}
        for rivals in self.by_case().values():
            for score in rivals:
                fair = [rival for rival in rivals if rival.is_private and rival is not score]
                beaten[score.policy] += any(is_worse(score, rival, len(fair)) for rival in fair)
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
    """Tell whether the mean is larger than the rival's with 99% confidence, for all of so many rivals together.

    Welch's t-test, one-sided, with Bonferroni's correction. A policy that loses for ever in one run of a thousand looks
    better than it is in any hundred runs that happen to miss it: no test on means can see that.
    """
    errors, runs = (score.standard_error, rival.standard_error), (score.runs, rival.runs)
    return score.mean - rival.mean > margin(errors, runs, 1 - (1 - _CONFIDENCE) / rivals)


def compare(
    contenders: Mapping[str, Contender],
    cases: Sequence[Case],
    *,
    horizon: int,
    runs: int,
    seed: int,
    workers: int | None = None,
    folder: str | PathLike[str] | None = None,
    show_progress: bool | None = None,
) -> Leaderboard:
    """Play every policy on every case and return how they did.

    The policy gets the arms in another random order in every run, so that none is lucky with the place of the best.

    Args:
        contenders: policies by name, each as a function of epsilon; one that is not private ignores it.
        cases: bandits with a privacy level each.
        horizon, runs, seed, workers: as in `simulate`.
        folder: where results are kept; called again with the same arguments it goes on from there.
        show_progress: whether to show a progress bar. None: on a terminal, after a second.

    >>> from dpbandits import UCB
    >>> from dpbandits.comparison import cases
    >>> board = compare({"ucb": lambda epsilon: UCB()}, cases(["paper"], [1.0]), horizon=1000, runs=10, seed=0)
    >>> [(score.case, score.lower_bound) for score in board.scores]
    [('2 arms, ε = 1', 8.58), ('10 arms, ε = 1', 86.6)]
    """
    if not contenders or not cases:
        raise InvalidInput("Expected at least one policy and one case to compare.")
    runs = _validate.integer("[2, 1000000000]", runs=runs)
    scores = []
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory()) if folder is None else folder
        bar = stack.enter_context(Progress(len(contenders) * len(cases) * runs, "runs", show_progress))
        parts = Parts(Path(place))
        parts.on_runs = bar.advance
        for name, contender in contenders.items():
            bar.describe(name)
            for case in cases:
                policy = made(name, contender, case.epsilon)
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
                scores.append(_score(name, case, proved_epsilon(policy, horizon), summary))
    return Leaderboard(tuple(scores))


def made(name: str, contender: Contender, epsilon: float) -> Policy:
    """Return the policy of a contender; anything else is refused."""
    policy = contender(epsilon) if callable(contender) else contender
    if not callable(contender) or not isinstance(policy, Policy):
        raise InvalidInput(f"Expected {name!r} to be a function of epsilon that returns a policy, not {contender!r}.")
    return policy


def proved_epsilon(policy: Policy, horizon: int) -> float:
    """Return the epsilon that is proved of a policy, infinity if none is."""
    guarantee = policy.guarantee(horizon)
    return guarantee.epsilon if guarantee is not None and guarantee.certified else math.inf


def _score(name: str, case: Case, proved: float, summary: RegretSummary) -> Score:
    horizon = summary.horizon
    gaps = max(case.means) - np.array(case.means)
    lower_bound = asymptotic_constant(case.means, case.epsilon) * math.log(horizon)
    smallest = float(gaps[gaps > 0].min(initial=math.inf))
    is_counted = horizon * smallest > 10 * lower_bound and smallest < math.inf
    return Score(
        policy=name,
        case=case.name,
        arms=len(case.means),
        epsilon=case.epsilon,
        horizon=horizon,
        runs=summary.runs,
        mean=float(summary.mean[-1]),
        standard_error=float(summary.standard_error[-1]),
        median=float(summary.quantile(0.5)[-1]),
        percentile_99=float(summary.quantile(0.99)[-1]),
        worst=float(summary.largest[-1]),
        lower_bound=lower_bound,
        proved=proved,
        linear=summary.runs_above(horizon * smallest / 2) if is_counted else 0,
        counted=summary.runs if is_counted else 0,
    )


def _standing(policy: str, scores: list[Score], beaten: int) -> Standing:
    ratios = _ratios([score.mean for score in scores], [score.lower_bound for score in scores])
    spreads = _ratios([score.percentile_99 for score in scores], [score.median for score in scores])
    counted = sum(score.counted for score in scores)
    return Standing(
        policy=policy,
        privacy=max(score.proved / score.epsilon for score in scores),
        cases=len(scores),
        ratio=float(np.exp(np.log(np.maximum(ratios, 1e-300)).mean())),
        ratio_90=_quantile(ratios, 0.9),
        spread=_quantile(spreads, 0.5),
        spread_95=_quantile(spreads, 0.95),
        linear=sum(score.linear for score in scores) / counted if counted else math.nan,
        beaten=beaten / len(scores),
    )


def _quantile(values: NDArray[np.float64], level: float) -> float:
    """Return one of the values: between a number and infinity there is nothing."""
    return float(np.quantile(values, level, method="inverted_cdf"))


def _ratios(above: Sequence[float], below: Sequence[float]) -> NDArray[np.float64]:
    return np.array([x / y if y > 0 else (1.0 if x == 0 else math.inf) for x, y in zip(above, below, strict=True)])
