"""Advice: what a plan's numbers mean for the people of an experiment, in plain words.

Every number comes with a margin: an interval of about 95% reaches that far to either side. About, since a run that
goes wrong once in a thousand may be missing among the runs. The policy of a level is chosen on one half of them and its
numbers are those of the other, so that the luckiest does not win. An experiment counts as long enough only if that
holds at the worse end of the interval.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._extras import require_extras
from dpbandits._statistics import mean_margin
from dpbandits.environments import Bernoulli, Environment
from dpbandits.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 0.01  # a cost of privacy, as a share of the people, that needs no discussion
_TOO_SHORT = 0.8  # of drawing lots: then nothing to speak of was learnt
_LIKE_LOTS = 0.95
_WEAK = 10.0  # of epsilon: e^10 times as likely
_LEVEL = 0.975  # either side of an interval of 95%


class Shares(NamedTuple):
    """Shares of people who get another arm than the best, over some runs."""

    runs: int
    mean: float
    error: float  # of the mean, one standard error
    unlucky: float  # in an unlucky run, one in a hundred
    unlucky_low: float  # an interval of 95% around that, by order statistics
    unlucky_high: float

    @property
    def margin(self) -> float:
        """How far the interval of 95% around the mean reaches."""
        return mean_margin([self.error], [self.runs], _LEVEL)


class Answer(NamedTuple):
    """What one policy does to the people of an experiment, on average over the runs."""

    policy: str
    epsilon: float  # infinite without privacy
    delta: float  # that is proved for it besides
    worse: Shares  # what is reported
    tried: Shares  # in the other half of the runs, on which the policy of a level is chosen
    regret: float  # rewards lost against giving everybody the best arm
    regret_error: float
    curve: NDArray[np.float64]  # share of people with another arm, among those so far

    @property
    def level(self) -> str:
        """The privacy level, in symbols."""
        return f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")

    @property
    def regret_margin(self) -> float:
        """How far the interval of 95% around the regret reaches."""
        return mean_margin([self.regret_error], [self.worse.runs], _LEVEL)


class Cost(NamedTuple):
    """How much larger a share of the people gets another arm than the best, because of privacy."""

    share: float
    margin: float


@dataclass(frozen=True)
class Plan:
    """The answers, and what they say."""

    environment: Environment
    horizon: int
    times: NDArray[np.int64]
    without: Answer
    answers: tuple[Answer, ...]
    tolerance: float = TOLERANCE

    @property
    def means(self) -> tuple[float, ...]:
        """The expected reward of every arm."""
        return tuple(self.environment.means.tolist())

    @property
    def title(self) -> str:
        """How many people there are, and which arms."""
        arms = "that succeed with" if isinstance(self.environment, Bernoulli) else "with mean rewards of"
        return f"{self.horizon:,} people, arms {arms} {means_text(self.means)}"

    @property
    def lots(self) -> float:
        """The share of people who would get another arm than the best by drawing lots."""
        return sum(mean < max(self.means) for mean in self.means) / len(self.means)

    @property
    def epsilons(self) -> list[float]:
        """The privacy levels that were asked about, the strictest first."""
        return sorted({answer.epsilon for answer in self.answers})

    def best(self, epsilon: float) -> Answer:
        """Return the answer with the fewest people on another arm than the best, at this privacy level.

        It is chosen by the half of the runs that is not reported. Of those that cannot be told apart there (2 standard
        errors) it is the one that does best in an unlucky run.
        """
        answers = [answer for answer in self.answers if answer.epsilon == epsilon]
        if not answers:
            levels = ", ".join(f"{level:g}" for level in self.epsilons)
            raise InvalidInput(f"Expected epsilon={epsilon} to be one of {levels}.")
        least = min((answer.tried for answer in answers), key=lambda tried: tried.mean)
        equals = [
            answer
            for answer in answers
            if answer.tried.mean - least.mean <= 2 * math.hypot(answer.tried.error, least.error)
        ]
        return min(equals, key=lambda answer: answer.tried.unlucky)

    def cost(self, answer: Answer) -> Cost:
        """Return what privacy costs; below zero where the policy is ahead of the yardstick, IMED."""
        ours, usual = answer.worse, self.without.worse
        return Cost(ours.mean - usual.mean, mean_margin([ours.error, usual.error], [ours.runs, usual.runs], _LEVEL))

    @property
    def recommendation(self) -> Answer | None:
        """The strictest level that costs no more than the tolerance, else the cheapest; None if nothing is learnt.

        Of levels that cannot be told apart from the cheapest it is the strictest.
        """
        learning = [best for best in map(self.best, self.epsilons) if not self.is_too_short(best)]
        for answer in learning:
            if self.cost(answer).share <= self.tolerance:
                return answer
        least = min((answer.worse for answer in learning), key=lambda worse: worse.mean, default=None)
        return next((answer for answer in learning if least and not _is_above(answer.worse, least)), None)

    def is_too_short(self, answer: Answer) -> bool:
        """Tell whether it is not clear that a fifth fewer people get a worse arm than by drawing lots."""
        return not self._is_below(_TOO_SHORT, answer)

    def _is_unclear(self, answer: Answer) -> bool:
        """Tell whether more runs could show that it is long enough after all."""
        return self.is_too_short(answer) and answer.worse.mean - answer.worse.margin <= _TOO_SHORT * self.lots

    def _is_below(self, part: float, answer: Answer) -> bool:
        """Tell whether it gives clearly fewer people another arm than the best than that part of drawing lots."""
        return answer.worse.mean + answer.worse.margin <= part * self.lots

    def sentences(self) -> list[str]:
        """Return what to tell people, one sentence per privacy level, then the recommendation."""
        return [*(self._sentence(self.best(epsilon)) for epsilon in self.epsilons), self._advice()]

    def _sentence(self, answer: Answer) -> str:
        ours, usual = answer.worse, self.without.worse
        text = (
            f"With {answer.level} ({answer.policy}), {self._people(ours.mean, ours.margin)} of "
            f"{self.horizon:,} people would get an arm that is not the best ({share_text(ours.mean, ours.margin)}), "
            f"against {self._people(usual.mean, usual.margin)} without privacy "
            f"({share_text(usual.mean, usual.margin)})"
        )
        if self.is_too_short(answer):
            return f"{text}: {self._too_short(answer)}"
        return f"{text}: privacy costs {self._price(self.cost(answer))}."

    def _too_short(self, answer: Answer) -> str:
        lots = f"drawing lots ({share_text(self.lots)})"
        if self._is_unclear(answer):
            return f"these runs cannot tell whether that is a fifth fewer than by {lots}, so play more of them."
        few = "less than a fifth fewer" if answer.worse.mean < self.lots else "no fewer"
        return f"{few} than by {lots}, so this experiment is too short."

    def _price(self, cost: Cost) -> str:
        price = f"{self._people(cost.share, cost.margin)} people, {share_text(*cost)} of all"
        if cost.share < -cost.margin:
            price += ", so it is ahead of IMED, the yardstick without privacy, which is not the best policy here"
        return price

    def _advice(self) -> str:
        answer = self.recommendation
        if answer is None:
            return self._hopeless()
        cost = self.cost(answer)
        what = f"{answer.level} and the policy '{answer.policy}'"
        weak = f" But an ε of {_WEAK:g} or more protects hardly anybody." if answer.epsilon >= _WEAK else ""
        if cost.share <= self.tolerance:
            hedge = "" if cost.share + cost.margin <= self.tolerance else ", as far as these runs can tell"
            return (
                f"Advice: {what}. Privacy then costs {self._price(cost)}; it is the strictest of these levels that "
                f"costs at most {share_text(self.tolerance)}{hedge}.{weak}"
            )
        costs = [self.cost(self.best(epsilon)) for epsilon in self.epsilons]
        is_sure = all(each.share - each.margin > self.tolerance for each in costs)
        finding = "each of these levels costs more than"
        if not is_sure:
            finding = "at none of these levels is it clear that privacy costs at most"
        is_cheapest = cost.share == min(each.share for each in costs)
        which = "The cheapest" if is_cheapest else "The strictest of those that may be the cheapest"
        return (
            f"Advice: {finding} {share_text(self.tolerance)} of the people. {which}, {what}, costs "
            f"{share_text(*cost)}: plan for {self._ways_out(answer.epsilon)}.{weak}"
        )

    def _ways_out(self, epsilon: float) -> str:
        """Return what would help; a larger ε only if none was tried that would still protect somebody."""
        ways = ["more people"] + ["fewer arms"] * (len(self.means) > 2)
        ways += ["a larger ε"] * (max(self.epsilons) <= epsilon < _WEAK / 2)
        return f"{', '.join(ways[:-1])} or {ways[-1]}" if len(ways) > 1 else ways[0]

    def _hopeless(self) -> str:
        if any(self._is_unclear(self.best(epsilon)) for epsilon in self.epsilons):
            return "Advice: play more runs. These cannot tell whether the experiment is long enough."
        text = "Advice: do not run it like this."
        if not any(self._is_below(_LIKE_LOTS, self.best(epsilon)) for epsilon in self.epsilons):
            text += " At none of these levels do clearly even 5% fewer people get a worse arm than by drawing lots."
        if self.is_too_short(self.without) and not self._is_unclear(self.without):
            return f"{text} It is too short without privacy, too: plan for {self._ways_out(math.inf)}."
        return f"{text} Plan for {self._ways_out(max(self.epsilons))}."

    def _people(self, share: float, margin: float) -> str:
        return value_with_margin(share * self.horizon, margin * self.horizon, most=1)

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per policy and privacy level."""
        require_extras("pandas")
        import pandas as pd

        rows = []
        for answer in (self.without, *self.answers):
            plain = {key: value for key, value in answer._asdict().items() if key not in ("worse", "tried", "curve")}
            reported = {"runs": answer.worse.runs, "worse": answer.worse.mean, "worse_error": answer.worse.error}
            worst = {"": answer.worse.unlucky, "_low": answer.worse.unlucky_low, "_high": answer.worse.unlucky_high}
            unlucky = {f"worse_99{end}": value for end, value in worst.items()}
            rows.append({**plain, **reported, **unlucky, "worse_tried": answer.tried.mean})
        return pd.DataFrame(rows)


def _is_above(one: Shares, other: Shares) -> bool:
    """Tell whether one share is clearly larger than another."""
    return one.mean - other.mean > mean_margin([one.error, other.error], [one.runs, other.runs], _LEVEL)


def value_with_margin(value: float, margin: float, most: int = 4, unit: str = "") -> str:
    """Return a value and its margin, both with the digits that the margin leaves; `most` is the most decimals.

    >>> value_with_margin(1234.5, 67.8), value_with_margin(0.01234, 0.00056)
    ('1,230 ± 70', '0.0123 ± 0.0006')
    >>> value_with_margin(66.7, 0.0), value_with_margin(-3.2, 11.0)
    ('66.7', '-3 ± 11')
    """
    if margin <= 0:
        text = f"{value:,.{most}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text) + unit
    decimals = -math.floor(math.log10(margin * 1.05))  # 0.95 and more is written as 1
    if margin * 10**decimals < 2:  # 1 or 2 would say too little of 1.4
        decimals += 1
    if 0 < abs(value) < margin:  # 3,000 ± 20,000 is not 0 ± 20,000
        decimals = max(decimals, min(0, -math.floor(math.log10(abs(value)))))
    decimals = min(decimals, most)
    digits = max(decimals, 0)
    return f"{round(value, decimals) + 0.0:,.{digits}f}{unit} ± {round(margin, decimals):,.{digits}f}{unit}"


def share_text(share: float, margin: float = 0.0) -> str:
    """Return a share, with its margin if it has one, as a percentage.

    >>> share_text(0.66667, 0.0123), share_text(0.01), share_text(2 / 3)
    ('66.7% ± 1.2%', '1%', '66.67%')
    """
    return value_with_margin(100 * share, 100 * margin, most=4 if margin else 2, unit="%")


def means_text(means: tuple[float, ...]) -> str:
    """Return means for a title, the best first, all of them if they are few."""
    ordered = sorted(means, reverse=True)
    if len(ordered) <= 8:
        return ", ".join(f"{mean:.6g}" for mean in ordered)
    return f"{ordered[0]:.6g} and {len(ordered) - 1} more from {ordered[1]:.6g} to {ordered[-1]:.6g}"
