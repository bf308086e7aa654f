"""What a schedule costs one reward, recomputed: by our policies' own accounting, and by the blocks of others."""

from dataclasses import fields, replace
from itertools import takewhile

from dpbandits.live.blocks import Schedule
from dpbandits.live.checking.verdict import BrokenPromise, Undecidable
from dpbandits.live.schedule_cost import cost_of_blocks
from dpbandits.policies import Block, Policy, is_ours
from dpbandits.privacy import Guarantee

MOST_COMPOSED = 1000  # releases that are composed one by one, which takes a second or two
_MOST_ADDED_UP = 100_000  # losses of a built-in policy with delta = 0, which takes some four seconds


def block_of(schedule: Schedule, number: int) -> Block | None:
    """Return block number 0, 1, ... of an arm; None after the end of the schedule."""
    try:
        return schedule.block(number)
    except Exception as problem:  # noqa: BLE001  (a user's policy may raise anything)
        raise BrokenPromise(f"The schedule of row 0 cannot be made: {str(problem)[:200]}") from None


def whole_cost(policy: Policy, horizon: float, schedule: Schedule, grid: int) -> tuple[Guarantee, bool]:
    """Return what the whole schedule costs one reward, and whether we have only the policy's word for it."""
    if is_ours(policy) and getattr(policy, "delta", 0.0) == 0 and _is_too_long(schedule):
        raise Undecidable(
            f"The schedule of row 0 has more than {_MOST_ADDED_UP:,} releases of an arm, too many to add up."
        )
    try:
        policy_cost = policy.guarantee(horizon)
    except Exception as problem:  # noqa: BLE001  (a user's policy may raise anything)
        raise BrokenPromise(f"The schedule of row 0 has no guarantee: {str(problem)[:200]}") from None
    if policy_cost is None or not policy_cost.proved:
        raise BrokenPromise(f"The policy {policy.name} has no proved guarantee.")
    if is_ours(policy):
        return policy_cost, False
    added_up = _added_up(schedule, policy_cost.delta, grid)
    if added_up is None:
        return policy_cost, True
    return replace(added_up, horizon=policy_cost.horizon), False


def _is_too_long(schedule: Schedule) -> bool:
    """Tell whether adding up the losses would take minutes. With delta > 0 there is a quick bound instead."""
    return schedule.is_cumulative and block_of(schedule, _MOST_ADDED_UP) is not None


def whole_cost_at(policy: Policy, horizon: float, schedule: Schedule, grid: int, delta: float) -> Guarantee | None:
    """Return what the whole schedule costs one reward at another delta than the policy's; None if that is not known."""
    if is_ours(policy) and "delta" in {field.name for field in fields(policy)}:  # type: ignore[arg-type]
        if delta == 0 and _is_too_long(schedule):
            return None
        # With its density written down, the schedule does not depend on delta.
        return replace(policy, delta=delta).guarantee(horizon)  # type: ignore[type-var]
    return _added_up(schedule, delta, grid)


def _added_up(schedule: Schedule, delta: float, grid: int) -> Guarantee | None:
    """Return what the blocks cost by our accountant; None if they are too many."""
    numbers = range(MOST_COMPOSED + 1)
    blocks = [block for block in takewhile(bool, (block_of(schedule, number) for number in numbers)) if block]
    return None if len(blocks) > MOST_COMPOSED else cost_of_blocks(blocks, delta, grid)
