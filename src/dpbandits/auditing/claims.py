"""claim_to_test: the claim of a policy that an audit tests, and who makes it."""

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.policies.policy import Policy
from dpbandits.privacy import Budget, Guarantee

STATED_BY = "whoever asked for the audit"


def claim_to_test(policy: Policy, horizon: int, budget: Budget | None) -> Guarantee:
    """Return the claim to test: what somebody states, else what the publication says, else what is proved here."""
    if budget is not None:
        _validate.check_kind(Budget, "a Budget, such as Budget(1.0)", claim=budget)
        return Guarantee(budget.epsilon, budget.delta, horizon=horizon, theorem=STATED_BY, proved=False)
    claim = policy.claim(horizon) or policy.guarantee(horizon)
    if claim is None:
        raise InvalidInput(f"Expected a claim to test: {policy.name} makes none, so state one, such as Budget(1.0).")
    return claim
