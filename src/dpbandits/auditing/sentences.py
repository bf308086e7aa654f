"""What audits found, in sentences."""

from collections.abc import Iterable, Sequence

from dpbandits._phrases import counted
from dpbandits.auditing.exact import SILENT, UPPER_BOUND, ExactAudit
from dpbandits.auditing.runs import Part
from dpbandits.auditing.sampled_audit import Audit
from dpbandits.policies import is_ours

_LONG = 24
_SHOWN = 5


def verdict(found: Audit | ExactAudit) -> str:
    """Return the verdict in two or three words."""
    if found.unknown is not None and not found.refuted:
        return "cannot be told"
    if isinstance(found, Audit):
        return "refuted" if found.refuted else "not refuted"
    return "exceeds the claim" if found.refuted else "within the claim"


def sentence(found: Audit | ExactAudit) -> str:
    """Return what was found, in a sentence or two."""
    claimed = f"{found.claim.epsilon:.6g} is claimed"
    if isinstance(found, ExactAudit):
        return exact_sentence(found, claimed)
    sure = f"with {found.confidence * 100:.10g}% confidence"
    if found.refuted:
        return f"Refuted: {sure} epsilon is at least {found.lower_bound:.4f}, and {claimed}."
    if found.unknown is not None:
        return f"Cannot be told: {found.unknown}, and {claimed}."
    if not found.tested:
        return f"Not refuted: the search found no event that is likely enough to be tested, and {claimed}."
    if all(tested.found == tested.other == tested.trials for tested in found.tested):
        return (
            f"Not refuted: nothing was seen that differs, and {claimed}. "
            "It looks the same when the horizon is too short or the trials are too few."
        )
    blind = (
        f" In {found.unscored:.0%} of the runs some releases have noise that is reserved and used in a way that is not "
        "understood here: they may show more."
        if found.unscored
        else ""
    )
    return (
        f"Not refuted: {sure} epsilon is at least {found.lower_bound:.4f}, and {claimed}. "
        f"That nothing more was found is no proof.{blind}"
    )


def exact_sentence(found: ExactAudit, claimed: str) -> str:
    """Return what the account found, and of how many arms and steps that is said."""
    where = f"{counted(found.arms, 'arm')}, {counted(found.horizon, 'step')}"
    if found.leak is not None:
        return f"Exceeds the claim: {found.leak} ({where}), so nothing bounds what it loses."
    if found.refuted:
        loss = f"reward {found.shown.reward} loses {found.shown.epsilon:.6g} ({where}, noise: {found.shown.adversary})"
        return f"Exceeds the claim: {loss}, and {claimed}."
    if found.unknown == SILENT:
        return f"Cannot be told: {found.unknown}.{_unreached(found)}"
    if found.unknown == UPPER_BOUND:
        bound = f"what reward {found.worst} loses adds up to {found.epsilon:.6g} ({where}, noise: {found.adversary})"
        return (
            f"Cannot be told: {bound}, and {claimed}. That is an upper bound, since later releases may depend on "
            "earlier values, and nothing was found that shows a loss above the claim."
        )
    if found.unknown is not None:
        return f"Cannot be told: {found.unknown}, and what that loses is more than this account knows."
    over = f"over {counted(found.runs, 'run')}, {played(found)}, no reward loses more than"
    limits = f"{_undeclared(found)}{_unfollowed(found)}{_unreached(found)}"
    return f"Within the claim: {over} {_within(found, claimed)}.{limits}"


def _within(found: ExactAudit, claimed: str) -> str:
    """Return what is lost at most, for every horizon if more is claimed for longer ones."""
    if len({part.claim.epsilon for part in found.parts}) == 1:
        return f"{found.epsilon:.6g}, and {claimed}"
    worst: dict[int, Part] = {}
    for part in found.parts:
        if part.horizon not in worst or part.epsilon > worst[part.horizon].epsilon:
            worst[part.horizon] = part
    return " and ".join(
        f"{part.epsilon:.6g} in {counted(steps, 'step')} ({part.claim.epsilon:.6g} is claimed)"
        for steps, part in worst.items()
    )


def played(found: ExactAudit) -> str:
    """Return which numbers of arms and steps were played.

    >>> from dpbandits import LDPUCBLaplace, exact_audit
    >>> played(exact_audit(LDPUCBLaplace(epsilon=1.0), horizon=5))
    '2 and 3 arms for 5 steps'
    """
    many: dict[int, list[int]] = {part.arms: [] for part in found.parts}
    for part in found.parts:
        many[part.arms].append(part.horizon)
    if len(set(map(tuple, many.values()))) == 1:
        return f"{_listed(many, 'arm')} for {_listed(many[found.arms], 'step')}"
    return ", ".join(f"{counted(arms, 'arm')} for {_listed(steps, 'step')}" for arms, steps in many.items())


def _listed(numbers: Iterable[int], noun: str) -> str:
    """Return numbers of the same things: "2 and 3 arms"."""
    *others, last = numbers
    return " and ".join([*(f"{number:,}" for number in others), counted(last, noun)])


def _undeclared(found: ExactAudit) -> str:
    """Return that no run went as far as the policy is declared for, if so."""
    declared = found.policy.horizon
    if declared is None or any(part.steps >= declared for part in found.parts):
        return ""
    return f" No run reached the {counted(declared, 'step')} that it is declared for."


def _unfollowed(found: ExactAudit) -> str:
    """Return how many rewards were followed, where not all were."""
    parts = [part for part in found.parts if part.followed < part.steps]
    if not parts:
        return ""
    each = ", ".join(f"{part.followed:,} of {part.steps:,} ({counted(part.arms, 'arm')})" for part in parts)
    return f" Not all rewards were followed in long runs: {each}."


def _unreached(found: ExactAudit) -> str:
    """Return which lines no run has executed, if there are some."""
    if not found.unreached:
        return ""
    shown = ", ".join(found.unreached[:_SHOWN]) + (" and more" if len(found.unreached) > _SHOWN else "")
    return f" Never fully reached: {shown}."


def settings(found: Audit | ExactAudit) -> list[tuple[str, str]]:
    """Return what was attacked and how, as names and values."""
    rows = [
        ("policy", f"{found.policy}"),
        (f"claim, for {counted(found.horizon, 'step')}", found.claim.brief),
        (
            "proved" if is_ours(found.policy) else "guarantee, as its author states it",
            "none" if found.proved is None else found.proved.brief,
        ),
    ]
    if isinstance(found, Audit):
        rows += [("arms", f"{found.arms}"), ("steps", f"{found.horizon:,}")]
        seen = "the arms alone" if found.view == "actions" else "every release, and the arms that follow from them"
        used = f"{found.trials:,} of {found.asked:,}" if found.trials < found.asked else f"{found.trials:,}"
        rows += [("seen by the attacker", seen), ("trials", used), ("confidence", f"{found.confidence * 100:.10g}%")]
    else:
        rows += [("played", played(found)), ("runs", f"{found.runs}, by chance and by adversaries")]
        rows += [("lines that no run reached", ", ".join(found.unreached) or "none")]
    return rows


def shown_rewards(rewards: Sequence[float]) -> str:
    """Return rewards as digits; long ones as stretches.

    >>> shown_rewards([0, 1, 1]), shown_rewards([0] * 100 + [1] * 50)
    ('011', '0 x 100, 1 x 50')
    """
    if len(rewards) <= _LONG:
        return "".join(f"{reward:.0f}" for reward in rewards)
    stretches: list[tuple[float, int]] = []
    for reward in rewards:
        if stretches and stretches[-1][0] == reward:
            stretches[-1] = (reward, stretches[-1][1] + 1)
        else:
            stretches.append((reward, 1))
    shown = ", ".join(f"{reward:.0f} x {times}" for reward, times in stretches[:12])
    return shown + (" ..." if len(stretches) > 12 else "")
