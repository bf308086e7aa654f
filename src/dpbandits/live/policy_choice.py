"""The choice of a policy, checked: a number that is no arm would be found out when it is too late."""

from typing import Any

from dpbandits.policies.policy import Policy, select, wrong_arm


def checked_arm(policy: Policy, params: Any, state: Any, t: int, arms: int) -> int:
    """Return the arm of decision t, if it is one."""
    arm = int(select(params, state, t))
    if not 0 <= arm < arms:
        raise wrong_arm(policy, arms, f", not {arm}")
    return arm
