"""The promise of row 0: the configuration of a bandit and what was proved of it, each checked again.

What follows from the settings by arithmetic is recomputed. What was calibrated when the bandit began is not: another
machine or version would find other numbers. It is taken as it stands, and its cost is recomputed and compared.
"""

from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import Any

from dpbandits import _validate
from dpbandits._validate import shown
from dpbandits.errors import InvalidInput
from dpbandits.live.blocks import Schedule, entering_limit, schedule_of
from dpbandits.live.checking.verdict import Unknown, Wrong, stated
from dpbandits.live.configuration import (
    FORMAT,
    Configuration,
    Terms,
    arm_names,
    check_delta,
    declared_horizon,
    settings_of,
)
from dpbandits.live.rewards import RewardScale
from dpbandits.live.units import validated_contributions
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import POLICIES, Block, Policy
from dpbandits.privacy import Budget, DiscreteLaplaceEvent, Guarantee, compose, group_guarantee, per_reward_budget
from dpbandits.privacy.budget import ONE_REWARD
from dpbandits.privacy.ledger import canonical_json
from dpbandits.privacy.rounding import MARGIN, ratio_up

TERMS = ("live_policy", "reward_guarantee", "guarantee")
# Machines round powers and Fourier transforms differently, and a figure that was stored is compared with one from here.
_SAME_PURE, _SAME = MARGIN, 1e-6
_MOST_COMPOSED = 1000  # releases of a user's policy that are composed one by one, which takes a second or two


@dataclass(frozen=True)
class Promise:
    """What row 0 lays down, and what it costs by our own accounting."""

    configuration: Configuration
    terms: Terms  # as written
    source: SecureNoise
    limit: int  # how many assignments can enter
    schedule: Schedule
    reward_cost: Guarantee  # of the whole schedule, recomputed
    cost_is_told: bool  # by the policy itself: its schedule is too long to be added up
    person_cost: Guarantee

    @property
    def is_cumulative(self) -> bool:
        """Whether a reward is in all later releases of its arm, and not in one alone."""
        second = self.block(1)
        return second is not None and second.first == 1

    @property
    def grid(self) -> int:
        """By how many steps of the grid one reward moves a sum at most."""
        return int(2**self.source.grid_bits)

    def block(self, number: int) -> Block | None:
        """Return block number 0, 1, ... of an arm; None after the end of the schedule."""
        return _block(self.schedule, number)

    def allows(self, claim: Budget) -> bool:
        """Tell whether the whole schedule is within a claim, at the delta of the claim if need be."""
        if not exceeds(self.person_cost, claim):
            return True
        budget = per_reward_budget(claim, self.configuration.contributions)
        try:
            cost = _cost_at(self, budget.delta)
        except InvalidInput:  # no bound is known at that delta
            return False
        return not exceeds(cost, budget)


def read_promise(content: dict[str, Any], kind: type[Policy] | None) -> Promise:
    """Return the promise of row 0, or raise Wrong or Unknown. A policy that is not one of ours comes as its class."""
    configuration = _configuration(content, kind)
    live = _live_policy(content["live_policy"], configuration)
    stored = [_guarantee(content[name], name) for name in TERMS[1:]]
    terms = Terms(live, *stored)
    source = SecureNoise(configuration.grid_bits)
    limit = entering_limit(configuration.horizon, source)
    schedule = schedule_of(live, limit, source)
    arms = len(configuration.arms)
    first = _block(schedule, 0)
    if first is None or arms * first.last > limit:
        raise Wrong(f"Row 0 has a horizon of {limit:,}, in which {arms} arms cannot all have their first release.")
    cost, is_told = _cost(configuration, terms, schedule)
    try:
        person = group_guarantee(cost, configuration.contributions)
    except InvalidInput as problem:
        raise Wrong(f"Row 0 promises nothing that can be kept: {problem}") from None
    promise = Promise(configuration, terms, source, limit, schedule, cost, is_told, person)
    _check_guarantees(promise)
    return promise


def exceeds(cost: Guarantee, allowed: Budget | Guarantee) -> bool:
    """Tell whether a cost is above what is allowed, by more than machines differ."""
    same = _SAME if cost.delta else _SAME_PURE
    return cost.epsilon > allowed.epsilon * (1 + same) or cost.delta > allowed.delta * (1 + _SAME_PURE)


# ---- what was asked for


def _configuration(content: dict[str, Any], kind: type[Policy] | None) -> Configuration:
    if not {"format", "policy"} <= content.keys():
        raise Unknown("Row 0 is no configuration of a Bandit, so nothing says which releases were allowed.")
    if content["format"] != FORMAT or type(content["format"]) is not int:
        raise Unknown(f"Row 0 has format={shown(content['format'])}, and this version reads {FORMAT}.")
    policy = _policy(content["policy"], kind)
    known = {field for field in content if field not in TERMS}
    try:
        configuration = Configuration(
            policy=policy,
            arms=arm_names(_listed(content["arms"])),
            horizon=declared_horizon(policy, content["horizon"]),
            rewards=RewardScale(
                tuple(_listed(content["reward_bounds"])),
                content["out_of_bounds"],
                content["default_reward"],
            ),
            contributions=validated_contributions(content["contributions"]),
            accept_delta=_validate.flag(accept_delta=content["accept_delta"]),
            grid_bits=SecureNoise(content["grid_bits"]).grid_bits,
        )
    except KeyError as problem:
        raise Wrong(f"Row 0 has no column {shown(*problem.args)}.") from None
    except InvalidInput as problem:
        raise Wrong(f"Row 0 cannot be that of a Bandit: {problem}") from None
    plain = configuration.to_dict()
    for column in sorted(known | plain.keys() | set(TERMS)):
        if column not in content:
            raise Wrong(f"Row 0 has no column {column!r}.")
        if column in TERMS:
            continue
        if column not in plain:
            raise Wrong(f"Row 0 has a column {shown(column)}, which is not known.")
        if not _same(content[column], plain[column]):
            raise Wrong(f"Row 0 has {column}={shown(content[column])}, where a Bandit writes {shown(plain[column])}.")
    return configuration


def _policy(settings: object, kind: type[Policy] | None) -> Policy:
    if not isinstance(settings, dict) or not isinstance(settings.get("name"), str):
        raise Wrong(f"Row 0 has policy={shown(settings)}, which names no policy.")
    name = settings["name"]
    if kind is not None and name != kind.name:
        raise InvalidInput(f"Expected policy={kind.__name__} to be the one of the ledger, {shown(name)}.")
    if kind is None and name not in POLICIES:
        raise Unknown(f"The policy {shown(name)} is none of ours: pass its class along.")
    return _made(kind or POLICIES[name], {key: value for key, value in settings.items() if key != "name"}, "policy")


def _live_policy(settings: object, configuration: Configuration) -> Policy:
    if not isinstance(settings, dict):
        raise Wrong(f"Row 0 has live_policy={shown(settings)}, which is no mapping of settings.")
    live = _made(type(configuration.policy), settings, "live_policy")
    if _is_ours(live):  # a user's policy may change what it likes: what that costs is recomputed
        for setting, given in settings_of(configuration.policy).items():
            if given is not None and setting not in ("epsilon", "delta") and not _same(settings[setting], given):
                raise Wrong(
                    f"Row 0 has {setting}={shown(settings[setting])} in live_policy and {shown(given)} in policy."
                )
    noise_grid = getattr(live, "grid_bits", configuration.grid_bits)
    if noise_grid != configuration.grid_bits:
        raise Wrong(f"Row 0 has a live_policy for grid_bits={noise_grid}, not {configuration.grid_bits}.")
    return live


def _made(kind: type[Policy], settings: dict[str, Any], column: str) -> Policy:
    try:
        policy = kind(**settings)
        is_same = _same(settings_of(policy), settings)
    except Exception as problem:  # noqa: BLE001  (a user's policy may raise anything)
        raise Wrong(f"Row 0 has settings in {column} that {kind.name} refuses: {str(problem)[:200]}") from None
    if not is_same:
        raise Wrong(f"Row 0 has other settings in {column} than {kind.name} writes.")
    return policy


def _is_ours(policy: Policy) -> bool:
    return POLICIES.get(policy.name) is type(policy)


def _listed(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f"Expected {shown(value)} to be a list.")
    return value


def _same(a: object, b: object) -> bool:
    """Tell whether two values are the same JSON: 1, 1.0 and true are three."""
    return canonical_json({"": a}) == canonical_json({"": b})


# ---- what it costs


def _block(schedule: Schedule, number: int) -> Block | None:
    try:
        return schedule.block(number)
    except Exception as problem:  # noqa: BLE001  (a user's policy may raise anything)
        raise Wrong(f"The schedule of row 0 cannot be made: {str(problem)[:200]}") from None


def _cost(configuration: Configuration, terms: Terms, schedule: Schedule) -> tuple[Guarantee, bool]:
    """Return what the whole schedule costs one reward, and whether we have only the policy's word for it."""
    try:
        told = terms.policy.guarantee(configuration.horizon)
    except Exception as problem:  # noqa: BLE001  (a user's policy may raise anything)
        raise Wrong(f"The schedule of row 0 has no guarantee: {str(problem)[:200]}") from None
    if told is None or not told.certified:
        raise Wrong(f"The policy {terms.policy.name} has no proved guarantee.")
    if _is_ours(terms.policy):
        return told, False
    added_up = _added_up(schedule, told.delta, 2**configuration.grid_bits)
    if added_up is None:
        return told, True
    return replace(added_up, horizon=told.horizon), False


def _added_up(schedule: Schedule, delta: float, grid: int) -> Guarantee | None:
    """Return what the blocks cost by our accountant; None if they are too many."""
    numbers = range(_MOST_COMPOSED + 1)
    blocks = [block for block in takewhile(bool, (_block(schedule, number) for number in numbers)) if block]
    if len(blocks) > _MOST_COMPOSED:
        return None
    if len(blocks) > 1 and blocks[1].first > 1:
        epsilon = max(ratio_up(1, block.scale) for block in blocks)
        return Guarantee(epsilon, theorem="one release of every reward", certified=True)
    return compose([DiscreteLaplaceEvent(block.scale * grid, grid) for block in blocks], delta)


def _cost_at(promise: Promise, delta: float) -> Guarantee:
    """Return what the whole schedule costs one reward at another delta."""
    policy, horizon = promise.terms.policy, promise.configuration.horizon
    if _is_ours(policy) and "delta" in {field.name for field in fields(policy)}:  # type: ignore[arg-type]
        # With its density written down, the schedule does not depend on delta.
        cost = replace(policy, delta=delta).guarantee(horizon)  # type: ignore[type-var]
        assert cost is not None
        return cost
    return _added_up(promise.schedule, delta, promise.grid) or promise.reward_cost


# ---- what was promised


def _guarantee(plain: object, column: str) -> Guarantee:
    try:
        stored = Guarantee.from_dict(plain)  # type: ignore[arg-type]
        is_same = isinstance(plain, dict) and _same(stored.to_dict(), plain) and isinstance(stored.theorem, str)
    except (InvalidInput, TypeError, KeyError):
        is_same = False
    if not is_same:
        raise Wrong(f"Row 0 has a {column} that is none: {shown(plain)}.")
    return stored


def _check_guarantees(promise: Promise) -> None:
    configuration, terms = promise.configuration, promise.terms
    people = configuration.contributions
    for column, stored, cost in (
        ("reward_guarantee", terms.one_reward, promise.reward_cost),
        ("guarantee", terms.person, promise.person_cost),
    ):
        if not stored.certified:
            raise Wrong(f"Row 0 has a {column} that is only claimed, not proved.")
        if stored.unit != cost.unit or stored.horizon != cost.horizon:
            raise Wrong(
                f"Row 0 has a {column} in {shown(stored.unit)} with horizon={stored.horizon}, "
                f"where its schedule has one in {cost.unit!r} with horizon={cost.horizon}."
            )
        if exceeds(cost, stored):
            raise Wrong(
                f"Row 0 promises {stated(stored)} in {stored.unit}, but its schedule costs up to {stated(cost)}."
            )
    assert terms.one_reward.unit == ONE_REWARD
    assert people == 1 or terms.person.unit != ONE_REWARD
    if _is_ours(terms.policy):
        allowed = Budget(configuration.policy.epsilon, getattr(configuration.policy, "delta", 0.0))  # type: ignore[attr-defined]
        if exceeds(terms.person, allowed):
            raise Wrong(
                f"Row 0 promises {stated(terms.person)}, which is more than its policy allows: {stated(allowed)}."
            )
    if not configuration.accept_delta:
        try:
            check_delta(terms.person.delta, configuration.horizon)
        except InvalidInput as problem:
            raise Wrong(f"Row 0 has a delta that was not accepted: {problem}") from None
