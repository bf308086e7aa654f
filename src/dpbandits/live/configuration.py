"""Configuration: what a live bandit is, from its first assignment to its last. Nothing of it changes.

A Configuration is what the user asked for, Terms are what follows from it for privacy. Terms are computed once, when a
bandit begins, and written down: the same numbers are used wherever the bandit goes on, on any machine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpbandits import _validate
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.live.arms import arm_names, number_of_arm, numbers_of
from dpbandits.live.names_on_disk import (
    current_live_settings,
    guarantee_from,
    policy_from,
    written_form,
    written_guarantee,
)
from dpbandits.live.reward_scale import OutOfBounds, RewardScale
from dpbandits.live.shares import checked_shares, validated_shares
from dpbandits.live.timing import Timing, validated_timing, validated_window
from dpbandits.live.units import validated_contributions
from dpbandits.policies import Policy
from dpbandits.policies.policy import MAX_HORIZON
from dpbandits.privacy import Guarantee, group_guarantee

# Of the configuration, wherever it is written down. What each one changed:
#   2    scales are rounded up to `scale_bits`; before, they were taken as the policy gives them
#   3    `sticky`; who has given all their rewards gets their latest assignment again; the noise-aware policies have
#        names of their own (names_on_disk.py)
#   4    `window`, `timing`, `shares`; a guarantee says `proved`, and no longer `certified`
FORMATS = (1, 2, 3, 4)
_SCALE_BITS = 24  # significant ones: noise grows by less than a ten-millionth


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything that was decided before the first assignment, checked."""

    policy: Policy
    arms: tuple[str | int, ...]
    horizon: float
    rewards: RewardScale
    contributions: int
    accept_delta: bool
    grid_bits: int
    sticky: bool = True
    window: float | None = None
    timing: Timing = "open"
    shares: tuple[float, ...] | None = None
    file_format: int = FORMATS[-1]  # in which it is written down, from its beginning on

    @property
    def scale_bits(self) -> int | None:
        """To how many significant bits scales are rounded up; None if they are not."""
        return _SCALE_BITS if self.file_format >= 2 else None

    @property
    def repeats(self) -> bool:
        """Whether a person who has given all their rewards gets their latest assignment again."""
        return self.file_format >= 3

    def arm_number(self, arm: str | int) -> int:
        """Return the number of the arm with this name."""
        return number_of_arm(arm, self._numbers)

    @cached_property
    def _numbers(self) -> dict[str | int, int]:
        return numbers_of(self.arms)

    @classmethod
    def from_dict(cls, plain: dict[str, Any], policy: Policy | None = None) -> "Configuration":
        """Return what `to_dict` wrote down; a policy that is not one of ours must be given, and be the same."""
        file_format = read_format(plain)
        if policy is not None:
            _validate.check_kind(Policy, "the policy that the bandit was made with", policy=policy)
        configuration = cls(
            policy=policy_from(plain["policy"], file_format) if policy is None else policy,
            arms=tuple(plain["arms"]),
            horizon=math.inf if plain["horizon"] is None else plain["horizon"],
            rewards=RewardScale(tuple(plain["reward_bounds"]), plain["out_of_bounds"], plain["default_reward"]),
            contributions=plain["contributions"],
            accept_delta=plain["accept_delta"],
            grid_bits=plain["grid_bits"],
            sticky=read_sticky(plain),
            **read_timing(plain, plain["arms"]),
            file_format=file_format,
        )
        if configuration.to_dict() != plain:
            raise InvalidInput(f"Expected policy={policy!r} to be the one that was written down: {plain['policy']}.")
        return configuration

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        later: dict[str, Any] = {} if self.scale_bits is None else {"scale_bits": self.scale_bits}
        if self.file_format >= 3:
            later |= {"sticky": self.sticky}
        if self.file_format >= 4:
            shares = None if self.shares is None else list(self.shares)
            later |= {"window": self.window, "timing": self.timing, "shares": shares}
        name, settings = written_form(self.policy, self.file_format)
        return {
            "format": self.file_format,
            "policy": {"name": name, **settings},
            "arms": list(self.arms),
            "horizon": None if math.isinf(self.horizon) else self.horizon,
            "reward_bounds": list(self.rewards.bounds),
            "out_of_bounds": self.rewards.out_of_bounds,
            "default_reward": self.rewards.default,
            "contributions": self.contributions,
            "accept_delta": self.accept_delta,
            "grid_bits": self.grid_bits,
            **later,
        }


@dataclass(frozen=True)
class Terms:
    """The policy that runs, with the budget of one reward on the grid of the noise, and what is proved for it."""

    policy: Policy
    one_reward: Guarantee
    person: Guarantee  # with their `contributions` rewards

    @classmethod
    def computed(cls, configuration: Configuration) -> "Terms":
        """Return the terms of a bandit that begins; a delta that could give up single people is refused."""
        policy = configuration.policy.live(configuration.contributions, configuration.grid_bits)
        if type(policy) is not type(configuration.policy):
            raise InvalidInput(f"Expected `live` of policy={configuration.policy.name} to return one of its own class.")
        one_reward = policy.guarantee(configuration.horizon)
        if not isinstance(one_reward, Guarantee) or not one_reward.proved:
            raise InvalidInput(f"Expected policy={policy.name} to have a proved guarantee.")
        if one_reward.horizon is None or one_reward.horizon < configuration.horizon:
            raise InvalidInput(
                f"Expected the guarantee of policy={policy.name} to hold up to n = {configuration.horizon}, as it was "
                f"asked for, not up to n = {one_reward.horizon}."
            )
        terms = cls(policy, one_reward, group_guarantee(one_reward, configuration.contributions))
        if not configuration.accept_delta:
            check_delta(terms.person.delta, configuration.horizon)
        return terms

    @classmethod
    def from_dict(cls, configuration: Configuration, plain: dict[str, Any]) -> "Terms":
        """Return the terms that a bandit began with."""
        settings = current_live_settings(configuration.policy, plain["live_policy"], configuration.file_format)
        policy = type(configuration.policy)(**settings)
        guarantees = [
            guarantee_from(plain[name], configuration.file_format) for name in ("reward_guarantee", "guarantee")
        ]
        return cls(policy, *guarantees)

    def to_dict(self, file_format: int) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        return {
            "live_policy": written_form(self.policy, file_format)[1],
            "reward_guarantee": written_guarantee(self.one_reward, file_format),
            "guarantee": written_guarantee(self.person, file_format),
        }

    def computed_epsilon(self, horizon: float) -> float:
        """Return what this machine and version say about one reward."""
        guarantee = self.policy.guarantee(horizon)
        return math.inf if guarantee is None else guarantee.epsilon


def read_format(plain: dict[str, Any]) -> int:
    """Return the format of a configuration that was written down, if this version reads it."""
    file_format = plain["format"]
    if type(file_format) is not int or file_format not in FORMATS:
        formats = f"{', '.join(map(str, FORMATS[:-1]))} or {FORMATS[-1]}"
        raise InvalidInput(f"Expected format={value_text(file_format)} to be {formats}, which this version reads.")
    return file_format


def read_sticky(plain: dict[str, Any]) -> bool:
    """Return whether people who come again keep their arm, by a configuration that was written down."""
    return _validate.flag(sticky=plain["sticky"]) if plain["format"] >= 3 else False


def read_timing(plain: dict[str, Any], arms: Sequence[str | int]) -> dict[str, Any]:
    """Return when blocks are released and which shares arms have, by a configuration that was written down."""
    if plain["format"] < 4:
        return {}
    window = validated_window(plain["window"])
    shares = plain["shares"]
    return {
        "window": window,
        "timing": validated_timing(plain["timing"], window),
        "shares": None if shares is None else checked_shares(shares, arms),
    }


def check_delta(delta: float, horizon: float) -> None:
    """Refuse a delta that could give up single people."""
    if delta <= 0.1 / horizon:
        return
    if math.isinf(horizon):
        raise InvalidInput(
            f"Expected a horizon for delta={delta:.3g}, which must be at most 1/(10 horizon): "
            "declare one, or pass accept_delta=True."
        )
    raise InvalidInput(
        f"Expected delta={delta:.3g} in [0, {0.1 / horizon:.3g}], which is 1/(10 horizon): "
        "more could give up single people. Pass accept_delta=True to allow it."
    )


def requested_configuration(
    policy: Policy,
    arms: int | Sequence[str | int],
    *,
    horizon: int | None,
    reward_bounds: tuple[float, float],
    out_of_bounds: OutOfBounds,
    default_reward: float | None,
    contributions: int,
    sticky: bool,
    accept_delta: bool,
    window: float | None,
    timing: Timing,
    shares: Mapping[str | int, float] | None,
    grid_bits: int,
) -> Configuration:
    """Return what somebody asks for, as `Bandit` takes it, checked. Nothing is computed of it yet."""
    names, window = arm_names(arms), validated_window(window)
    return Configuration(
        policy=policy,
        arms=names,
        horizon=declared_horizon(policy, horizon),
        rewards=RewardScale(reward_bounds, out_of_bounds, default_reward),
        contributions=validated_contributions(contributions),
        accept_delta=_validate.flag(accept_delta=accept_delta),
        grid_bits=grid_bits,
        sticky=_validate.flag(sticky=sticky),
        window=window,
        timing=validated_timing(timing, window),
        shares=validated_shares(shares, names),
    )


def declared_horizon(policy: Policy, horizon: float | None) -> float:
    """Return how many assignments may enter: as asked for, or what the policy was declared for."""
    if horizon is not None:
        return _validate.integer(f"[1, {MAX_HORIZON}]", horizon=horizon)
    return math.inf if policy.horizon is None else policy.horizon
