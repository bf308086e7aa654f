"""audit: try to break a claim. Search neighbours and events with one part of the trials, test them with the other.

The test's statement holds whatever the search did: events are fixed before the first test trial, counts are bounded by
Clopper & Pearson, and the chance of a wrong bound is divided among events, directions and looks. A look is a point at
which a refutation may end the test; between looks nothing is decided.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.auditing.claims import claim_to_test
from dpbandits.auditing.epsilon_bounds import epsilon_bound, log_ratio
from dpbandits.auditing.horizons import telling_horizon
from dpbandits.auditing.search import search
from dpbandits.auditing.trials import Trials
from dpbandits.auditing.view import Candidate, View, ViewName
from dpbandits.auditing.views import VIEWS
from dpbandits.engine.driver import checked_workers
from dpbandits.policies.catalogue import is_ours
from dpbandits.policies.policy import Policy, validated_size
from dpbandits.privacy import Budget, Guarantee

FEWEST_TRIALS, MOST_TRIALS = 1000, 10**12
LONGEST = 2**17  # steps: every reward sequence of the search is in memory
_SEARCH_SHARE = 0.4
_EVENTS = 2
# Looks: the share of the test's trials at which each comes, and its share of the chance of a wrong bound.
_LOOKS = ((1 / 16, 0.1), (1 / 4, 0.2), (1.0, 0.7))


@dataclass(frozen=True)
class TestedEvent:
    """An event in the test: how often it happened with the rewards that make it likelier, and with their neighbours."""

    rewards: tuple[float, ...]
    neighbours: tuple[float, ...]
    position: int  # where they differ, from 1
    event: str
    hits: int
    neighbour_hits: int
    trials: int
    bound: float

    def ratio(self, delta: float) -> float:
        """The estimate of ln((p - delta) / p')."""
        return log_ratio(self.hits, self.neighbour_hits, self.trials, delta)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        names = {"hits": "found", "neighbour_hits": "other"}  # what they are called there
        return {names.get(name, name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    The epsilon of the policy is at least `lower_bound`, with this confidence. `explored` are the candidates of the
    search, which prove nothing. `most_trials` is how many runs were allowed, `trials` how many were played. `unscored`
    is the share of the runs with a release whose likelihood the releases view does not know; `is_telling` says whether
    it saw any run that is likelier with one of two neighbouring reward sequences than with the other.
    """

    policy: Policy
    view: ViewName
    arms: int
    horizon: int
    confidence: float
    seed: int
    most_trials: int
    trials: int
    on_gpu: bool
    claim: Guarantee
    proved: Guarantee | None
    lower_bound: float
    tested: tuple[TestedEvent, ...]
    explored: tuple[Candidate, ...]
    unscored: float = 0.0
    is_telling: bool = True

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, with this confidence."""
        return self.lower_bound > self.claim.epsilon

    @property
    def unknown(self) -> str | None:
        """Why nothing can be said about the claim; None if something can."""
        if self.refuted or self.is_telling:
            return None
        if self.unscored:
            return "noise is reserved and used in a way that the score of releases does not understand"
        return "no run was seen that one reward makes likelier, as if the horizon were too short"

    def __str__(self) -> str:
        from dpbandits.auditing.sentences import sentence

        return sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        return {
            **{"policy": repr(self.policy), "view": self.view, "arms": self.arms, "horizon": self.horizon},
            **{"confidence": self.confidence, "seed": self.seed, "trials": self.trials, "refuted": self.refuted},
            "claim": self.claim.to_dict(),
            "proved": None if self.proved is None else self.proved.to_dict(),
            "proved_by": None if self.proved is None else "dpbandits" if is_ours(self.policy) else "its author",
            **{"lower_bound": self.lower_bound, "unscored": self.unscored, "unknown": self.unknown},
            "tested": [tested.to_dict() for tested in self.tested],
        }

    @property
    def worst(self) -> TestedEvent | None:
        """The tested event with the largest bound; None if nothing was tested."""
        return max(self.tested, key=lambda tested: tested.bound, default=None)


def audit(
    policy: Policy,
    *,
    view: ViewName = "actions",
    arms: int = 2,
    horizon: int | None = None,
    trials: int = 10_000_000,
    confidence: float = 0.95,
    claim: Budget | None = None,
    smallest_mass: float = 1e-3,
    seed: int = 0,
    workers: int | None = None,
    gpu: bool | None = None,
    progress: bool | None = None,
) -> Audit:
    """Try to refute what a policy claims, from the arms it chooses or from everything it releases.

    Args:
        policy: what to attack. It is held to its published claim if it has one, else to what is proved for it.
        view: "actions", what everybody sees, or "releases", what a privacy engineer sees.
        arms: how many arms.
        horizon: steps per run; by default as few as its choices need to differ. All reward sequences of up to 8 steps
            are searched, longer ones by variation.
        trials: the most runs that are played, search and test together.
        confidence: of the lower bound on epsilon.
        claim: the budget to test, instead of the policy's own claim.
        smallest_mass: rarer events are not searched for.
        seed: the same seed gives the same numbers, on any number of cores.
        workers: how many cores; all of them by default.
        gpu: play on a GPU, whose random numbers are others; by default where there is one.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    Returns:
        The largest epsilon that could be shown (`lower_bound`), whether that refutes the claim, and the events that
        were tested.

    Raises:
        InvalidInput: a setting is outside its range, or there is no claim to test.
        MissingExtra: numba is not installed.

    >>> from dpbandits import UCB
    >>> result = audit(UCB(), claim=Budget(1.0), trials=100_000)
    >>> result.refuted, result.lower_bound
    (True, 5.6)
    """
    _validate.check_kind(Policy, "a policy, such as DPUCB(epsilon=1.0)", policy=policy)
    _validate.one_of(VIEWS, view=view)
    confidence = _validate.real("(0, 1)", confidence=confidence)
    trials = _validate.integer(f"[{FEWEST_TRIALS}, {MOST_TRIALS}]", trials=trials)
    smallest_mass = _validate.real("[0, 1)", smallest_mass=smallest_mass)
    seed = _validate.integer("[0, inf)", seed=seed)
    arms = _validate.integer("[1, 1000]", arms=arms)
    if gpu is not None:
        _validate.flag(gpu=gpu)
    workers = checked_workers(workers)
    if horizon is not None:
        horizon = _validate.integer(f"[1, {LONGEST}]", horizon=horizon)
    arms, horizon = validated_size(arms, telling_horizon(policy, arms) if horizon is None else horizon)
    tested_claim = claim_to_test(policy, horizon, claim)
    trials_played = 0

    def advance(more: int) -> None:
        nonlocal trials_played
        trials_played += more
        bar.advance(more)

    with Progress(trials, "trials", progress) as bar:
        bar.describe("searching")
        trials_of = Trials(policy, arms, horizon, seed, workers, gpu)
        budget = int(trials * _SEARCH_SHARE)
        planned_trials = max(1, (trials - budget) // (2 * _EVENTS))
        chosen_view = VIEWS[view](trials_of, tested_claim.delta, smallest_mass, planned_trials)
        search_result = search(chosen_view, horizon, budget, seed, tested_claim.epsilon, advance)
        bar.describe("testing")
        tested = _test(
            chosen_view, search_result.best[:_EVENTS], trials - trials_played, tested_claim, 1 - confidence, advance
        )
    return Audit(
        *(
            policy,
            view,
            arms,
            horizon,
            confidence,
            seed,
            trials,
            trials_played,
            trials_of.on_gpu,
            tested_claim,
            policy.guarantee(horizon),
        ),
        lower_bound=max((event.bound for event in tested), default=0.0),
        tested=tuple(tested),
        explored=tuple(search_result.explored),
        unscored=chosen_view.statistics.unscored_share,
        is_telling=chosen_view.statistics.is_telling,
    )


def _test(
    view: View,
    candidates: list[Candidate],
    trials: int,
    claim: Guarantee,
    alpha: float,
    advance: Callable[[int], None],
) -> list[TestedEvent]:
    """Count every candidate's event in fresh trials, and stop at a look that refutes the claim."""
    groups = dict.fromkeys(view.group(candidate) for candidate in candidates)
    counts = dict.fromkeys(candidates, (0, 0))
    bounds = dict.fromkeys(candidates, 0.0)
    trials_played = 0
    for number, (share, spent) in enumerate(_LOOKS):
        more = max(1, math.floor(trials * share / (2 * max(1, len(groups)))) - trials_played)
        trials_played += more
        for group in groups:
            group_candidates = [candidate for candidate in candidates if view.group(candidate) == group]
            for candidate, (hits, neighbour_hits) in zip(
                group_candidates, view.count(group_candidates[0].pair, group_candidates, more, number), strict=True
            ):
                counts[candidate] = counts[candidate][0] + hits, counts[candidate][1] + neighbour_hits
                bound = epsilon_bound(*counts[candidate], trials_played, claim.delta, alpha * spent / len(candidates))
                bounds[candidate] = max(bounds[candidate], bound)
            advance(2 * more)
        if max(bounds.values(), default=0.0) > claim.epsilon:
            break
    return [
        TestedEvent(
            rewards=tuple(candidate.sides[0].rewards.tolist()),
            neighbours=tuple(candidate.sides[1].rewards.tolist()),
            position=candidate.pair.position,
            event=view.describe(candidate),
            hits=counts[candidate][0],
            neighbour_hits=counts[candidate][1],
            trials=trials_played,
            bound=bounds[candidate],
        )
        for candidate in candidates
    ]
