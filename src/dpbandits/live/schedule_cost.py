"""What a schedule costs one reward, by its blocks alone, and whether that is what a policy says about itself.

Single blocks: a reward is in one release, so the smallest scale decides. Sums of all rewards so far: the first reward
is in every release, so all of them are composed. Where they have no end, or are too many, the first ones are added up,
and the policy proves a bound on the squares of the rest (`squared_loss_after`); together they are zCDP.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.live.blocks import Schedule, squared_loss
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.policies import Block, Policy, is_ours
from dpbandits.policies.phases import ONE_RELEASE
from dpbandits.privacy import Budget, DiscreteLaplaceEvent, Guarantee, compose, group_guarantee, zcdp_epsilon
from dpbandits.privacy.accountant import BASIC, ZCDP
from dpbandits.privacy.rounding import MARGIN, above, ratio_up

TOLERANCE = 1e-6  # machines round differently; what changed with a version changes more
_MOST_BLOCKS = 100_000  # blocks of one arm, which takes a second or so; composing them takes ten


def exceeds(cost: Guarantee, allowed: Budget | Guarantee, tolerance: float = 0.0) -> bool:
    """Tell whether a cost is above what is allowed, by more than a relative tolerance."""
    return cost.epsilon > allowed.epsilon * (1 + tolerance) or cost.delta > allowed.delta * (1 + min(tolerance, MARGIN))


def check_promise(configuration: Configuration, terms: Terms, schedule: Schedule, tolerance: float) -> None:
    """Refuse a policy that is not one of ours and whose blocks cost more than it promises.

    The tolerance is for bandits that go on: they may have promised on another machine, or in another version.

    Our own policies say what our accountant says about their blocks (tested); composing them again would take as long
    as calibrating them. Single blocks that are not checked now are checked when they come.
    """
    promised = terms.one_reward
    if not is_ours(terms.policy):
        cost = declared_cost(terms.policy, schedule, 2**configuration.grid_bits, promised)
        if exceeds(cost, promised, tolerance):
            raise InvalidInput(
                f"Expected the blocks of policy={terms.policy.name} to cost at most ({promised.epsilon}, "
                f"{promised.delta:g}) in one reward, as it promises, not ({cost.epsilon}, {cost.delta:g}) "
                f"by {cost.theorem}. (scale_for(epsilon) is the scale of one release.)"
            )
    if not schedule.is_cumulative:
        schedule.least_scale = least_scale(promised.epsilon * (1 + tolerance))


def check_terms(configuration: Configuration, terms: Terms) -> None:
    """Refuse terms, as they were written down, that do not follow from each other, or are not what was asked for."""
    if not person_follows(terms, configuration.contributions, TOLERANCE):
        raise InvalidInput(
            f"Expected epsilon={terms.person.epsilon} of one person, as it was promised in the beginning, to follow "
            f"from that of one reward, {terms.one_reward.epsilon}."
        )
    if is_ours(configuration.policy) and exceeds(terms.person, allowed := budget_of(configuration.policy)):
        raise InvalidInput(
            f"Expected ({terms.person.epsilon}, {terms.person.delta:g}), as it was promised in the beginning, to be "
            f"within {allowed}."
        )


def promise_problem(configuration: Configuration, terms: Terms) -> str:
    """Say how much more the whole schedule costs than was promised, as this version sees it; "" if it does not."""
    promised, computed = terms.one_reward.epsilon, terms.computed_epsilon(configuration.horizon)
    # A smaller bound for one of our schedules is a tighter one. In a user's policy it may be another schedule.
    may_be_less = is_ours(configuration.policy)
    if computed > promised * (1 + TOLERANCE) or (computed < promised * (1 - TOLERANCE) and not may_be_less):
        return (
            f"Expected epsilon={computed}, as this version computes it for one reward, to be "
            f"{'at most ' if may_be_less else ''}{promised}, as in the beginning."
        )
    return ""


def person_follows(terms: Terms, contributions: int, tolerance: float) -> bool:
    """Tell whether the promise to a person follows from that for one reward."""
    try:
        return not exceeds(group_guarantee(terms.one_reward, contributions), terms.person, tolerance)
    except InvalidInput:  # a delta of 1 or more
        return False


def budget_of(policy: Policy) -> Budget:
    """Return the budget of one of our policies."""
    return Budget(policy.epsilon, getattr(policy, "delta", 0.0))  # type: ignore[attr-defined]


def least_scale(epsilon: float) -> float:
    """Return the smallest scale of which one release costs at most epsilon."""
    return ratio_up(1, epsilon)


def declared_cost(policy: Policy, schedule: Schedule, grid: int, promised: Guarantee) -> Guarantee:
    """Return what the blocks cost one reward: any valid bound that is within the promise, else the best one known."""
    blocks = schedule.beginning(_MOST_BLOCKS)
    if not schedule.is_cumulative:
        return cost_of_blocks(blocks, promised.delta, grid)
    has_ended = schedule.block(len(blocks)) is None
    squares = above(math.fsum(map(squared_loss, blocks)))
    rest = 0.0 if has_ended else policy.squared_loss_after(blocks[-1].last)
    rest = _validate.real("[0, inf]", squared_loss_after=rest)
    if rest == math.inf:
        raise InvalidInput(
            f"Expected policy={policy.name} to prove what its releases cost together: an arm has more than "
            f"{len(blocks):,}, each of all rewards so far, and `squared_loss_after` gives no bound on the rest. "
            "Give one, or declare a shorter horizon."
        )
    if not has_ended:
        schedule.most_squares = above(squares + rest)  # whatever comes later
    bounds = []
    if has_ended:
        pure = above(math.fsum(1 / block.scale for block in blocks))
        bounds.append(Guarantee(pure, theorem=BASIC, proved=True))
    if promised.delta > 0:
        epsilon = zcdp_epsilon(above(above(squares + rest) / 2), promised.delta)
        bounds.append(Guarantee(epsilon, promised.delta, theorem=ZCDP, proved=True))
    if has_ended and all(exceeds(bound, promised) for bound in bounds):
        bounds.append(cost_of_blocks(blocks, promised.delta, grid))
    if not bounds:
        raise InvalidInput(
            f"Expected policy={policy.name} to promise a delta above 0, or to be declared for a shorter horizon: an "
            f"arm has more than {len(blocks):,} releases, each of all rewards so far, too many to add up."
        )
    return min(bounds, key=lambda bound: (exceeds(bound, promised), bound.epsilon))


def cost_of_blocks(blocks: Sequence[Block], delta: float, grid: int) -> Guarantee:
    """Return what the first blocks of an arm cost the reward that loses most, by the tightest theorem."""
    if len(blocks) > 1 and blocks[1].first > 1:
        epsilon = max(ratio_up(1, block.scale) for block in blocks)
        return Guarantee(epsilon, theorem=ONE_RELEASE, proved=True)
    return composed_cost(tuple(block.scale * grid for block in blocks), delta, grid)


@lru_cache(maxsize=8)  # a page asks often, and a release changes it rarely
def composed_cost(steps: tuple[float, ...], delta: float, grid: int) -> Guarantee:
    """Return what releases of one reward cost together, whose scales are in steps of the grid."""
    return compose([DiscreteLaplaceEvent(scale, grid) for scale in steps], delta)
