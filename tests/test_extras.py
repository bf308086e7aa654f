"""What is not installed is said in one sentence, before anything is done; and what needs no extra works without."""

import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from blocking import NOTHING_INSTALLED, uninstall
from dpbandits import cli, comparison, plots, reproduce
from dpbandits._extras import EXTRA_OF, require_extras
from dpbandits.auditing import count_actions
from dpbandits.auditing.audit_report import write_report
from dpbandits.comparison import comparison_figures
from dpbandits.reproduce import reproduction_figures, reproduction_tables
from dpbandits.simulation import summarise

pytestmark = pytest.mark.slow

TWO = dpb.Bernoulli([0.9, 0.6])
UCB = {"ucb": lambda epsilon: dpb.UCB()}
RESULT = dpb.SimulationResult(
    {"ucb": {"regrets": np.zeros((2, 1)), "switches": np.zeros(2, dtype=np.int64)}},
    np.ones(1, dtype=np.int64),
    policies={"ucb": dpb.UCB()},
    environment="two arms",
    means=[0.9, 0.6],
    seed=0,
)
NOTHING: Any = None  # what is asked for first is whether the package is there

SERVICE: list[Callable[[Path], Any]] = [lambda folder: importlib.import_module("dpbandits.service")]

ENTRIES: dict[str, list[Callable[[Path], Any]]] = {
    **dict.fromkeys(("sqlalchemy", "alembic", "psycopg"), SERVICE),
    "numba": [
        lambda folder: dpb.simulate(dpb.UCB(), TWO, horizon=10, runs=2, seed=0),
        lambda folder: next(summarise(dpb.UCB(), TWO, horizon=10, runs=2, seed=0)),
        lambda folder: count_actions(dpb.UCB(), [0, 1], arms=2, trials=10, seed=0),
        lambda folder: dpb.audit(dpb.UCB(), claim=dpb.Budget(1.0), gpu=False),
        lambda folder: comparison.compare(UCB, comparison.cases(["paper"], [1.0]), horizon=10, runs=2, seed=0),
        lambda folder: comparison.plan(
            {"it": lambda epsilon: dpb.recommended(epsilon=epsilon)}, [0.6, 0.5], horizon=10, epsilons=[1.0]
        ),
        lambda folder: reproduce.play_panels(reproduce.Study(reproduce.Settings(), folder)),
    ],
    "numba_cuda": [lambda folder: dpb.audit(dpb.UCB(), claim=dpb.Budget(1.0), horizon=5, gpu=True)],
    "pandas": [
        lambda folder: dpb.Bandit(dpb.recommended(epsilon=1.0), 2).to_pandas(),
        lambda folder: dpb.Ledger().to_pandas(),
        lambda folder: RESULT.summary(),
        lambda folder: RESULT.to_pandas(),
        lambda folder: comparison.Leaderboard(()).to_pandas(),
        lambda folder: comparison.Plan.to_pandas(NOTHING),
        lambda folder: reproduction_tables.curves_frame(NOTHING),
        lambda folder: reproduction_tables.claims_frame({}),
        lambda folder: reproduce.write_all(NOTHING, {}, folder),
    ],
    "matplotlib": [
        lambda folder: dpb.Bandit(dpb.recommended(epsilon=1.0), 2).plot(),
        lambda folder: RESULT.plot(),
        lambda folder: plots.plot_regret({}, RESULT.checkpoints, "nothing"),
        lambda folder: plots.same_every_time().__enter__(),
        lambda folder: comparison_figures.leaderboard_figure(comparison.Leaderboard(())),
        lambda folder: comparison_figures.plan_figure(NOTHING),
        lambda folder: reproduction_figures.panel_svg(NOTHING, NOTHING, "published", bounds=False),
        lambda folder: next(reproduction_figures.save_figure(NOTHING, "published", folder, bounds=False)),
        lambda folder: reproduce.write_all(NOTHING, {}, folder),
        lambda folder: write_report(folder / "a.html", [dpb.exact_audit(dpb.DPUCB(epsilon=1.0), arms=2, horizon=5)]),
    ],
    "river": [lambda folder: importlib.import_module("dpbandits.adapters.river")],
    "gymnasium": [lambda folder: importlib.import_module("dpbandits.adapters.gymnasium")],
}


def requirements() -> Any:
    return tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]


def names(required: list[str]) -> list[str]:
    return [re.split(r"[<>=[]", each)[0] for each in required]


def test_the_base_is_small_and_every_extra_holds_what_is_said() -> None:
    assert names(requirements()["dependencies"]) == ["numpy", "scipy", "opendp", "dp-accounting", "typer", "rich"]
    extras = requirements()["optional-dependencies"]
    for package, extra in EXTRA_OF.items():
        assert package.replace("_", "-") in names(extras[extra])
    assert extras["all"] == ["dpbandits[simulate,plots,parquet,service]"]


def sentence(package: str) -> str:
    name = package.replace("_", "-")
    return f"{name} is needed for this and is not installed: pip install 'dpbandits[{EXTRA_OF[package]}]'"


@pytest.mark.parametrize(
    ("package", "entry"), [(package, entry) for package, entries in ENTRIES.items() for entry in entries]
)
def test_what_needs_a_package_says_so(
    package: str, entry: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in ("adapters.river", "adapters.gymnasium", "service"):
        monkeypatch.delitem(sys.modules, f"dpbandits.{module}", raising=False)
    report = tmp_path / "report.html"
    report.write_text("kept")
    uninstall(monkeypatch, package)
    with pytest.raises(dpb.MissingExtra) as refused:
        entry(tmp_path)
    assert str(refused.value) == sentence(package)
    assert refused.value.name == package
    assert report.read_text() == "kept"


def test_what_is_missing_is_an_import_error_and_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    require_extras("numba", "pandas", "matplotlib")
    uninstall(monkeypatch, "numba", "pandas", "matplotlib")
    with pytest.raises(ImportError) as refused:
        require_extras("numba", "pandas", "matplotlib")
    assert str(refused.value) == (
        "numba, pandas and matplotlib are needed for this and are not installed: "
        "pip install 'dpbandits[simulate,plots]'"
    )


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("numba", ("simulate",)),
        ("pandas", ("simulate",)),
        ("matplotlib", ("simulate", "--plot", "a.png")),
        ("pyarrow", ("simulate", "--out", "a.parquet")),
        ("numba", ("compare",)),
        ("pandas", ("compare",)),
        ("matplotlib", ("compare",)),
        ("numba", ("plan",)),
        ("matplotlib", ("plan", "--plot", "a.svg")),
        ("numba", ("audit", "dp-ucb")),
        ("numba_cuda", ("audit", "dp-ucb", "--gpu")),
        ("matplotlib", ("audit", "dp-ucb", "--exact", "--report", "a.html")),
        ("numba", ("reproduce",)),
        ("pandas", ("reproduce",)),
        ("matplotlib", ("reproduce",)),
        ("numba", ("reproduce", "--claim", "int-best")),
    ],
)
def test_commands_say_it_in_one_sentence(
    package: str,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["dpbandits", *words])
    uninstall(monkeypatch, package)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, *capsys.readouterr()) == (2, "", f"dpbandits: {sentence(package)}\n")
    assert list(tmp_path.iterdir()) == []


BASE = """
import json, pathlib
import dpbandits as dpb
from dpbandits.cli import main

bandit = dpb.Bandit(dpb.recommended(epsilon=5.0), arms=["A", "B"], horizon=200, journal="trial.journal")
for _ in range(100):
    person = bandit.assign()
    bandit.close(person, reward=1.0)
assert len(bandit.ledger) > 1
bandit.estimates(), bandit.compare("A", "B"), bandit.spent()
bandit.report("trial.html")
export = bandit.ledger.to_jsonl()
assert dpb.check_ledger(export, claim=dpb.Budget(5.0), head=bandit.ledger.head).verdict == "holds"
pathlib.Path("trial.jsonl").write_text(export)

for words in (
    ["ledger", "verify", "trial.jsonl", "--report", "ledger.html"],
    ["ledger", "show", "trial.jsonl"],
    ["show", "trial.journal", "--report", "shown.html"],
    ["policies"],
    ["audit", "broken"],
    ["audit", "dp-ucb", "--exact", "--horizon", "5"],
    *([name, "--help"] for name in ("simulate", "compare", "plan", "audit", "reproduce")),
):
    sys.argv = ["dpbandits", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
print(sorted({name.partition(".")[0] for name in sys.modules} & {"numba", "pandas", "pyarrow", "matplotlib"}))
"""


def test_the_base_needs_no_extra(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", NOTHING_INSTALLED + BASE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == "[]"
    assert (tmp_path / "ledger.html").exists()
    assert (tmp_path / "shown.html").read_bytes() == (tmp_path / "trial.html").read_bytes()
