"""audit: try to break a claim. Search neighbours and events with one part of the trials, test them with the other.

The test's statement holds whatever the search did: events are fixed before the first test trial, counts are bounded by
Clopper & Pearson, and the chance of a wrong bound is divided among events, directions and looks. A look is a point at
which a refutation may end the test; between looks nothing is decided.
"""

import math
from dataclasses import dataclass

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.auditing.bounds import epsilon_bound, log_ratio
from dpbandits.auditing.claims import tested_claim
from dpbandits.auditing.horizons import telling_horizon
from dpbandits.auditing.pairs import Rewards
from dpbandits.auditing.search import search
from dpbandits.auditing.views import VIEWS, Candidate, View
from dpbandits.errors import InvalidInput
from dpbandits.policies.base import Policy, validated_size
from dpbandits.privacy import Budget, Guarantee
from dpbandits.simulation.trials import Trials

FEWEST_TRIALS = 1000
_SEARCH_SHARE = 0.3
_EVENTS = 2
# Shares of the test's trials after which it is looked at, and of the chance of a wrong bound that each look spends.
_LOOKS = ((1 / 16, 0.1), (1 / 4, 0.2), (1.0, 0.7))


@dataclass(frozen=True)
class Tested:
    """An event in the test: how often it came with the rewards that make it likelier, and with their neighbours."""

    rewards: Rewards
    neighbours: Rewards
    position: int
    event: str
    found: int
    other: int
    trials: int
    bound: float

    def ratio(self, delta: float) -> float:
        """The estimate of ln((p - delta) / p')."""
        return log_ratio(self.found, self.other, self.trials, delta)


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    `lower_bound` is an epsilon that the policy does not have less than, with the asked confidence. `explored` are the
    candidates of the search's last round, which prove nothing.
    """

    policy: Policy
    view: str
    arms: int
    horizon: int
    confidence: float
    seed: int
    asked: int
    trials: int
    claim: Guarantee
    proved: Guarantee | None
    lower_bound: float
    tested: tuple[Tested, ...]
    explored: tuple[Candidate, ...]

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, with the asked confidence."""
        return self.lower_bound > self.claim.epsilon

    @property
    def worst(self) -> Tested | None:
        """The event that shows most."""
        return max(self.tested, key=lambda tested: tested.bound, default=None)


def audit(
    policy: Policy,
    *,
    view: str = "actions",
    arms: int = 2,
    horizon: int | None = None,
    trials: int = 4_000_000,
    confidence: float = 0.95,
    claim: Budget | None = None,
    smallest_mass: float = 1e-3,
    seed: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Try to refute what a policy claims, from the arms it chooses or from everything it releases.

    Args:
        policy: what to attack. It is held to its published claim if it has one, else to what is proved of it.
        view: "actions", what everybody sees, or "releases", what a privacy engineer sees.
        arms: how many arms.
        horizon: steps per run; by default as few as its choices need to differ. All reward sequences of up to 8 steps
            are searched, longer ones by variation.
        trials: the most runs that are played, search and test together.
        confidence: of the lower bound on epsilon.
        claim: the budget to test, instead of the policy's own claim.
        smallest_mass: events that are less likely than that are not looked for.
        seed: the same seed gives the same audit, on any number of cores.
        workers: how many cores; all of them by default.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    >>> from dpbandits import UCB
    >>> found = audit(UCB(), claim=Budget(1.0), trials=100_000)
    >>> found.refuted, found.lower_bound
    (True, 5.3)
    """
    if not isinstance(policy, Policy):
        raise InvalidInput(f"Expected policy={policy!r} to be a policy, such as DPUCB(epsilon=1.0).")
    _validate.one_of(VIEWS, view=view)
    confidence = _validate.real("(0, 1)", confidence=confidence)
    trials = _validate.integer(f"[{FEWEST_TRIALS}, inf)", trials=trials)
    smallest_mass = _validate.real("[0, 1)", smallest_mass=smallest_mass)
    seed = _validate.integer("[0, inf)", seed=seed)
    arms = _validate.integer("[1, 1000]", arms=arms)
    if workers is not None:
        workers = _validate.integer("[1, 1024]", workers=workers)
    arms, horizon = validated_size(arms, telling_horizon(policy, arms) if horizon is None else horizon)
    stated = tested_claim(policy, horizon, claim)
    with Progress(trials, "trials", progress) as bar:
        bar.describe("searching")
        looked_at = VIEWS[view](Trials(policy, arms, horizon, seed, workers), stated.delta, smallest_mass)
        budget = int(trials * _SEARCH_SHARE)
        explored = search(looked_at, horizon, budget, seed, stated.epsilon, bar.advance)
        bar.describe("testing")
        tested, used = _test(looked_at, explored[:_EVENTS], trials - budget, stated, 1 - confidence, bar)
    return Audit(
        *(policy, view, arms, horizon, confidence, seed, trials, budget + used, stated, policy.guarantee(horizon)),
        lower_bound=max((event.bound for event in tested), default=0.0),
        tested=tuple(tested),
        explored=tuple(explored),
    )


def _test(
    view: View, candidates: list[Candidate], trials: int, claim: Guarantee, alpha: float, bar: Progress
) -> tuple[list[Tested], int]:
    """Count every candidate's event in fresh trials, and stop at a look that refutes the claim."""
    if not candidates:
        return [], 0
    each = trials // len(candidates) // 2
    counts = [(0, 0) for _ in candidates]
    bounds = [0.0 for _ in candidates]
    played = 0
    for number, (share, spent) in enumerate(_LOOKS):
        more = max(1, math.floor(each * share) - played)
        for place, candidate in enumerate(candidates):
            found, other = view.count(candidate, more, number)
            counts[place] = counts[place][0] + found, counts[place][1] + other
            one, two = counts[place]
            bound = epsilon_bound(one, two, played + more, claim.delta, alpha * spent / len(candidates))
            bounds[place] = max(bounds[place], bound)
            bar.advance(2 * more)
        played += more
        if max(bounds) > claim.epsilon:
            break
    tested = [
        Tested(*candidate.sides, candidate.pair.position, view.describe(candidate), *counted, played, bound)
        for candidate, counted, bound in zip(candidates, counts, bounds, strict=True)
    ]
    return tested, 2 * played * len(candidates)
