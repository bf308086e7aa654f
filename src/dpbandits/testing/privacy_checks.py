"""Checks of what a policy lets out: losses of single rewards, releases as announced, a ledger that verifies."""

import math
from itertools import islice

from dpbandits.auditing.taint import TaintNoise
from dpbandits.engine.game import CUTS, Game
from dpbandits.errors import InvalidInput
from dpbandits.live.bandit import Bandit
from dpbandits.live.checking import check_ledger
from dpbandits.live.checking.verdict import DOES_NOT_HOLD, HOLDS
from dpbandits.mechanisms import RecordingNoise, SeededNoise
from dpbandits.mechanisms.linear import Leak, secret_reward
from dpbandits.policies.policy import Policy
from dpbandits.privacy import Budget, Guarantee, Ledger, compose, rho_of
from dpbandits.testing.subject import Subject

_ROUNDING = 1 + 1e-9
_PEOPLE = 400


def check_losses(subject: Subject) -> str:
    """Play with rewards that cannot be read, in all ways: none loses more than the guarantee."""
    guarantee = subject.policy.guarantee(subject.horizon)
    if guarantee is None:
        return "nothing is guaranteed, so nothing was checked"
    rewards, worst = subject.rewards(), 0.0
    for cut in CUTS:
        noise = TaintNoise(subject.seed)
        game = Game(subject.policy, subject.arms, subject.horizon, noise, object)
        try:
            game.play(lambda t, arm: secret_reward(t, rewards(t, arm)), subject.beyond, cut, seed=subject.seed)
        except Leak as leak:
            subject.expect(False, f"a reward became public without noise, played in {cut}: {leak}")
        worst = max(worst, _largest_loss(noise, guarantee))
    subject.expect(
        worst <= guarantee.epsilon * _ROUNDING, f"a reward loses {worst:g}, more than the guarantee of {guarantee}"
    )
    is_all = math.isclose(worst, guarantee.epsilon, rel_tol=1e-9)
    return f"no reward loses more than {worst:g}, which is {'' if is_all else 'within '}the guarantee"


def _largest_loss(noise: TaintNoise, guarantee: Guarantee) -> float:
    """Return what the worst placed reward of a run has lost, with the guarantee's delta."""
    if guarantee.delta == 0:
        return max(noise.losses().values(), default=0.0)
    releases = max(noise.events().values(), key=lambda events: math.fsum(map(rho_of, events)), default=[])
    return compose(releases, guarantee.delta).epsilon


def check_ledger_rows(subject: Subject) -> str:
    """Record every release: of each arm they are the blocks that the policy announces, in order."""
    if type(subject.policy).blocks is Policy.blocks:
        return "its releases are not fixed in advance, so there was nothing to compare"
    blocks = list(islice(subject.policy.blocks(subject.horizon), subject.horizon + 1))
    subject.expect(
        len(blocks) <= subject.horizon and all(block.last <= subject.horizon for block in blocks),
        f"`blocks({subject.horizon})` announces releases after that many rewards of an arm",
    )
    noise = RecordingNoise(SeededNoise(subject.seed), Ledger())
    game = Game(subject.policy, subject.arms, subject.horizon, noise)
    game.play(subject.rewards(), subject.beyond, "cut blocks", seed=subject.seed)
    for arm in range(subject.arms):
        rows = [row.content for row in noise.ledger if row.content["arm"] == arm]
        sizes = [row.get("sigma", row.get("scale", math.nan)) / row["sensitivity"] for row in rows]
        count = game.actions.count(arm)
        due = [block for block in blocks if block.last <= count]
        # Beyond the horizon, for which nothing is announced, a policy may release more.
        is_right_number = len(rows) == len(due) or (count > subject.horizon and len(rows) > len(due))
        subject.expect(
            is_right_number,
            f"after {count} plays `blocks` announces {len(due)} releases of arm {arm}, and there were {len(rows)}",
        )
        scales = [block.scale for block in due]
        subject.expect(
            sizes[: len(scales)] == scales, f"arm {arm} was released with other noise than `blocks` announces"
        )
    return f"{len(noise.ledger)} releases, all as `blocks` announces"


def check_live_ledger(subject: Subject) -> str:
    """Run it for people who answer at once: its ledger keeps the promise."""
    try:
        subject.policy.live(1, 12)
    except InvalidInput as refusal:
        return f"it cannot run live: {refusal}"
    bandit = Bandit(subject.policy, [str(arm) for arm in range(subject.arms)], accept_delta=True)
    rewards, people = subject.rewards(), min(_PEOPLE, subject.horizon)
    for person in range(1, people + 1):
        assignment = bandit.assign()
        bandit.close(assignment, reward=rewards(person, int(assignment.arm)))
    claim = Budget(bandit.guarantee.epsilon, bandit.guarantee.delta)
    check = check_ledger(bandit.ledger.to_jsonl(), claim=claim, head=bandit.ledger.head)
    subject.expect(check.verdict != DOES_NOT_HOLD, f"live, the ledger of {people} people does not keep its promise")
    if check.verdict == HOLDS:
        return f"the ledger of {people} people keeps its promise"
    return f"{people} people; whether a ledger keeps its promise can only be told for built-in policies"
