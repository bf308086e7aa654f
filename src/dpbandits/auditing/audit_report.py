"""report.html of an audit: one page that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

from dpbandits._writing import write_file
from dpbandits.auditing.audit_figures import losses_svg, ratios_svg
from dpbandits.auditing.exact import ExactAudit
from dpbandits.auditing.sampled_audit import Audit
from dpbandits.auditing.sentences import sentence, settings, shown_rewards, verdict
from dpbandits.document import Badge, Block, Bullets, Code, Heading, Paragraph, Picture, Pictures, Table, to_html
from dpbandits.policies.labels import label

_SHOWS = (
    ("A refutation", "is a fact about the program, up to the stated confidence: the claim is false."),
    (
        "No refutation",
        "is no proof. Another pair of reward sequences, a rarer event or a longer run may show more; privacy rests on "
        "the theorem that is named above.",
    ),
    (
        "The exact account",
        "holds for the releases of the runs that were played, whatever the rewards were; it does not see a leak that "
        "goes another way than the policy's own code, such as a log or the time a computer needs.",
    ),
)


_ATTACKS = {"actions": "Attack from the arms", "releases": "Attack from the releases"}


def write_report(path: Path, parts: Sequence[Audit | ExactAudit], command: str | None = None) -> Path:
    """Write the page of attacks and exact accounts of one policy. `command` repeats them."""
    title = f"Audit of {label(parts[0].policy)}"
    blocks: list[Block] = [Heading(title, 1)]
    for found in parts:
        if isinstance(found, Audit):
            blocks += [Heading(_ATTACKS[found.view]), *_sampled(found)]
        else:
            blocks += [Heading("Exact account"), *_exact(found)]
    blocks += [Heading("What this shows"), Bullets(_SHOWS)]
    if command is not None:
        blocks += [Heading("Again"), Bullets((("The same audit:", Code(command)),))]
    return write_file(path, to_html(blocks, title).encode())


def _sampled(found: Audit) -> list[Block]:
    delta = found.claim.delta
    rows = tuple(
        (
            shown_rewards(tested.rewards),
            shown_rewards(tested.neighbours),
            f"{tested.position}",
            tested.event,
            f"{tested.found:,} against {tested.other:,} of {tested.trials:,} each",
            f"{tested.ratio(delta):.4f}",
            f"{tested.bound:.4f}",
        )
        for tested in found.tested
    )
    header = ("rewards", "neighbours", "differ at", "event", "came", "ln of the ratio", "epsilon is at least")
    return [
        _verdict(found),
        _settings(found),
        Paragraph(
            "Found by a search over reward sequences with one part of the trials, tested with fresh ones. Bounds are "
            "those of Clopper and Pearson, and hold together."
        ),
        Table(header, rows),
        Pictures((Picture("ratios.svg", ratios_svg(found), "Ratios of events, tested and explored"),)),
    ]


def _exact(found: ExactAudit) -> list[Block]:
    pictures = Pictures((Picture("losses.svg", losses_svg(found), "Loss of every reward by its time"),))
    blocks: list[Block] = [
        _verdict(found),
        _settings(found),
        Paragraph(
            "The policy was played with rewards that cannot be read: they carry their linear form, and only a release "
            "opens it. The loss of a reward is the sum, over the releases it is in, of what hiding it there costs."
        ),
    ]
    # After a leak there is no account.
    return [*blocks, pictures] if found.leak is None and (found.refuted or found.unknown is None) else blocks


def _verdict(found: Audit | ExactAudit) -> Table:
    is_decided = isinstance(found, ExactAudit) and found.unknown is None
    kind = "fails" if found.refuted else "holds" if is_decided else "undecided"
    return Table(("verdict", "found"), ((Badge(verdict(found), kind), sentence(found)),))


def _settings(found: Audit | ExactAudit) -> Table:
    return Table(("", ""), tuple(settings(found)))
