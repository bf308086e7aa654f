"""reproduce: everything in one go. The panels, the claims, then figures and report."""

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from dpbandits._extras import require_extras
from dpbandits._progress import Progress
from dpbandits.environments.environment import Environment
from dpbandits.policies import Policy
from dpbandits.reproduce.claims import CLAIMS, Claim, Finding
from dpbandits.reproduce.paper_experiments import FORMS, PANELS
from dpbandits.reproduce.reproduction_figures import FORMATS, save_figure
from dpbandits.reproduce.reproduction_report import write_report
from dpbandits.reproduce.study import Study
from dpbandits.simulation import RegretSummary


def play_panels(study: Study, *, progress: bool | None = None) -> None:
    """Run every policy of the four panels, as published and as proved, as often as the settings say."""
    _play(study, study.summary, progress)


def play_more(study: Study, *, progress: bool | None = None) -> None:
    """Run those policies of the panels again and again whose mean a few runs decide."""
    _play(study, study.steady, progress)


def _play(study: Study, play: Callable[[Policy, Environment], RegretSummary], progress: bool | None) -> None:
    lines = {
        (line.policy, panel.scenario): f"{panel.name}: {line.algorithm}"
        for form in FORMS
        for panel in PANELS
        for line in panel.lines(form)
    }
    with Progress(len(lines), "curves", progress) as bar:
        for (policy, scenario), name in lines.items():
            study.parts.on_runs = _counter(bar, name)
            play(policy, scenario.environment)
            bar.advance(1)
    study.parts.on_runs = lambda runs: None


def check_claims(study: Study, claims: Iterable[Claim] = CLAIMS, *, progress: bool | None = None) -> dict[str, Finding]:
    """Test the claims, each once: what was found by an earlier process with the same settings is taken as it is."""
    listed = list(claims)
    findings = {}
    with Progress(len(listed), "claims", progress) as bar:
        for claim in listed:
            study.parts.on_runs = _counter(bar, f"{claim.where}: {claim.name}")
            findings[claim.name] = _find(study, claim)
            bar.advance(1)
    study.parts.on_runs = lambda runs: None
    return findings


def _find(study: Study, claim: Claim) -> Finding:
    return Finding.from_dict(study.kept(f"claim {claim.name}", lambda: claim.check(study).to_dict()))


def _counter(bar: Progress, what: str) -> Callable[[int], None]:
    """Return what shows the runs that a claim has made so far."""
    bar.describe(what)
    done = 0

    def count(runs: int) -> None:
        nonlocal done
        done += runs
        bar.describe(f"{what}, {done:,} runs")

    return count


def write_all(
    study: Study,
    findings: dict[str, Finding],
    folder: Path,
    *,
    flags: str = "",
    bounds: bool = False,
    progress: bool | None = None,
) -> list[Path]:
    """Write figures, tables and report to the folder."""
    require_extras("pandas", "matplotlib")
    for name in ("report.html", "report.md"):  # none is better than one that does not fit the figures beside it
        (folder / name).unlink(missing_ok=True)
    figures = (save_figure(study, form, folder, bounds=bounds) for form in FORMS)
    report = write_report(study, findings, folder, flags=flags, bounds=bounds)
    paths = []
    with Progress(len(FORMS) * (len(FORMATS) + len(PANELS)) + 5, "files", progress) as bar:
        bar.describe("drawing and writing")
        for path in chain(*figures, report):
            paths.append(path)
            bar.advance(1)
    return paths
