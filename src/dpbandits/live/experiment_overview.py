"""Overview: everything about a live bandit that may be shown, at one moment.

It is made of the configuration, of what was released, and of how many assignments every arm has had. Rewards, sums in
flight, how many answers are awaited, keys and names of people never get here, so nothing that is made of an overview
can show them: estimates, what was spent, the page, the figure, the tables, `dpbandits show`.
"""

from dataclasses import dataclass
from functools import cached_property

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.estimates import Comparison, Estimate, Estimator, Statistic, difference, interval
from dpbandits.live.learner import Learner
from dpbandits.live.restoration import is_restoration_row
from dpbandits.live.spent_budget import Spent, spent_on, worst_scales
from dpbandits.policies import Block
from dpbandits.privacy import Ledger, Row

Arm = str | int


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What may be shown of a bandit. Making one copies references; computing begins when something is asked."""

    configuration: Configuration
    terms: Terms
    ledger: Ledger
    assigned: int  # assignments
    assigned_to: tuple[int, ...]  # those of every arm; the texts of early versions lack some
    exhausted: bool
    blocks: tuple[Block, ...]  # of one arm's schedule, as far as any arm has had releases
    values: tuple[tuple[float, ...], ...]  # released sums of every arm
    steps: tuple[tuple[float, ...], ...]  # the scales of their noises, on the grid
    rounding: float  # by which a reward was changed at most on its way into the sums
    is_restored: bool = False  # from an earlier copy: releases may be missing, and all of the budget counts as spent

    @classmethod
    def of(cls, learner: Learner) -> "Overview":
        """Return what may be shown of a learner between two steps."""
        most = max(statistic.releases for statistic in learner.statistics)
        return cls(
            configuration=learner.configuration,
            terms=learner.terms,
            ledger=learner.ledger.copy(),
            assigned=learner.counts.assigned,
            assigned_to=tuple(learner.counts.assigned_to),
            exhausted=learner.counts.exhausted,
            blocks=tuple(learner.schedule.beginning(most)) if most else (),
            values=tuple(statistic.values for statistic in learner.statistics),
            steps=tuple(map(tuple, learner.steps)),
            rounding=learner.source.rounding,
            is_restored=learner.is_restored,
        )

    @property
    def releases(self) -> list[Row]:
        """The rows of the ledger that are releases."""
        return [row for row in self.ledger if row.number and not is_restoration_row(row)]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The names of the arms."""
        return self.configuration.arms

    @property
    def is_cumulative(self) -> bool:
        """Whether a release is of all rewards of its arm so far; where an arm has had two, they tell."""
        return len(self.blocks) > 1 and self.blocks[1].first == 1

    def estimates(self, confidence: float) -> dict[Arm, Estimate]:
        """Return the mean of every arm with its interval."""
        confidence = _validate.real("(0, 1)", confidence=confidence)
        return {arm: self.estimate(number, confidence) for number, arm in enumerate(self.arms)}

    def estimate(self, number: int, confidence: float, releases: int | None = None) -> Estimate:
        """Return the mean of one arm with its interval, as it is or as it was after `releases` releases of the arm."""
        statistic = Statistic(self._estimator, self.values[number][:releases])
        count, mean, weights = statistic.summary()
        low, high = interval(count, mean, weights, 1 - confidence, len(self.arms), self.rounding)
        to_units = self.configuration.rewards.from_unit
        rewards = self.blocks[count - 1].last if count else 0
        user_mean = to_units(mean) if count else None
        return Estimate(self.arms[number], user_mean, to_units(low), to_units(high), rewards, count)

    def compare(self, a: Arm, b: Arm, confidence: float) -> Comparison:
        """Tell whether arm b is better than arm a."""
        confidence = _validate.real("(0, 1)", confidence=confidence)
        numbers = self.configuration.arm_number(a), self.configuration.arm_number(b)
        if numbers[0] == numbers[1]:
            raise InvalidInput(f"Expected two different arms to compare, not {a!r} twice.")
        first, second = (self.estimate(number, confidence) for number in numbers)
        return difference(first, second, confidence)

    def spent(self) -> Spent:
        """Return the largest loss of any one reward so far; all of the budget where releases may be missing."""
        if self.is_restored:
            return Spent(self.terms.person.epsilon, self.terms.person.delta, self.terms.person.epsilon)
        return self.spent_in(self.steps)

    def spent_in(self, steps: tuple[tuple[float, ...], ...]) -> Spent:
        """Return the largest loss of any one reward in releases with these scales, given for every arm."""
        worst = worst_scales(steps, self.is_cumulative)
        return spent_on(worst, self.terms, self.configuration.contributions, 2**self.configuration.grid_bits)

    @cached_property
    def _estimator(self) -> Estimator:
        return Estimator(lambda releases: self.blocks[:releases])
