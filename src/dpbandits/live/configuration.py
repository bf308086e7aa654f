"""Configuration: what a live bandit is, from its first assignment to its last. Nothing of it changes."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.live.rewards import RewardScale
from dpbandits.policies import POLICIES, Policy
from dpbandits.policies.base import MAX_ARMS, MAX_HORIZON
from dpbandits.privacy import Guarantee, group_guarantee

FORMAT = 1
_LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything that was decided before the first assignment, checked, and the guarantee that follows from it."""

    policy: Policy
    arms: tuple[str | int, ...]
    horizon: float
    rewards: RewardScale
    contributions: int
    accept_delta: bool
    grid_bits: int

    @classmethod
    def from_dict(cls, plain: dict[str, Any], policy: Policy | None = None) -> "Configuration":
        """Return what `to_dict` wrote down; a policy that is not one of ours must be given, and be the same."""
        if plain["format"] != FORMAT:
            raise InvalidInput(f"Expected format={plain['format']} to be {FORMAT}, which this version reads.")
        configuration = cls(
            policy=policy_from(plain["policy"]) if policy is None else policy,
            arms=tuple(plain["arms"]),
            horizon=math.inf if plain["horizon"] is None else plain["horizon"],
            rewards=RewardScale(tuple(plain["reward_bounds"]), plain["out_of_bounds"], plain["default_reward"]),
            contributions=plain["contributions"],
            accept_delta=plain["accept_delta"],
            grid_bits=plain["grid_bits"],
        )
        if configuration.to_dict() != plain:
            raise InvalidInput(f"Expected policy={policy!r} to be the one that was written down: {plain['policy']}.")
        return configuration

    @cached_property
    def live_policy(self) -> Policy:
        """The policy with the budget of one reward, for the grid of the noise."""
        return self.policy.live(self.contributions, self.grid_bits)

    @cached_property
    def reward_guarantee(self) -> Guarantee:
        """What is proved for one reward."""
        guarantee = self.live_policy.guarantee(self.horizon)
        if guarantee is None or not guarantee.certified:
            raise InvalidInput(f"Expected policy={self.policy.name} to have a proved guarantee.")
        return guarantee

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is proved for one person with their `contributions` rewards."""
        return group_guarantee(self.reward_guarantee, self.contributions)

    def check_delta(self) -> None:
        """Refuse a delta that could give up single people, unless told otherwise."""
        delta = self.guarantee.delta
        if delta <= 0.1 / self.horizon or self.accept_delta:
            return
        if math.isinf(self.horizon):
            raise InvalidInput(
                f"Expected a horizon for delta={delta:.3g}, which must be at most 1/(10 horizon): "
                "declare one, or pass accept_delta=True."
            )
        raise InvalidInput(
            f"Expected delta={delta:.3g} in [0, {0.1 / self.horizon:.3g}], which is 1/(10 horizon): "
            "more could give up single people. Pass accept_delta=True to allow it."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        return {
            "format": FORMAT,
            "policy": {"name": self.policy.name, **_settings(self.policy)},
            "arms": list(self.arms),
            "horizon": None if math.isinf(self.horizon) else self.horizon,
            "reward_bounds": list(self.rewards.bounds),
            "out_of_bounds": self.rewards.out_of_bounds,
            "default_reward": self.rewards.default,
            "contributions": self.contributions,
            "accept_delta": self.accept_delta,
            "grid_bits": self.grid_bits,
        }


def arm_names(arms: int | Sequence[str | int]) -> tuple[str | int, ...]:
    """Return the names of the arms: those given, or 0, 1, ... for a number of arms."""
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        return tuple(range(_validate.integer(f"[2, {MAX_ARMS}]", arms=arms)))
    for arm in arms:
        if isinstance(arm, bool) or not isinstance(arm, str | int) or not 0 < len(str(arm)) <= _LONGEST_NAME:
            raise InvalidInput(
                f"Expected arm={arm!r} to be a name of 1 to {_LONGEST_NAME} characters or a whole number."
            )
    _validate.integer(f"[2, {MAX_ARMS}]", **{"number of arms": len(arms)})
    doubled = sorted({str(arm) for arm in arms if list(arms).count(arm) > 1}) if len(set(arms)) < len(arms) else []
    if doubled:
        raise InvalidInput(f"Expected different arms: {', '.join(doubled)} is there more than once.")
    return tuple(arms)


def declared_horizon(policy: Policy, horizon: float | None) -> float:
    """Return how many assignments may enter: as asked for, or what the policy was declared for."""
    if horizon is not None:
        return _validate.integer(f"[1, {MAX_HORIZON}]", horizon=horizon)
    return math.inf if policy.horizon is None else policy.horizon


def policy_from(settings: dict[str, Any]) -> Policy:
    """Return the policy that was written down as a name and its settings."""
    name = settings["name"]
    if name not in POLICIES:
        raise InvalidInput(f"Expected policy={name!r} to be one of ours, or the policy itself to be passed as well.")
    return POLICIES[name](**{key: value for key, value in settings.items() if key != "name"})


def _settings(policy: Policy) -> dict[str, Any]:
    return asdict(policy)  # type: ignore[call-overload, no-any-return]
