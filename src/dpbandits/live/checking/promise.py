"""The promise of row 0: the configuration of a bandit and what was proved for it, each checked again.

What follows from the settings by arithmetic is recomputed. What was calibrated when the bandit began is not: another
machine or version would find other numbers. It is taken as it stands, and its cost is recomputed and compared.
"""

from dataclasses import dataclass
from typing import Any

from dpbandits import _validate
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.live.arms import arm_names
from dpbandits.live.blocks import Schedule, entering_limit, schedule_of
from dpbandits.live.checking.recomputed_cost import block_of, whole_cost, whole_cost_at
from dpbandits.live.checking.verdict import BrokenPromise, Undecidable, cost_text, distinct_texts
from dpbandits.live.configuration import (
    FORMATS,
    Configuration,
    Terms,
    check_delta,
    declared_horizon,
    read_sticky,
    read_timing,
)
from dpbandits.live.names_on_disk import (
    current_form,
    current_live_settings,
    guarantee_from,
    settings_of,
    written_guarantee,
)
from dpbandits.live.reward_scale import RewardScale
from dpbandits.live.schedule_cost import budget_of, exceeds, person_follows
from dpbandits.live.units import validated_contributions
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import POLICIES, Block, DPUCBInt, Policy, is_ours
from dpbandits.privacy import Budget, Guarantee, group_guarantee, per_reward_budget
from dpbandits.privacy.budget import ONE_REWARD
from dpbandits.privacy.ledger import canonical_json
from dpbandits.privacy.rounding import MARGIN

TERMS = ("live_policy", "reward_guarantee", "guarantee")
# Machines round powers and Fourier transforms differently, and a figure that was stored is compared with one from here.
_SAME_POWERS, _SAME_TRANSFORMS = MARGIN, 1e-6


@dataclass(frozen=True)
class Promise:
    """What row 0 lays down, and what it costs by our own accounting."""

    configuration: Configuration
    terms: Terms  # as written
    source: SecureNoise
    limit: int  # how many assignments can enter
    schedule: Schedule
    reward_cost: Guarantee  # of the whole schedule, recomputed
    is_cost_taken_on_trust: bool  # by the policy itself: its schedule is too long to be added up
    person_cost: Guarantee

    @property
    def is_cumulative(self) -> bool:
        """Whether a reward is in all later releases of its arm, and not in one alone."""
        return self.schedule.is_cumulative

    @property
    def tolerance(self) -> float:
        """How much two machines may differ about the cost, relatively: one release of every reward is exact."""
        if self.reward_cost.delta:
            return _SAME_TRANSFORMS
        return _SAME_POWERS if self.is_cumulative else 0.0

    @property
    def grid(self) -> int:
        """By how many steps of the grid one reward moves a sum at most."""
        return int(2**self.source.grid_bits)

    def block(self, number: int) -> Block | None:
        """Return block number 0, 1, ... of an arm; None after the end of the schedule."""
        return block_of(self.schedule, number)

    def allows(self, claim: Budget) -> bool:
        """Tell whether the whole schedule is within a claim, at the delta of the claim if need be.

        What counts is the cost as it is recomputed here, without a tolerance, whatever row 0 promises.
        """
        if not exceeds(self.person_cost, claim):
            return True
        budget = per_reward_budget(claim, self.configuration.contributions)
        cost = self.reward_cost_at(budget.delta)
        return cost is not None and not exceeds(cost, budget)

    def reward_cost_at(self, delta: float) -> Guarantee | None:
        """Return what the whole schedule costs one reward at another delta; None if no bound is known there."""
        if delta == self.reward_cost.delta:  # known already, and a long schedule takes seconds
            return self.reward_cost
        try:
            horizon = self.configuration.horizon
            return whole_cost_at(self.terms.policy, horizon, self.schedule, self.grid, delta)
        except InvalidInput:
            return None


def read_promise(content: dict[str, Any], kind: type[Policy] | None) -> Promise:
    """Return the promise of row 0; `kind` is the class of a policy that is not one of ours.

    Raises:
        BrokenPromise: row 0 cannot be right.
        Undecidable: nothing can be told from it.
    """
    configuration = _configuration(content, kind)
    live_policy = _live_policy(content["live_policy"], configuration)
    guarantees = [_guarantee(content[name], name, configuration.file_format) for name in TERMS[1:]]
    terms = Terms(live_policy, *guarantees)
    source = SecureNoise(configuration.grid_bits)
    limit = entering_limit(configuration.horizon, source)
    schedule = schedule_of(live_policy, limit, source, configuration.scale_bits)
    arms = len(configuration.arms)
    try:
        first = block_of(schedule, 0)
    except BrokenPromise as problem:
        if is_ours(live_policy):
            raise
        raise Undecidable(f"{problem} Is {type(live_policy).__name__} the class that ran?") from None
    if first is None or arms * first.last > limit:
        raise BrokenPromise(
            f"Row 0 has a horizon of {limit:,}, in which {arms} arms cannot all have their first release."
        )
    cost, is_taken_on_trust = whole_cost(live_policy, configuration.horizon, schedule, 2**configuration.grid_bits)
    try:
        person = group_guarantee(cost, configuration.contributions)
    except InvalidInput as problem:
        raise BrokenPromise(f"Row 0 promises nothing that can be kept: {problem}") from None
    promise = Promise(configuration, terms, source, limit, schedule, cost, is_taken_on_trust, person)
    _check_guarantees(promise)
    return promise


# ---- what was asked for


def _configuration(content: dict[str, Any], kind: type[Policy] | None) -> Configuration:
    if not {"format", "policy"} <= content.keys():
        raise Undecidable("Row 0 is not the configuration of a Bandit, so nothing says which releases were allowed.")
    if content["format"] not in FORMATS or type(content["format"]) is not int:
        raise Undecidable(
            f"Row 0 has format={value_text(content['format'])}, and this version reads {FORMATS[-1]} and before."
        )
    policy = _policy(content["policy"], kind, content["format"])
    columns = {field for field in content if field not in TERMS}
    try:
        arms = arm_names(_checked_list(content["arms"]))
        configuration = Configuration(
            policy=policy,
            arms=arms,
            horizon=declared_horizon(policy, content["horizon"]),
            rewards=RewardScale(
                tuple(_checked_list(content["reward_bounds"])),
                content["out_of_bounds"],
                content["default_reward"],
            ),
            contributions=validated_contributions(content["contributions"]),
            accept_delta=_validate.flag(accept_delta=content["accept_delta"]),
            grid_bits=SecureNoise(content["grid_bits"]).grid_bits,
            sticky=read_sticky(content),
            **read_timing(content, arms),
            file_format=content["format"],
        )
    except KeyError as problem:
        raise BrokenPromise(f"Row 0 has no column {value_text(*problem.args)}.") from None
    except InvalidInput as problem:
        raise BrokenPromise(f"Row 0 cannot be that of a Bandit: {problem}") from None
    plain = configuration.to_dict()
    for column in sorted(columns | plain.keys() | set(TERMS)):
        if column not in content:
            raise BrokenPromise(f"Row 0 has no column {column!r}.")
        if column in TERMS:
            continue
        if column not in plain:
            raise BrokenPromise(f"Row 0 has a column {value_text(column)}, which is not known.")
        if not _is_same_json(content[column], plain[column]):
            raise BrokenPromise(
                f"Row 0 has {column}={value_text(content[column])}, where a Bandit writes {value_text(plain[column])}."
            )
    return configuration


def _policy(plain: object, kind: type[Policy] | None, file_format: int) -> Policy:
    if not isinstance(plain, dict) or not isinstance(plain.get("name"), str):
        raise BrokenPromise(f"Row 0 has policy={value_text(plain)}, which names no policy.")
    name, settings = plain["name"], {key: value for key, value in plain.items() if key != "name"}
    if kind is None or POLICIES.get(kind.name) is kind:
        name, settings = current_form(name, settings, file_format)
    if kind is not None and name != kind.name:
        raise InvalidInput(f"Expected policy={kind.__name__} to be the one of the ledger, {value_text(name)}.")
    if kind is None and name not in POLICIES:
        raise Undecidable(
            f"The policy {value_text(name)} is not one of the built-in policies: its class is needed "
            "(policy=..., or --policy mine.py:Name)."
        )
    return _policy_with(kind or POLICIES[name], settings, "policy")


def _live_policy(settings: object, configuration: Configuration) -> Policy:
    if not isinstance(settings, dict):
        raise BrokenPromise(f"Row 0 has live_policy={value_text(settings)}, which is not a mapping of settings.")
    settings = current_live_settings(configuration.policy, settings, configuration.file_format)
    live_policy = _policy_with(type(configuration.policy), settings, "live_policy")
    if is_ours(live_policy):  # a user's policy may change what it likes: what that costs is recomputed
        for setting, value in settings_of(configuration.policy).items():
            if (
                value is not None
                and setting not in ("epsilon", "delta")
                and not _is_same_json(settings[setting], value)
            ):
                live_text = value_text(settings[setting])
                raise BrokenPromise(
                    f"Row 0 has {setting}={live_text} in live_policy and {value_text(value)} in policy."
                )
        if not _is_written_down(live_policy, configuration.grid_bits):
            raise BrokenPromise("Row 0 has a live_policy that leaves open what was calibrated when the bandit began.")
    noise_grid = getattr(live_policy, "grid_bits", configuration.grid_bits)
    if noise_grid != configuration.grid_bits:
        raise BrokenPromise(f"Row 0 has a live_policy for grid_bits={noise_grid}, not {configuration.grid_bits}.")
    return live_policy


def _policy_with(kind: type[Policy], settings: dict[str, Any], column: str) -> Policy:
    try:
        policy = kind(**settings)
        is_same = _is_same_json(settings_of(policy), settings)
    except Exception as problem:  # noqa: BLE001  (a user's policy may raise anything)
        raise BrokenPromise(f"Row 0 has settings in {column} that {kind.name} refuses: {str(problem)[:200]}") from None
    if not is_same:
        raise BrokenPromise(f"Row 0 has other settings in {column} than {kind.name} writes.")
    return policy


def _is_written_down(live_policy: Policy, grid_bits: int) -> bool:
    """Tell whether nothing of one of our policies is left to be found when it runs."""
    if isinstance(live_policy, DPUCBInt):
        return live_policy.density is not None
    return live_policy.live(1, grid_bits) == live_policy


def _checked_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f"Expected {value_text(value)} to be a list.")
    return value


def _is_same_json(a: object, b: object) -> bool:
    """Tell whether two values are the same JSON: 1, 1.0 and true are three."""
    return canonical_json({"": a}) == canonical_json({"": b})


# ---- what was promised


def _guarantee(plain: object, column: str, file_format: int) -> Guarantee:
    try:
        stored_guarantee = guarantee_from(plain, file_format)  # type: ignore[arg-type]
        is_same = (
            isinstance(plain, dict)
            and _is_same_json(written_guarantee(stored_guarantee, file_format), plain)
            and isinstance(stored_guarantee.theorem, str)
        )
    except (InvalidInput, TypeError, KeyError, AttributeError):
        is_same = False
    if not is_same:
        raise BrokenPromise(f"Row 0 has {column}={value_text(plain)}, which is not a guarantee.")
    return stored_guarantee


def _check_group(promise: Promise) -> None:
    """Compare the two promises: that for one reward must be worth that for a person."""
    terms = promise.terms
    if not person_follows(terms, promise.configuration.contributions, promise.tolerance):
        raise BrokenPromise(
            f"Row 0 promises {cost_text(terms.one_reward)} in one reward, "
            f"from which {cost_text(terms.person)} in {terms.person.unit} does not follow."
        )


def _check_guarantees(promise: Promise) -> None:
    configuration, terms = promise.configuration, promise.terms
    people = configuration.contributions
    for column, stored_guarantee, cost in (
        ("reward_guarantee", terms.one_reward, promise.reward_cost),
        ("guarantee", terms.person, promise.person_cost),
    ):
        if not stored_guarantee.proved:
            raise BrokenPromise(f"Row 0 has a {column} that is only claimed, not proved.")
        if stored_guarantee.unit != cost.unit or stored_guarantee.horizon != cost.horizon:
            raise BrokenPromise(
                f"Row 0 has a {column} in {value_text(stored_guarantee.unit)} with horizon={stored_guarantee.horizon}, "
                f"where its schedule has one in {cost.unit!r} with horizon={cost.horizon}."
            )
        if exceeds(cost, stored_guarantee, promise.tolerance):
            expensive, promised = distinct_texts(cost, stored_guarantee)
            raise BrokenPromise(
                f"Row 0 promises {promised} in {stored_guarantee.unit}, but its schedule costs up to {expensive}."
            )
    _check_group(promise)
    assert terms.one_reward.unit == ONE_REWARD
    assert people == 1 or terms.person.unit != ONE_REWARD
    if is_ours(terms.policy):
        allowed = budget_of(configuration.policy)
        if exceeds(terms.person, allowed):
            raise BrokenPromise(
                f"Row 0 promises {cost_text(terms.person)}, which is more than its policy allows: {cost_text(allowed)}."
            )
    if not configuration.accept_delta:
        try:
            check_delta(terms.person.delta, configuration.horizon)
        except InvalidInput as problem:
            raise BrokenPromise(f"Row 0 has a delta that was not accepted: {problem}") from None
