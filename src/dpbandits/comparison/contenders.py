"""Contenders: what is compared. A policy, or a function that makes one for an epsilon."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, WrongKind
from dpbandits.policies import Policy
from dpbandits.simulation.names import unique_names

Contender = Callable[[float], Policy]  # a policy for an epsilon
# What `simulate` takes, and in a mapping also functions of epsilon.
Contenders = Policy | Iterable[Policy] | Mapping[str, Policy | Contender]


def contenders_by_name(policies: Contenders) -> dict[str, Policy | Contender]:
    """Return policies and functions of epsilon by name, checked; policies without a name get one."""
    if not isinstance(policies, Mapping):
        policy_list = policies if isinstance(policies, list | tuple) else [policies]
        for function in (each for each in policy_list if callable(each) and not isinstance(each, type)):
            raise WrongKind(f"Expected {value_text(function)} in a mapping from names, such as {{'mine': function}}.")
        return dict(unique_names(policies))
    if not policies:
        raise InvalidInput("Expected at least one policy.")
    for name, contender in policies.items():
        if not isinstance(name, str):
            raise InvalidInput(f"Expected the name {name!r} of a policy to be text.")
        if not isinstance(contender, Policy) and not callable(contender):
            raise _wrong_kind(name, contender)
    return dict(policies)


def policy_at(name: str, contender: Policy | Contender, epsilon: float) -> Policy:
    """Return the policy of a contender at a privacy level; a plain policy is the same at all of them."""
    if isinstance(contender, Policy):
        policy: Any = contender
    elif math.isinf(epsilon):
        raise InvalidInput(f"Expected epsilons, such as [0.1, 1], for {name!r}, which is a function of epsilon.")
    else:
        policy = contender(epsilon)
    if not isinstance(policy, Policy):
        raise _wrong_kind(name, policy)
    unique_names(policy)  # checks it
    return policy


def proved_epsilon(policy: Policy, horizon: int) -> float:
    """Return the epsilon that is proved for a policy, infinity if none is."""
    guarantee = policy.guarantee(horizon)
    return guarantee.epsilon if guarantee is not None and guarantee.proved else math.inf


def proved_delta(policy: Policy, horizon: int) -> float:
    """Return the delta that belongs to that epsilon, 0 if nothing is proved."""
    guarantee = policy.guarantee(horizon)
    return guarantee.delta if guarantee is not None and guarantee.proved else 0.0


def is_within_level(proved: float, epsilon: float) -> bool:
    """Tell whether what is proved is within a privacy level, up to rounding."""
    return proved <= epsilon * (1 + 1e-9)


def _wrong_kind(name: str, contender: object) -> WrongKind:
    what = "a policy or a function of epsilon that returns one"
    return WrongKind(f"Expected {name!r} to be {what}, not {value_text(contender)}.")
