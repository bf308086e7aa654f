"""The rows after row 0: that every release is the next one of its arm in the schedule, and what it cost.

An arm's releases are 1, 2, 3, ..., each once, in order; those of different arms come in any order. A row says which
mechanism was used, so what it cost follows from the row itself, and is compared with what the row says it cost.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.live.checking.assignment_ranges import AssignmentRange, fit_together
from dpbandits.live.checking.promise import Promise
from dpbandits.live.checking.recomputed_cost import MOST_COMPOSED
from dpbandits.live.checking.verdict import ArmSpent
from dpbandits.live.restoration import is_restoration, restoration_problem
from dpbandits.mechanisms.recording import MECHANISM_NAMES
from dpbandits.policies import Block
from dpbandits.policies.policy import MAX_HORIZON
from dpbandits.privacy import DiscreteLaplaceEvent, Guarantee, Row, compose, zcdp_epsilon
from dpbandits.privacy.accountant import BASIC, ZCDP
from dpbandits.privacy.rounding import above, ratio_up, sum_up

MECHANISM = MECHANISM_NAMES[DiscreteLaplaceEvent]
COLUMNS: dict[str, type] = {
    "arm": int,
    "count": int,
    "epsilon": float,
    "first": int,
    "last": int,
    "mechanism": str,
    "release": int,
    "scale": float,
    "sensitivity": int,
    "value": float,
}
# The noise source may step a scale up until OpenDP agrees, and machines differ in the last digit of a power.
_BELOW, _ABOVE = 1 - 2.0**-50, 1 + 2.0**-40
_LARGEST = 2**63  # of a sum in grid steps


@dataclass
class Releases:
    """The rows as far as they were read."""

    promise: Promise
    reasons: list[str] = field(default_factory=list)
    # By arm: the releases of every block, more than one if it was released again.
    events: dict[int, dict[int, list[DiscreteLaplaceEvent]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    ranges: dict[int, list[AssignmentRange]] = field(default_factory=lambda: defaultdict(list))
    is_restored: bool = False  # from an earlier copy, so that releases may be missing

    def read(self, rows: Iterable[Row]) -> None:
        """Check all rows after row 0."""
        for row in rows:
            content = row.content
            if is_restoration(content):
                self.is_restored = True
                problem = restoration_problem(content)
                self.reasons += [f"Row {row.number} {problem}"] if problem else []
                continue
            if self.is_restored:
                self.reasons.append(
                    f"Row {row.number} comes after the experiment was restored from an earlier copy: what it releases "
                    "may have been released before."
                )
            self.reasons += [f"Row {row.number} {problem}" for problem in self._problems(content)]
        ranges = [stretch for arm in self.ranges.values() for stretch in arm]
        entered = sum(stretch.holds for stretch in ranges)
        if entered > self.promise.limit:
            self.reasons.append(f"The releases hold {entered:,} rewards, and {self.promise.limit:,} may enter.")
        if not self.reasons and not fit_together(ranges):
            self.reasons.append("The first and last assignments of the rows leave no room for so many different ones.")

    def _problems(self, content: dict[str, Any]) -> list[str]:
        """Return what is wrong with a row. What it cost is counted all the same, where it can be."""
        if content.keys() != COLUMNS.keys():
            odd = ", ".join(value_text(column) for column in sorted(content.keys() ^ COLUMNS.keys())[:3])
            return [f"has other columns than a release: {odd} (missing or unknown)."]
        for column, kind in COLUMNS.items():
            if type(content[column]) is not kind:
                return [f"has {column}={value_text(content[column])}, which is not {_KINDS[kind]}."]
        arm, number = content["arm"], content["release"]
        arms = self.promise.configuration.arms
        if not 0 <= arm < len(arms):
            return [f"has arm={value_text(arm)}, and there are {len(arms)}, from 0 on."]
        expected = len(self.events[arm]) + 1
        try:
            self.events[arm][number].append(DiscreteLaplaceEvent(content["scale"], self.promise.grid))
        except InvalidInput:
            return [f"has scale={content['scale']}, which cannot be the scale of noise."]
        problems = self._noise_problems(content)
        if number != expected:
            return [*problems, f"is release {value_text(number)} of arm {arm}, where release {expected} comes next."]
        block = self.promise.block(number - 1)
        if block is None:
            return [*problems, f"is release {number} of arm {arm}, after the last one of the schedule."]
        return [*problems, *self._block_problems(content, block), *self._place_problems(content, block)]

    def _noise_problems(self, content: dict[str, Any]) -> Iterable[str]:
        grid, scale = self.promise.grid, content["scale"]
        if content["mechanism"] != MECHANISM:
            yield f"has mechanism={value_text(content['mechanism'])}, not {MECHANISM!r}."
        if content["sensitivity"] != grid:
            yield f"has sensitivity={value_text(content['sensitivity'])}, and one reward can move the sum by {grid}."
        if content["epsilon"] != ratio_up(grid, scale):
            yield f"has epsilon={content['epsilon']}, and its noise costs {ratio_up(grid, scale)}."
        steps = content["value"] * grid
        if not (abs(steps) < _LARGEST and steps.is_integer()):
            yield f"has value={content['value']}, which is not on the grid."

    def _block_problems(self, content: dict[str, Any], block: Block) -> Iterable[str]:
        scheduled = block.scale * self.promise.grid
        if not scheduled * _BELOW <= content["scale"] <= scheduled * _ABOVE:
            yield f"has scale={content['scale']}, and its release in the schedule has {scheduled}."
        count = block.last - block.first + 1
        if content["count"] != count:
            yield f"has count={value_text(content['count'])}, and its sum is one of {count} rewards."

    def _place_problems(self, content: dict[str, Any], block: Block) -> Iterable[str]:
        """What can be said about assignment numbers: the blocks of an arm fill one after the other."""
        first, last, ranges = content["first"], content["last"], self.ranges[content["arm"]]
        entered = block.last - self.promise.schedule.count(content["release"] - 1)  # in this block, not before
        ranges.append(AssignmentRange(first, last, entered))
        if not 1 <= first <= last <= MAX_HORIZON:
            numbers = f"first={value_text(first)} and last={value_text(last)}"
            yield f"has {numbers}, which cannot be the numbers of assignments."
        elif last > first if entered == 1 else last - first + 1 < entered:
            yield f"goes from assignment {first} to {last}, and {entered} entered."
        elif len(ranges) > 1 and first <= ranges[-2].last:
            yield f"begins at assignment {first}, before the release before it has ended, at {ranges[-2].last}."

    # ---- what they cost

    def spent(self) -> Guarantee | None:
        """Return what the rows cost the reward that lost most, by their own noise; None if that has no bound.

        With delta > 0 it is not proved: composition is for a number of releases that was fixed in advance, and how
        many an arm has had so far depends on what was released.
        """
        if self.is_restored and not self.reasons:
            return self.promise.reward_cost  # of the whole schedule, of which the missing ones are a part
        delta = self.promise.reward_cost.delta  # not what row 0 says, which may be anything larger
        worst = max(map(self._worst, self.events), key=_pure, default=[])
        if not worst:
            return Guarantee(0.0, horizon=None, theorem="nothing was released", proved=True)
        try:
            cost = compose(worst, delta) if len(worst) <= MOST_COMPOSED else self._quickly_composed(worst, delta)
        except (InvalidInput, OverflowError):
            return None
        return replace(cost, proved=cost.delta == 0)

    def _quickly_composed(self, worst: list[DiscreteLaplaceEvent], delta: float) -> Guarantee:
        costs = [Guarantee(_pure(worst), horizon=None, theorem=BASIC, proved=True)]
        if delta > 0:
            rho = above(sum_up(event.epsilon**2 for event in worst) / 2)
            costs.append(Guarantee(zcdp_epsilon(rho, delta), delta, horizon=None, theorem=ZCDP, proved=True))
            if not self.reasons:  # a beginning of the schedule costs no more than all of it
                costs.append(replace(self.promise.reward_cost, horizon=None))
        return min(costs, key=lambda cost: cost.epsilon)

    def by_arm(self) -> tuple[ArmSpent, ...]:
        """Return what the rows of every arm cost."""
        return tuple(
            ArmSpent(
                name,
                sum(map(len, self.events[arm].values())),
                sum(stretch.holds for stretch in self.ranges[arm]),
                _pure(self._worst(arm)),
            )
            for arm, name in enumerate(self.promise.configuration.arms)
        )

    def _worst(self, arm: int) -> list[DiscreteLaplaceEvent]:
        """Return the releases with the arm's reward that lost most."""
        blocks = self.events[arm].values()
        if self.promise.is_cumulative:
            return [event for events in blocks for event in events]
        return max(blocks, key=_pure, default=[])


def _pure(events: Iterable[DiscreteLaplaceEvent]) -> float:
    return sum_up(event.epsilon for event in events)


_KINDS = {int: "a whole number", float: "a number with a decimal point", str: "text"}
