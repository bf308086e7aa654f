"""Names for the policies of a comparison: short, in order, unique."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, WrongKind
from dpbandits.policies.labels import label
from dpbandits.policies.policy import Policy


def unique_names(policies: Policy | Iterable[Policy] | Mapping[str, Policy]) -> dict[str, Policy]:
    """Return the policies by label. Several of one kind are told apart by the settings in which they differ.

    >>> from dpbandits import UCB, DPUCB
    >>> list(unique_names([UCB(), DPUCB(epsilon=1), DPUCB(epsilon=0.1)]))
    ['ucb', 'dp-ucb epsilon=1.0', 'dp-ucb epsilon=0.1']
    >>> list(unique_names(DPUCB(epsilon=1, variant="published")))
    ['dp-ucb variant=published']
    """
    if isinstance(policies, Policy):
        policies = [policies]
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        raise WrongKind(
            f"Expected policies={value_text(policies)} to be policies, such as [UCB(), DPUCB(epsilon=1.0)]."
        )
    mapping = policies if isinstance(policies, Mapping) else None
    policy_list = list(policies.values()) if isinstance(policies, Mapping) else list(policies)
    for policy in policy_list:
        if not isinstance(policy, Policy):
            raise WrongKind(f"Expected {value_text(policy)} to be a policy, such as UCB() or DPUCB(epsilon=1.0).")
        # Its repr names every setting, and its random numbers follow from it: it must be the same in every process.
        parameters = getattr(policy, "__dataclass_params__", None)
        if parameters is None or not parameters.frozen or " at 0x" in repr(policy):
            raise InvalidInput(
                f"Expected {type(policy).__name__} to be a frozen dataclass with a repr that tells its settings."
            )
    if not policy_list:
        raise InvalidInput("Expected at least one policy.")
    if mapping is not None:
        for name in mapping:
            if not isinstance(name, str):
                raise InvalidInput(f"Expected the name {name!r} of a policy to be text.")
        return dict(mapping)
    named: dict[str, Policy] = {}
    for policy in policy_list:
        same_kind = [other for other in policy_list if other.name == policy.name]
        name = plain = label(policy, _differences(policy, same_kind))
        copies = 2
        while name in named:
            name, copies = f"{plain} #{copies}", copies + 1
        named[name] = policy
    return named


def _differences(policy: Policy, same_kind: list[Policy]) -> list[str]:
    different = []
    for field in fields(policy):  # type: ignore[arg-type]
        values = Counter(repr(getattr(other, field.name, None)) for other in same_kind)
        if len(values) > 1:
            different.append(field.name)
    return different
