"""report.html of an audit: one page that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

from dpbandits._writing import write_file
from dpbandits.auditing.audit_figures import losses_svg, ratios_svg
from dpbandits.auditing.exact_losses import ExactAudit
from dpbandits.auditing.sampled_audit import Audit
from dpbandits.auditing.sentences import rewards_text, sentence, settings, verdict
from dpbandits.document import Badge, Block, Bullets, Code, Heading, Paragraph, Picture, Pictures, Table, to_html
from dpbandits.policies.labels import label

_MEANING = (
    ("A refutation", "is a fact about the program, up to the stated confidence: the claim is false."),
    (
        "No refutation",
        "is no proof. Another pair of reward sequences, a rarer event or a longer run may show more; privacy rests on "
        "the theorem that is named above.",
    ),
    (
        "The exact account",
        "holds for the releases of the runs that were played, whatever the rewards were. It does not see leaks outside "
        "the policy's own code, such as a log or the time that a computation takes.",
    ),
)


_ATTACKS = {"actions": "Attack from the arms", "releases": "Attack from the releases"}


def write_report(path: Path, parts: Sequence[Audit | ExactAudit], command: str | None = None) -> Path:
    """Write the page of attacks and exact accounts of one policy. `command` repeats them."""
    title = f"Audit of {label(parts[0].policy)}"
    blocks: list[Block] = [Heading(title, 1)]
    for audit in parts:
        if isinstance(audit, Audit):
            blocks += [Heading(_ATTACKS[audit.view]), *_sampled(audit)]
        else:
            blocks += [Heading("Exact account"), *_exact(audit)]
    blocks += [Heading("What this shows"), Bullets(_MEANING)]
    if command is not None:
        blocks += [Heading("Again"), Bullets((("The same audit:", Code(command)),))]
    return write_file(path, to_html(blocks, title).encode())


def _sampled(audit: Audit) -> list[Block]:
    delta = audit.claim.delta
    rows = tuple(
        (
            rewards_text(tested.rewards),
            rewards_text(tested.neighbours),
            f"{tested.position}",
            tested.event,
            f"{tested.hits:,} against {tested.neighbour_hits:,} of {tested.trials:,} each",
            f"{tested.ratio(delta):.4f}",
            f"{tested.bound:.4f}",
        )
        for tested in audit.tested
    )
    header = ("rewards", "neighbours", "differ at", "event", "came", "ln of the ratio", "epsilon is at least")
    return [
        _verdict(audit),
        _settings(audit),
        Paragraph(
            "A search over reward sequences found these events with one part of the trials; fresh trials tested them. "
            "The bounds are those of Clopper and Pearson, and hold together."
        ),
        Table(header, rows),
        Pictures((Picture("ratios.svg", ratios_svg(audit), "Ratios of events, tested and explored"),)),
    ]


def _exact(audit: ExactAudit) -> list[Block]:
    pictures = Pictures((Picture("losses.svg", losses_svg(audit), "Loss of every reward by its time"),))
    blocks: list[Block] = [
        _verdict(audit),
        _settings(audit),
        Paragraph(
            "The policy was played with rewards that cannot be read: they carry their linear form, and only a release "
            "opens it. The loss of a reward is the sum, over the releases that contain it, of what hiding it there "
            "costs."
        ),
    ]
    # After a leak there is no account.
    return [*blocks, pictures] if audit.leak is None and (audit.refuted or audit.unknown is None) else blocks


def _verdict(audit: Audit | ExactAudit) -> Table:
    is_decided = isinstance(audit, ExactAudit) and audit.unknown is None
    kind = "fails" if audit.refuted else "holds" if is_decided else "undecided"
    return Table(("verdict", "result"), ((Badge(verdict(audit), kind), sentence(audit)),))


def _settings(audit: Audit | ExactAudit) -> Table:
    return Table(("", ""), tuple(settings(audit)))
