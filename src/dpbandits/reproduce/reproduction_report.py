"""The report: what was run, what came out, and a verdict on every claim; as a page and as Markdown."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpbandits._writing import write_file
from dpbandits.document import (
    Badge,
    Block,
    Bullets,
    Code,
    Heading,
    Paragraph,
    Picture,
    Pictures,
    Table,
    to_html,
    to_markdown,
)
from dpbandits.reproduce.agreement import CLAIMS_FILE, SETTINGS_FILE, described
from dpbandits.reproduce.claims import CLAIMS, Cause, Claim, Finding, Verdict
from dpbandits.reproduce.confidence import number
from dpbandits.reproduce.measures import measure_lines
from dpbandits.reproduce.paper_experiments import FORMS, HORIZON, PANELS, RUNS, Panel
from dpbandits.reproduce.reproduction_figures import TITLES, caption, panel_svg
from dpbandits.reproduce.reproduction_tables import bounds_table, claims_frame, curves_frame, regret_table
from dpbandits.reproduce.study import Study

TITLE = "Algorithms for Differentially Private Multi-Armed Bandits, reproduced"
_KINDS = {
    Verdict.HOLDS: "holds",
    Verdict.ONLY_IF: "only-if",
    Verdict.FAILS: "fails",
    Verdict.UNDECIDED: "undecided",
}
_WORDS = (
    ("Regret:", "the expected reward lost against always playing the best arm."),
    ("Input privacy:", "what an algorithm was asked for; DP-UCB-Int is asked for (ε′, δ′)."),
    (
        "Proved:",
        "what is proved for the whole action sequence, for two reward sequences that differ in one reward. A smaller "
        "number is more privacy.",
    ),
    (
        "Drawn once, as printed:",
        "DP-UCB-Int releases an arm's mean rarely. Its pseudo-code draws the noise of a release again at every step "
        "while the arm waits; as published means here that it is drawn once.",
    ),
    (
        "Constant interval, x- and y-series:",
        "when it releases: every f plays, or at the counts W₁ < W₂ < … of Lemma B.1, which has two versions.",
    ),
    ("Branches C and D:", "the two terms of Theorem 3.4 and Corollary 3.1, of which the smaller counts."),
    ("Frozen and renewed term:", "whether its confidence term √(2 ln t/n) stands still between two releases."),
    ("Γ:", "what Private-UCB adds to its sums to allow for their noise."),
    ("Split:", "the hybrid counter gives half of ε to its trees and half to its totals."),
)


def write_report(
    study: Study, findings: dict[str, Finding], folder: Path, *, flags: str, bounds: bool
) -> Iterator[Path]:
    """Write panels, tables, Markdown and, last, the page; yield each file when it is there.

    `flags` are what to add to a command to get the same settings.
    """
    (folder / "panels").mkdir(exist_ok=True)
    pictures = {}
    for form in FORMS:
        for panel in PANELS:
            picture = _picture(study, panel, form, bounds=bounds)
            pictures[form, panel] = picture
            yield write_file(folder / picture.file, picture.svg)
    yield write_file(folder / "regret.csv", curves_frame(study).to_csv(index=False).encode())
    yield write_file(folder / CLAIMS_FILE, claims_frame(findings).to_csv(index=False).encode())
    yield write_file(folder / SETTINGS_FILE, json.dumps(described(study.settings), indent=2).encode())
    blocks = _blocks(study, findings, pictures, flags=flags, bounds=bounds)
    yield write_file(folder / "report.md", to_markdown(blocks).encode())
    yield write_file(folder / "report.html", to_html(blocks, TITLE).encode())


def _picture(study: Study, panel: Panel, form: str, *, bounds: bool) -> Picture:
    means = []
    for line in panel.lines(form):
        summary = study.summary(line.policy, panel.scenario.environment)
        means.append(f"{line.algorithm} {number(float(summary.mean[-1]))}")
    return Picture(
        f"panels/{form}-{panel.slug}.svg",
        panel_svg(study, panel, form, bounds=bounds),
        f"Regret over time, {panel.name}, {form}: {', '.join(means)}",
    )


def _blocks(
    study: Study,
    findings: dict[str, Finding],
    pictures: dict[tuple[str, Panel], Picture],
    *,
    flags: str,
    bounds: bool,
) -> list[Block]:
    blocks: list[Block] = [
        Heading(TITLE, 1),
        Paragraph(
            "Does the paper of Tossou & Dimitrakakis (AAAI 2016) hold up? Its experiments were run again, and every "
            "claim of its abstract, its list of contributions, its theorems and its experiments was tested by a "
            "program."
        ),
        *_settings(study),
        Heading("In short"),
        *_in_short(findings),
        Heading("Regret"),
        Paragraph(caption(study, bounds=bounds)),
    ]
    for form in FORMS:
        blocks += [Heading(TITLES[form], 3), Pictures(tuple(pictures[form, panel] for panel in PANELS))]
    blocks += [
        Heading("Every claim"),
        Paragraph(
            "The paper's statements are in our words. Verdicts follow from the numbers beside them (those of pure "
            "mathematics are fixed); a command repeats one row, the counter-example included. Intervals are for 99% "
            "confidence: Student's for means, exact ones for shares. Means of DP-UCB-Int come from many runs, because "
            "about one in a hundred decides them."
        ),
        _claims(findings, flags),
        Heading("Words"),
        Bullets(_WORDS),
        Heading("Regret in numbers"),
        Paragraph(
            "Private-UCB and UCB are the same in both forms. Proved privacy does not repair DP-UCB-Int: some of "
            "its runs keep an inferior arm in both forms, as the last but one column shows. Medians of more than "
            "1,000 runs are right to 1%."
        ),
    ]
    for form in FORMS:
        blocks += [Heading(TITLES[form], 3), regret_table(study, form)]
    blocks += [
        Heading("Regret bounds"),
        Paragraph(
            f"At t = {study.settings.horizon:,}. * marks a bound that says nothing: it is at least t max Δ, the "
            "largest regret there is. Theorem 3.3 has no valid proof and Theorem 3.5 is false; both are shown as "
            "published."
        ),
        bounds_table(study),
        Heading("Again"),
        Bullets(
            (
                ("This report:", Code(f"dpbandits reproduce{flags}{' --bounds' if bounds else ''}")),
                ("One claim:", Code(f"dpbandits reproduce --claim theorem-3.5{flags}")),
                ("With another reproduction:", Code(f"dpbandits reproduce{flags} --against OTHER")),
                ("The command", "is .venv/bin/dpbandits in a checkout, after make reproduce."),
                (
                    "The same numbers,",
                    "bit for bit, come from the same settings on any number of cores, also if it was stopped and "
                    "started again.",
                ),
                (
                    "Beside this page:",
                    "figure.png, .svg and .pdf, the same with -proved, regret.csv (every curve), claims.csv (every "
                    "measure), settings.json.",
                ),
            )
        ),
    ]
    return blocks


def _settings(study: Study) -> list[Block]:
    chosen = study.settings
    said: list[Block] = [
        Paragraph(
            f"Settings: T = {chosen.horizon:,}, {chosen.runs:,} runs, seed {chosen.seed}; Bernoulli arms "
            f"{{0.9, 0.6}} or ten arms, eight at 0.1, one at 0.2, one at 0.55; v = 1.1, δ′ = e⁻¹⁰. Single claims use "
            "more and longer runs, as they say."
        )
    ]
    if chosen.horizon != HORIZON or chosen.runs < RUNS or chosen.effort < 1:
        said.append(
            Paragraph(
                f"These are not the paper's settings (T = {HORIZON:,}, {RUNS} runs) with full effort: verdicts that "
                "rest on runs are about the settings above."
            )
        )
    return said


def _in_short(findings: dict[str, Finding]) -> list[Block]:
    """Count the verdicts, then say what fails: first what several claims fail by, then the others one by one."""
    found = {verdict: [c for c in CLAIMS if findings[c.name].verdict is verdict] for verdict in Verdict}
    counts = Counter({verdict: len(claims) for verdict, claims in found.items()})
    said = {
        Verdict.HOLDS: "hold",
        Verdict.ONLY_IF: "hold only under a condition",
        Verdict.FAILS: "fail",
        Verdict.UNDECIDED: "are not decided",
    }
    single = {"hold": "holds", "fail": "fails", "are": "is"}
    counted = ", ".join(
        f"{counts[verdict]} " + (" ".join(single.get(w, w) for w in words.split()) if counts[verdict] == 1 else words)
        for verdict, words in said.items()
        if counts[verdict]
    )
    items: list[tuple[str, str]] = []
    for cause in Cause:
        rows = [claim.where for claim in found[Verdict.FAILS] if claim.cause is cause]
        if rows:
            items.append((f"{cause}.", f"(Claims that fail by it: {' · '.join(dict.fromkeys(rows))}.)"))
    items += [
        (f"{claim.where}:", f"{claim.says} It fails: {findings[claim.name].reason}")
        for claim in found[Verdict.FAILS]
        if claim.cause is None
    ]
    blocks: list[Block] = [Paragraph(f"Of {len(findings)} claims {counted}.")]
    if items:
        blocks += [Paragraph("What fails:"), Bullets(tuple(items))]
    if found[Verdict.HOLDS]:
        held = ((f"{claim.where}:", claim.says) for claim in found[Verdict.HOLDS])
        blocks += [Paragraph("What holds as it stands:"), Bullets(tuple(held))]
    return blocks


def _claims(findings: dict[str, Finding], flags: str) -> Table:
    def row(claim: Claim) -> tuple[Any, ...]:
        finding = findings[claim.name]
        badge = Badge(finding.verdict, _KINDS[finding.verdict])
        return (
            claim.where,
            claim.says,
            (badge, finding.reason),
            measure_lines(finding.measures),
            (claim.test, Code(claim.command + flags)),
        )

    return Table(
        ("where", "what the paper says", "verdict", "numbers", "how it is tested"),
        tuple(row(claim) for claim in CLAIMS),
    )
