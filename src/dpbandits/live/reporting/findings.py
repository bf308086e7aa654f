"""Findings: what an overview says about the arms, in words for people who are not statisticians.

The intervals of all arms hold together, so whatever follows from them holds with the same confidence: an arm whose
interval ends below where another one's begins is not the best.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile

from dpbandits._phrases import count_text
from dpbandits.live.estimates import Comparison, Estimate, difference
from dpbandits.live.experiment_overview import Overview
from dpbandits.policies.labels import label

CONFIDENCE = 0.95
_MAY_STAY = "Arms that seem worse get few people, so it may stay undecided for long; that is what a bandit is for."
_MORE = {
    "open": "More will be released as answers come in.",
    "sealed": "More will be released as windows close.",
}
_WAITING = "A block of assignments waits for its last answer, so assignments without an answer have to be closed."
NOTHING, DECIDED, UNDECIDED = "nothing released yet", "decided", "undecided"
_NAMED = 5  # arms in a sentence


def printable_text(text: object) -> str:
    """Return a text without anything that a terminal, a page or a picture could obey."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in str(text))


def shortened_name(name: str, longest: int) -> str:
    """Return a name cut in its middle, since long names often differ at their end alone."""
    if len(name) <= longest:
        return name
    end = longest // 3
    return f"{name[: longest - end - 1]}…{name[len(name) - end :]}"


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """Return names that can still be told apart: what all have in common at both ends is cut first.

    >>> short_names([f"headline number {i} of the spring campaign" for i in (7, 12)], 16)
    ['headline num…7…', 'headline num…12…']
    """
    different = sorted(set(names))
    if len(different) > 1 and any(len(name) > longest for name in different):
        begin = _shared(different)
        end = _shared([name[begin:][::-1] for name in different])
        own = {name: name[begin : len(name) - end] for name in different}
        room = max(longest - max(map(len, own.values())) - 2, 0)
        before = different[0][:begin] if begin <= room else f"{different[0][:room]}…"
        after = "…" if end else ""
        names = [f"{before}{own[name]}{after}" for name in names]
    return [shortened_name(name, longest) for name in names]


def _shared(texts: Sequence[str]) -> int:
    """Return with how many characters all texts begin alike: as many as the first and the last of them in order."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(min(texts), max(texts), strict=False)))


def enumeration(names: Sequence[str]) -> str:
    """Return names as a part of a sentence.

    >>> enumeration(["A", "B", "C"]), enumeration(["A"])
    ('A, B and C', 'A')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Findings:
    """An overview with its estimates, the arms that may be the best, and sentences about them."""

    def __init__(self, overview: Overview) -> None:
        self.overview = overview
        self.names = tuple(map(printable_text, overview.arms))
        self.estimates: tuple[Estimate, ...] = tuple(overview.estimates(CONFIDENCE).values())

    @property
    def releases(self) -> int:
        """How many releases there were."""
        return len(self.overview.releases)

    @cached_property
    def contenders(self) -> tuple[int, ...]:
        """The arms that may be the best one."""
        return tuple(number for number in range(len(self.names)) if self.may_be_best(number))

    @cached_property
    def _best_low(self) -> float:
        return max(estimate.low for estimate in self.estimates)

    def may_be_best(self, number: int) -> bool:
        """Tell whether no other arm's interval begins above the end of this one's."""
        return self.estimates[number].high >= self._best_low

    @cached_property
    def leader(self) -> int:
        """The arm with the best estimate, of those that may be the best."""
        return max(self.contenders, key=lambda number: _mean(self.estimates[number]))

    @property
    def state(self) -> str:
        """Whether it is known which arm is the best."""
        if not self.releases:
            return NOTHING
        return DECIDED if len(self.contenders) == 1 else UNDECIDED

    @cached_property
    def ranking(self) -> tuple[int, ...]:
        """All arms, those with the best estimates first; those without one at the end."""
        return tuple(sorted(range(len(self.names)), key=lambda number: -_mean(self.estimates[number])))

    def standing(self, number: int) -> str:
        """Return what can be said about one arm in a word or two."""
        if not self.releases:
            return "not known"
        if not self.may_be_best(number):
            return "not the best"
        if number == self.leader:
            return "the best" if self.state == DECIDED else "best so far"
        return "may be best"

    def comparison(self, number: int) -> Comparison:
        """Return what is known about the leader compared with another arm."""
        return difference(self.estimates[number], self.estimates[self.leader], CONFIDENCE)

    @property
    def status(self) -> str:
        """Which policy, how many assignments, how much was released."""
        assignments = count_text(self.overview.assigned, "assignment")
        arms, releases = count_text(len(self.names), "arm"), count_text(self.releases, "release")
        return (
            f"{printable_text(label(self.overview.configuration.policy))}: {assignments} to {arms}, {releases} so far."
        )

    @property
    def verdict(self) -> str:
        """What can be said about which arm is the best."""
        if self.state == NOTHING:
            return "Nothing has been released yet, so nothing can be said about the arms."
        leader = shortened_name(self.names[self.leader], 60)
        if self.state == DECIDED:
            return f"{leader} is the best arm, with 95% confidence."
        others = [shortened_name(self.names[number], 60) for number in self.contenders if number != self.leader]
        named = enumeration(others) if len(others) <= _NAMED else count_text(len(others), "other arm")
        is_all = len(others) == len(self.names) - 1
        rest = "" if is_all else " No other arm is the best, with 95% confidence."
        return (
            f"Which arm is the best is undecided, at 95% confidence. {leader} has the best estimate so far; "
            f"{named} may still be better.{rest}"
        )

    @property
    def prospect(self) -> str:
        """Whether more will be learnt."""
        if self.overview.is_restored:
            return (
                "It was restored from an earlier copy of its database, so releases may be missing here. There will be "
                "no more, and all of its budget counts as spent. People still get arms, based on what is left."
            )
        if not self.overview.exhausted:
            more = _MORE[self.overview.configuration.timing]
            if self.overview.configuration.window is None:
                more += f" {_WAITING}"
            return more if self.state != UNDECIDED else f"{more} {_MAY_STAY}"
        return (
            "It is exhausted: there will be no more releases. People still get arms, based on what was released; that "
            "costs nothing."
        )


def _mean(estimate: Estimate) -> float:
    return float("-inf") if estimate.mean is None else estimate.mean
