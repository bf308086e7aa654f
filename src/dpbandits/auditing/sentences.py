"""The results of audits in sentences: verdicts, settings, reward sequences."""

from collections.abc import Iterable, Sequence

from dpbandits._phrases import count_text
from dpbandits.auditing.exact_losses import SILENT, UPPER_BOUND, ExactAudit
from dpbandits.auditing.runs import Part
from dpbandits.auditing.sampled_audit import Audit
from dpbandits.policies import is_ours

_LONG = 24
_LISTED_LINES = 5


def verdict(audit: Audit | ExactAudit) -> str:
    """Return the verdict in two or three words."""
    if audit.unknown is not None and not audit.refuted:
        return "cannot be told"
    if isinstance(audit, Audit):
        return "refuted" if audit.refuted else "not refuted"
    return "exceeds the claim" if audit.refuted else "within the claim"


def sentence(audit: Audit | ExactAudit) -> str:
    """Return the result of an audit in a sentence or two."""
    claimed = f"{audit.claim.epsilon:.6g} is claimed"
    if isinstance(audit, ExactAudit):
        return exact_sentence(audit, claimed)
    sure = f"with {audit.confidence * 100:.10g}% confidence"
    if audit.refuted:
        return f"Refuted: {sure} epsilon is at least {audit.lower_bound:.4f}, and {claimed}."
    if audit.unknown is not None:
        return f"Cannot be told: {audit.unknown}, and {claimed}."
    if not audit.tested:
        return f"Not refuted: the search found no event that is likely enough to be tested, and {claimed}."
    if all(tested.hits == tested.neighbour_hits == tested.trials for tested in audit.tested):
        return (
            f"Not refuted: no difference was seen, and {claimed}. "
            "It looks the same when the horizon is too short or the trials are too few."
        )
    blind = (
        f" In {audit.unscored:.0%} of the runs some releases have noise that is reserved and used in a way that is not "
        "understood here; they may show more."
        if audit.unscored
        else ""
    )
    return (
        f"Not refuted: {sure} epsilon is at least {audit.lower_bound:.4f}, and {claimed}. "
        f"That nothing more was found is no proof.{blind}"
    )


def exact_sentence(audit: ExactAudit, claimed: str) -> str:
    """Return the result of the exact account, and for how many arms and steps it holds."""
    where = f"{count_text(audit.arms, 'arm')}, {count_text(audit.horizon, 'step')}"
    if audit.leak is not None:
        return f"Exceeds the claim: {audit.leak} ({where}), so nothing bounds what it loses."
    if audit.refuted:
        certain = audit.shown
        loss = f"reward {certain.reward} loses {certain.epsilon:.6g} ({where}, noise: {certain.adversary})"
        return f"Exceeds the claim: {loss}, and {claimed}."
    if audit.unknown == SILENT:
        return f"Cannot be told: {audit.unknown}.{_unreached(audit)}"
    if audit.unknown == UPPER_BOUND:
        bound = f"what reward {audit.worst} loses adds up to {audit.epsilon:.6g} ({where}, noise: {audit.adversary})"
        return (
            f"Cannot be told: {bound}, and {claimed}. That is an upper bound, since later releases may depend on "
            "earlier values, and nothing was found that shows a loss above the claim."
        )
    if audit.unknown is not None:
        return f"Cannot be told: {audit.unknown}, and what that loses is more than this account knows."
    over = f"over {count_text(audit.runs, 'run')}, {sizes_played(audit)}, no reward loses more than"
    limits = f"{_undeclared(audit)}{_unfollowed(audit)}{_unreached(audit)}"
    return f"Within the claim: {over} {_within(audit, claimed)}.{limits}"


def _within(audit: ExactAudit, claimed: str) -> str:
    """Return what is lost at most, for every horizon if more is claimed for longer ones."""
    if len({part.claim.epsilon for part in audit.parts}) == 1:
        return f"{audit.epsilon:.6g}, and {claimed}"
    worst: dict[int, Part] = {}
    for part in audit.parts:
        if part.horizon not in worst or part.epsilon > worst[part.horizon].epsilon:
            worst[part.horizon] = part
    return " and ".join(
        f"{part.epsilon:.6g} in {count_text(steps, 'step')} ({part.claim.epsilon:.6g} is claimed)"
        for steps, part in worst.items()
    )


def sizes_played(audit: ExactAudit) -> str:
    """Return the numbers of arms and steps that were played.

    >>> from dpbandits import LDPUCBLaplace, exact_audit
    >>> sizes_played(exact_audit(LDPUCBLaplace(epsilon=1.0), horizon=5))
    '2 and 3 arms for 5 steps'
    """
    many: dict[int, list[int]] = {part.arms: [] for part in audit.parts}
    for part in audit.parts:
        many[part.arms].append(part.horizon)
    if len(set(map(tuple, many.values()))) == 1:
        return f"{_listed(many, 'arm')} for {_listed(many[audit.arms], 'step')}"
    return ", ".join(f"{count_text(arms, 'arm')} for {_listed(steps, 'step')}" for arms, steps in many.items())


def _listed(numbers: Iterable[int], noun: str) -> str:
    """Return numbers of the same things: "2 and 3 arms"."""
    *others, last = numbers
    return " and ".join([*(f"{number:,}" for number in others), count_text(last, noun)])


def _undeclared(audit: ExactAudit) -> str:
    """Return a sentence if no run went as far as the policy is declared for, else nothing."""
    horizon = audit.policy.horizon
    if horizon is None or any(part.steps >= horizon for part in audit.parts):
        return ""
    return f" No run reached the {count_text(horizon, 'step')} that it is declared for."


def _unfollowed(audit: ExactAudit) -> str:
    """Return how many rewards were followed if not all were, else nothing."""
    parts = [part for part in audit.parts if part.followed < part.steps]
    if not parts:
        return ""
    each = ", ".join(f"{part.followed:,} of {part.steps:,} ({count_text(part.arms, 'arm')})" for part in parts)
    return f" Not all rewards were followed in long runs: {each}."


def _unreached(audit: ExactAudit) -> str:
    """Return the lines that no run has executed if there are any, else nothing."""
    if not audit.unreached:
        return ""
    lines = ", ".join(audit.unreached[:_LISTED_LINES]) + (" and more" if len(audit.unreached) > _LISTED_LINES else "")
    return f" Never fully reached: {lines}."


def settings(audit: Audit | ExactAudit) -> list[tuple[str, str]]:
    """Return what was attacked and how, as names and values."""
    rows = [
        ("policy", f"{audit.policy}"),
        (f"claim, for {count_text(audit.horizon, 'step')}", audit.claim.brief),
        (
            "proved" if is_ours(audit.policy) else "guarantee, as its author states it",
            "none" if audit.proved is None else audit.proved.brief,
        ),
    ]
    if isinstance(audit, Audit):
        rows += [("arms", f"{audit.arms}"), ("steps", f"{audit.horizon:,}")]
        visible = "the arms alone" if audit.view == "actions" else "every release, and the arms that follow from them"
        trials = (
            f"{audit.trials:,} of {audit.most_trials:,}" if audit.trials < audit.most_trials else f"{audit.trials:,}"
        )
        rows += [
            ("seen by the attacker", visible),
            ("trials", trials),
            ("confidence", f"{audit.confidence * 100:.10g}%"),
        ]
    else:
        rows += [("played", sizes_played(audit)), ("runs", f"{audit.runs}, by chance and by adversaries")]
        rows += [("lines that no run reached", ", ".join(audit.unreached) or "none")]
    return rows


def rewards_text(rewards: Sequence[float]) -> str:
    """Return rewards as digits; long ones as stretches.

    >>> rewards_text([0, 1, 1]), rewards_text([0] * 100 + [1] * 50)
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
    text = ", ".join(f"{reward:.0f} x {times}" for reward, times in stretches[:12])
    return text + (" ..." if len(stretches) > 12 else "")
