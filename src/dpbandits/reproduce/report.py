"""The report: what was run, what came out, and a verdict on every claim; as a page, as Markdown, and as data."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbandits.reproduce.claims import CLAIMS, Claim, Finding, Verdict
from dpbandits.reproduce.document import (
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
from dpbandits.reproduce.experiments import (
    FORMS,
    HORIZON,
    PANELS,
    RUNS,
    Line,
    Panel,
    first_interval,
    published_interval,
    stated,
)
from dpbandits.reproduce.figures import TITLES, caption, panel_svg
from dpbandits.reproduce.statistics import mean_at, number
from dpbandits.reproduce.study import Study
from dpbandits.simulation import RegretSummary
from dpbandits.theory import lower_bounds, upper_bounds

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Algorithms for Differentially Private Multi-Armed Bandits, reproduced"
_KINDS = {
    Verdict.HOLDS: "holds",
    Verdict.ONLY_IF: "only-if",
    Verdict.FAILS: "fails",
    Verdict.UNDECIDED: "undecided",
}


def write_report(
    study: Study, findings: dict[str, Finding], folder: Path, *, flags: str, bounds: bool
) -> Iterator[Path]:
    """Write panels, tables, Markdown and the page, and yield each file when it is there.

    `flags` are what to add to a command to get the same settings.
    """
    (folder / "panels").mkdir(exist_ok=True)
    pictures = {}
    for form in FORMS:
        for panel in PANELS:
            means = (
                f"{line.algorithm} {number(float(_runs(study, panel, line).mean[-1]))}" for line in panel.lines(form)
            )
            picture = Picture(
                f"panels/{form}-{panel.slug}.svg",
                panel_svg(study, panel, form, bounds=bounds),
                f"Regret over time, {panel.name}, {form}: {', '.join(means)}",
            )
            pictures[form, panel] = picture
            (folder / picture.file).write_bytes(picture.svg)
            yield folder / picture.file
    curves, claims, text, page = (folder / n for n in ("regret.csv", "claims.csv", "report.md", "report.html"))
    _regret_table(study).to_csv(curves, index=False)
    yield curves
    _claims_table(findings).to_csv(claims, index=False)
    yield claims
    blocks = _blocks(study, findings, pictures, flags=flags, bounds=bounds)
    text.write_text(to_markdown(blocks), "utf-8")
    yield text
    page.write_text(to_html(blocks, TITLE), "utf-8")
    yield page


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
            "Intervals have 99% confidence. A command repeats one row, the counter-example included; verdicts are "
            "computed from the numbers. The paper's statements are in our words."
        ),
        _claims(findings, flags),
        Heading("Regret in numbers"),
        Paragraph(
            "Certified: what is proved of the whole action sequence, replacing one reward. Private-UCB and UCB are "
            "the same in both forms. Medians of more than 1,000 runs are right to 1%."
        ),
    ]
    for form in FORMS:
        blocks += [Heading(TITLES[form], 3), _regret_rows(study, form)]
    blocks += [
        Heading("Regret bounds"),
        Paragraph(
            f"At t = {study.settings.horizon:,}. * marks a bound that says nothing: it is at least t max Δ, the "
            "largest regret there is. Theorem 3.3 has no valid proof and Theorem 3.5 is false; both are shown as "
            "published."
        ),
        _bounds(study),
        Heading("Again"),
        Bullets(
            (
                ("This report:", Code(f"dpbandits reproduce{flags}")),
                ("One claim:", Code(f"dpbandits reproduce{flags} --claim theorem-3.5")),
                (
                    "The same numbers,",
                    "bit for bit, come from the same settings on any number of cores, also if it was stopped and "
                    "started again.",
                ),
                (
                    "Beside this page:",
                    "figure.png, .svg and .pdf, the same with -certified, regret.csv (every curve), claims.csv.",
                ),
            )
        ),
    ]
    return blocks


def _settings(study: Study) -> list[Block]:
    chosen = study.settings
    said = [
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
    return list(said)


def _in_short(findings: dict[str, Finding]) -> list[Block]:
    counts = Counter(finding.verdict for finding in findings.values())
    order = (Verdict.HOLDS, Verdict.ONLY_IF, Verdict.FAILS, Verdict.UNDECIDED)
    counted = ", ".join(
        f"{counts[verdict]} {_plural(verdict, counts[verdict])}" for verdict in order if counts[verdict]
    )
    failed = tuple(
        (f"{claim.where}:", f"{_first_sentence(claim.says)} It fails: {findings[claim.name].reason}")
        for claim in CLAIMS
        if findings[claim.name].verdict is Verdict.FAILS
    )
    return [Paragraph(f"Of {len(findings)} claims {counted}. Those that fail:"), Bullets(failed)]


def _plural(verdict: Verdict, count: int) -> str:
    plurals = {
        Verdict.HOLDS: "hold",
        Verdict.ONLY_IF: "hold only under a condition",
        Verdict.FAILS: "fail",
        Verdict.UNDECIDED: "are not decided",
    }
    singles = {
        Verdict.HOLDS: "holds",
        Verdict.ONLY_IF: "holds only under a condition",
        Verdict.FAILS: "fails",
        Verdict.UNDECIDED: "is not decided",
    }
    return (singles if count == 1 else plurals)[verdict]


def _first_sentence(text: str) -> str:
    return text.split("; ")[0].rstrip(".") + "."


def _claims(findings: dict[str, Finding], flags: str) -> Table:
    def row(claim: Claim) -> tuple[Any, ...]:
        finding = findings[claim.name]
        badge = Badge(finding.verdict, _KINDS[finding.verdict])
        return (
            claim.where,
            claim.says,
            (badge, finding.reason),
            finding.numbers,
            (claim.test, Code(claim.command + flags)),
        )

    return Table(
        ("where", "what the paper says", "verdict", "numbers", "how it is tested"),
        tuple(row(claim) for claim in CLAIMS),
    )


def _runs(study: Study, panel: Panel, line: Line) -> RegretSummary:
    return study.summary(line.policy, panel.scenario.environment)


def _regret_rows(study: Study, form: str) -> Table:
    horizon = study.settings.horizon
    rows = []
    for panel in PANELS:
        for line in panel.lines(form):
            summary = _runs(study, panel, line)
            guarantee = line.guarantee(horizon)
            rows.append(
                (
                    f"{panel.name}: {line.algorithm}",
                    line.input_privacy().strip("()"),
                    "none" if guarantee is None else stated(guarantee.epsilon, guarantee.delta),
                    str(mean_at(summary)),
                    number(float(summary.quantile(0.5)[-1])),
                    number(float(summary.least[-1])),
                    number(float(summary.largest[-1])),
                    f"{line.opening(len(panel.scenario.means), horizon):,}",
                )
            )
    header = ("policy", "input privacy", "certified", "mean regret", "median", "best run", "worst run", "initial phase")
    return Table(header, tuple(rows), numeric=True)


def _bounds(study: Study) -> Table:
    t = float(study.settings.horizon)
    bounds: dict[str, Any] = {
        "UCB1": lambda gaps, epsilon: upper_bounds.ucb1(gaps, t, capped=False),
        "DP-UCB-Bound, Theorem 3.2 as published": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, form="published", capped=False
        ),
        "DP-UCB-Bound, as in the paper's appendix": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, form="appendix", capped=False
        ),
        "DP-UCB-Bound, corrected, not split (2ε)": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, split=False, capped=False
        ),
        "DP-UCB-Bound, corrected, split (ε)": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, capped=False
        ),
        "DP-UCB, Theorem 3.3 (not proved)": lambda gaps, epsilon: upper_bounds.dp_ucb(gaps, t, epsilon, capped=False),
    }
    for series in ("y", "x", "constant"):
        bounds[f"DP-UCB-Int, Theorem 3.5 (false), {series}"] = lambda gaps, epsilon, series=series: (
            upper_bounds.dp_ucb_int(gaps, t, first_interval(published_interval(epsilon, series)), capped=False)
        )
    rows = [
        (name, *(_starred(bound(panel.scenario.gaps, panel.epsilon), t * max(panel.scenario.gaps)) for panel in PANELS))
        for name, bound in bounds.items()
    ]
    constants = [lower_bounds.asymptotic_constant(panel.scenario.means, panel.epsilon) for panel in PANELS]
    minimax = [lower_bounds.minimax(len(panel.scenario.means), t, panel.epsilon) for panel in PANELS]
    rows += [
        ("lower bound for δ = 0, about C ln t with C =", *map(number, constants)),
        ("lower bound on some instance, any policy", *map(number, minimax)),
    ]
    return Table(("bound", *(panel.name for panel in PANELS)), tuple(rows), numeric=True)


def _starred(bound: float, largest: float) -> str:
    return number(bound) + ("*" if bound >= largest else "")


def _regret_table(study: Study) -> "pd.DataFrame":
    """Return every curve, tidy: a row per form, panel, policy and time."""
    import pandas as pd

    frames = []
    for form in FORMS:
        for panel in PANELS:
            for line in panel.lines(form):
                summary = _runs(study, panel, line)
                frames.append(
                    pd.DataFrame(
                        {
                            "form": form,
                            "arms": len(panel.scenario.means),
                            "epsilon": panel.epsilon,
                            "algorithm": line.algorithm,
                            "policy": repr(line.policy),
                            "runs": summary.runs,
                            "t": summary.checkpoints,
                            "mean": summary.mean,
                            "standard_error": summary.standard_error,
                            "best": summary.least,
                            "quantile_05": summary.quantile(0.05),
                            "median": summary.quantile(0.5),
                            "quantile_95": summary.quantile(0.95),
                            "worst": summary.largest,
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)


def _claims_table(findings: dict[str, Finding]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "claim": claim.name,
                "where": claim.where,
                "says": claim.says,
                "test": claim.test,
                "verdict": str(findings[claim.name].verdict),
                "reason": findings[claim.name].reason,
                "numbers": "; ".join(findings[claim.name].numbers),
            }
            for claim in CLAIMS
        ]
    )
