"""Which regret bound belongs to which policy: one map, for claims, tables and figures."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from dpbandits.auditing.broken.printed import PrintedAlgorithm3
from dpbandits.policies import DPUCB, UCB, DPUCBBound, DPUCBInt, Policy
from dpbandits.reproduce.paper_experiments import first_interval
from dpbandits.theory import upper_bounds

BoundForm = Literal["published", "appendix", "proved"]
_Bound = Callable[[Any, Sequence[float], float, bool], float]

_BOUNDS: dict[type[Policy], dict[BoundForm, _Bound]] = {
    UCB: {"proved": lambda policy, gaps, t, capped: upper_bounds.ucb1(gaps, t, capped=capped)},
    DPUCBBound: {
        "published": lambda policy, gaps, t, capped: upper_bounds.dp_ucb_bound(
            gaps, t, policy.epsilon, form="published", capped=capped
        ),
        "appendix": lambda policy, gaps, t, capped: upper_bounds.dp_ucb_bound(
            gaps, t, policy.epsilon, form="appendix", capped=capped
        ),
        "proved": lambda policy, gaps, t, capped: upper_bounds.dp_ucb_bound(
            gaps, t, policy.epsilon, split=policy.variant == "proved", capped=capped
        ),
    },
    DPUCB: {
        "published": lambda policy, gaps, t, capped: upper_bounds.dp_ucb(gaps, t, policy.epsilon, capped=capped),
    },
    DPUCBInt: {
        "published": lambda policy, gaps, t, capped: upper_bounds.dp_ucb_int(
            gaps, t, first_interval(policy), capped=capped
        ),
    },
    PrintedAlgorithm3: {
        "published": lambda policy, gaps, t, capped: upper_bounds.dp_ucb_int(gaps, t, policy.interval, capped=capped),
    },
}


def bound_forms(policy: Policy) -> tuple[BoundForm, ...]:
    """Return in which forms a bound of the policy is known; Private-UCB has none."""
    return tuple(_BOUNDS.get(type(policy), ()))


def regret_bound(
    policy: Policy, gaps: Sequence[float], t: float, form: BoundForm = "published", *, capped: bool = True
) -> float:
    """Return the bound of a policy after t steps, by default as the paper states it.

    >>> policy = DPUCBBound(epsilon=1.0)
    >>> regret_bound(policy, [0, 0.3], 1e5), regret_bound(policy, [0, 0.3], 1e5, "proved")
    (2538.6, 10423.4)
    """
    return _BOUNDS[type(policy)][form](policy, gaps, t, capped)
