"""The choice of a policy, checked: a number that is no arm would be found out when it is too late."""

from typing import Any

from dpbandits.errors import InvalidInput
from dpbandits.policies import Policy, select


def chosen_arm(policy: Policy, params: Any, state: Any, t: int, arms: int) -> int:
    """Return the arm of decision t, if it is one."""
    arm = int(select(params, state, t))
    if not 0 <= arm < arms:
        raise InvalidInput(f"Expected `select` of policy={policy.name} to return an arm in [0, {arms - 1}], not {arm}.")
    return arm
