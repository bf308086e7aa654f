"""Mistakes of a policy that end a run: a number for each, which a loop returns, and a sentence, which people read."""

from dpbandits.errors import InvalidInput
from dpbandits.policies.base import Policy

NO_MISTAKE = 0
WRONG_ARM = -1
WRONG_HOLD = -2


def check_answer(policy: Policy, arms: int, answer: int) -> None:
    """Refuse a policy that named an arm which does not exist, or held one for less than a play."""
    if answer == WRONG_ARM:
        raise InvalidInput(f"Expected `select` of {policy.name} to return an arm in [0, {arms - 1}].")
    if answer == WRONG_HOLD:
        raise InvalidInput(f"Expected `hold` of {policy.name} to return at least 1.")
