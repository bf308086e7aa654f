"""The command line does what its help says."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpbandits as dpb
from dpbandits import cli
from dpbandits.engine.loop import play_runs

pytestmark = pytest.mark.slow


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["dpbandits", *words])
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return command


SHORT = ("simulate", "--policies", "ucb,dp-ucb:variant=published,dp-ucb-int", "--horizon", "1e3", "--runs", "20")


def test_simulate_prints_a_table(run: Any) -> None:
    status, out, err = run(*SHORT)
    assert (status, err) == (0, "")
    assert "Regret after 1,000 steps, 20 runs, arms 0.9, 0.6" in out
    result = dpb.simulate(dpb.UCB(), dpb.Bernoulli([0.9, 0.6]), horizon=1000, runs=20, seed=0)
    assert f"{result.final_regret('ucb').mean():,.1f}" in out
    assert "2-DP" in out
    assert "(1, 1e-06)-DP" in out
    assert run(*SHORT)[1] == out


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_simulate_writes_data_and_a_figure(run: Any, tmp_path: Path, ending: str) -> None:
    summary, every, figure = tmp_path / f"summary.{ending}", tmp_path / f"runs.{ending}", tmp_path / "regret.png"
    status, out, _ = run(*SHORT, "--out", str(summary), "--all-runs", str(every), "--plot", str(figure))
    assert status == 0
    readers: dict[str, Any] = {"parquet": pd.read_parquet, "csv": pd.read_csv}

    def read(path: Path) -> pd.DataFrame:
        assert str(path) in out
        return pd.DataFrame(json.loads(path.read_text())) if ending == "json" else readers[ending](path)

    frame = read(every)
    assert list(frame.columns) == ["policy", "run", "t", "regret"]
    assert set(frame.policy) == {"ucb", "dp-ucb variant=published", "dp-ucb-int"}
    assert frame.run.max() == 19
    rows = read(summary)
    assert list(rows.columns) == [
        *("policy", "settings", "mean", "standard_error", "median", "percentile_99", "worst", "runs", "horizon"),
        *("proved_epsilon", "proved_delta", "proved_by"),
    ]
    assert rows.policy.tolist() == ["ucb", "dp-ucb variant=published", "dp-ucb-int"]
    assert rows.settings[1] == "DPUCB(epsilon=1.0, variant='published', counter='hybrid')"
    interval = dpb.DPUCBInt(epsilon=1.0, delta=1e-6).guarantee()
    assert rows["proved_epsilon"].tolist()[1:] == pytest.approx([2.0, interval.epsilon], rel=1e-12)
    assert rows["proved_delta"].tolist()[1:] == [0.0, 1e-6]
    assert rows["proved_epsilon"].isna().tolist() == [True, False, False]
    ends = frame[frame.t == 1000].groupby("policy").regret
    assert rows["mean"].tolist() == pytest.approx([ends.mean()[name] for name in rows.policy])
    assert rows["worst"].tolist() == pytest.approx([ends.max()[name] for name in rows.policy])
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--policies", "best"),
            "Expected policy 'best' to be one of ucb, klucb, imed, thompson-sampling, private-ucb",
        ),
        (("--policies", "dp-ucb:varian=published"), "Expected setting 'varian=published' of dp-ucb as key=value"),
        (("--policies", "dp-ucb:variant=other"), "Expected variant='other' to be one of proved, published."),
        (("--policies", ","), "Expected at least one policy."),
        (("--means", "0.5,much"), "Expected means='much' to be a number."),
        (("--means", "0.5,1.5"), "Expected means=1.5 in [0, 1]."),
        (("--means", "0.5", "--environment", "a.py:b"), "Expected means='0.5' without environment='a.py:b', which"),
        (("--epsilon", "0"), "Expected epsilon=0 in [1e-06, inf)."),
        (("--epsilon", ","), "Expected epsilon=',' to be a number, or several with commas."),
        (("--horizon", "1.5"), "Expected horizon=1.5 to be a whole number"),
        (("--runs", "-3"), "Expected runs=-3 in [1, inf)."),
        (("--horizon", "1000000000000000001"), "Expected horizon=1000000000000000001 in"),
        (("--policies", "ucb:epsilon=1"), "Expected ucb without settings, not 'epsilon=1': it has none."),
        (("--out", "tests.csv/runs.csv"), "to be a file in a folder that exists."),
        (("--out", "data.xls"), "Expected out='data.xls' to end in .parquet, .csv, .json."),
        (("--all-runs", "data.xls"), "Expected all_runs='data.xls' to end in .parquet, .csv, .json."),
        (("--keep", __file__), "to be a folder."),
        (("--plot", "missing-folder/x.png"), "to be a file in a folder that exists."),
    ],
)
def test_bad_input_is_one_sentence(run: Any, words: tuple[str, str], message: str) -> None:
    status, out, err = run("simulate", *words)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_every_private_policy_plays_at_every_level(run: Any) -> None:
    words = (
        "--policies",
        "ucb,dp-ucb,dp-ucb-int:epsilon=3",
        "--epsilon",
        "0.1,1,0.1",
        "--horizon",
        "50",
        "--runs",
        "1",
    )
    status, out, _ = run("simulate", *words)
    assert status == 0
    for name in ("ucb ", "dp-ucb epsilon=0.1", "dp-ucb epsilon=1.0", "dp-ucb-int "):
        assert out.count(f"│ {name}") == 1
    assert "Regret after 50 steps, 1 run, arms" in out


def test_a_simulation_that_was_kept_goes_on(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ("--keep", str(tmp_path / "played"))
    expected = run(*SHORT)[1]
    assert run(*SHORT, *kept)[1] == expected
    monkeypatch.setattr("dpbandits.simulation.parts.played_chunks", None)  # nothing is played again
    assert run(*SHORT, *kept)[1] == expected

    def stopped(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbandits.simulation.parts.played_chunks", stopped)
    assert run(*SHORT, *kept, "--seed", "1") == (130, "", "Stopped. The same command goes on from here.\n")
    assert run(*SHORT, "--seed", "1") == (130, "", "Stopped.\n")


def test_policies_lists_names_guarantees_and_sources(run: Any) -> None:
    status, out, _ = run("policies", "--epsilon", "0.5")
    assert status == 0
    for name in ("ucb", "private-ucb", "dp-ucb", "dp-ucb-bound", "dp-ucb-int", "hybrid-dmab"):
        assert f"│ {name} " in out
    assert "Mishra & Thakurta" in out
    assert "0.5-DP" in out
    assert "1-DP" in out


def test_help_and_version(run: Any) -> None:
    assert dpb.__version__ in run("--version")[1]
    for words in (("--help",), ("reproduce", "--help"), ("simulate", "--help"), ("policies", "--help")):
        status, out, _ = run(*words)
        assert status == 0
        assert "Usage" in out


def test_one_claim_is_repeated_and_nothing_is_written(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run("reproduce", "--claim", "definition")
    assert (status, err) == (0, "")
    assert "Definition 2.1" in out
    assert "log ratio of 5 choices together: 5" in out
    assert "FAILS: it bounds one step" in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--claim", "theorem-9"), "Expected claim='theorem-9' to be one of optimal-regret,"),
        (("--runs", "1"), "Expected runs=1 in [2, 1000000000]."),
        (("--runs", "many"), "Expected runs='many' to be a number."),
        (("--horizon", "10"), "Expected horizon=10 in [1000, 1000000000]."),
        (("--seed", "-1"), "Expected seed=-1 in [0, inf)."),
        (("--out", "file.txt"), "Expected out='file.txt' to be a folder for the results alone."),
        (("--out", ""), "Expected out='.' to be a folder for the results alone."),
        (("--out", "../here"), "Expected out='../here' to be a folder for the results alone."),
        (("--out", "other"), "Expected out='other' to be a folder for the results alone."),
    ],
)
def test_reproduce_refuses_bad_input_before_it_does_anything(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str], message: str
) -> None:
    folder = tmp_path / "here"
    (folder / "other").mkdir(parents=True)
    monkeypatch.chdir(folder)
    (folder / "file.txt").write_text("")
    (folder / "other" / "report.html").write_text("of somebody else")
    status, out, err = run("reproduce", *words)
    assert (status, out) == (2, "")
    assert message in err
    assert len(list(folder.rglob("*"))) == 3


QUICK = ("compare", "--instances", "paper", "--policies", "recommended,dp-se,ucb", "--horizon", "2e3", "--runs", "20")


def test_compare_ranks_and_writes(run: Any, tmp_path: Path) -> None:
    out_folder = tmp_path / "board"
    status, out, err = run(*QUICK, "--out", str(out_folder))
    assert (status, err) == (0, "")
    assert "Over all 4 cases" in out
    assert "10 arms, ε = 0.1; lower bound for long runs, C ln T = 704.1" in out
    scores = pd.read_csv(out_folder / "scores.csv")
    assert scores["policy"].unique().tolist() == ["noise-aware-imed", "dp-se", "ucb"]
    assert len(scores) == 12
    assert pd.read_csv(out_folder / "ranking.csv")["cases"].tolist() == [4, 4, 4]
    assert (out_folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    parts = {path: path.stat().st_mtime_ns for path in (out_folder / "parts").iterdir()}
    assert run(*QUICK, "--out", str(out_folder))[1] == out
    assert {path: path.stat().st_mtime_ns for path in (out_folder / "parts").iterdir()} == parts  # nothing anew
    another = tmp_path / "another"
    status, _, err = run(*QUICK, "--out", str(another), "--keep", str(out_folder / "parts"))
    assert (status, err) == (0, "")
    assert (another / "scores.csv").read_bytes() == (out_folder / "scores.csv").read_bytes()


def test_plan_answers_in_words(run: Any, tmp_path: Path) -> None:
    figure = tmp_path / "plan.png"
    words = (
        "plan",
        "--arms",
        "2",
        "--gap",
        "0.2",
        "--horizon",
        "5e3",
        "--runs",
        "20",
        "--policies",
        "recommended,dp-se",
    )
    status, out, err = run(*words, "--plot", str(figure))
    assert (status, err) == (0, "")
    assert "5,000 people, arms that succeed with 0.7, 0.5" in out
    assert out.count("With ε = ") == 3
    assert "Advice: " in out
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert out.count("noise-aware-imed") >= 3
    both = run(*words[:3], "--gap", "0.2,0.3", *words[5:])[1]
    assert both.count("Advice: ") == 2
    exact = run("plan", "--means", "0.5,0.7", *words[5:])[1]
    assert exact.split("Figure")[0] in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "--instances", "nothing"), "Expected instances='nothing' to be one of paper, five-arms"),
        (
            ("compare", "--policies", "private-ucb:relaxation=better"),
            "Expected relaxation='better' to be one of ",
        ),
        (("compare", "--policies", ","), "Expected policies=',' to name at least one of ucb,"),
        (
            ("compare", "--policies", "recommended:epsilon=2"),
            "Expected recommended without settings, not 'epsilon=2'",
        ),
        (("compare", "--epsilon", "x"), "Expected epsilon='x' to be a number"),
        (
            ("compare", "--instances", "random:3,random:2:1", "--epsilon", "1"),
            "Expected epsilon='1' only with bandits that have none of their own, not random:3,random:2:1.",
        ),
        (("compare", "--keep", __file__), "to be a folder"),
        (
            ("plan", "--environment", "a.py:b", "--means", "0.5,0.6"),
            "Expected means=0.5,0.6 without environment='a.py:b', which replaces it.",
        ),
        (("compare", "--out", __file__), "to be a folder"),
        (("plan", "--gap", "0.6"), "Expected gap=0.6 in (0, 0.5]"),
        (
            ("plan", "--delta", "0.1"),
            "Expected delta=0.1 only with a policy that uses one, unlike noise-aware-imed and dp-imed and",
        ),
        (
            ("compare", "--delta", "0.1"),
            "Expected delta=0.1 only with a policy that uses one, unlike noise-aware-imed and dp-imed and",
        ),
        (("plan", "--gap", ","), "Expected gap=',' to be a number"),
        (("plan", "--arms", "1"), "Expected arms=1 in [2, 10000]"),
        (("plan", "--means", "0.5"), "Expected means='0.5' to be at least two success rates"),
        (("plan", "--means", "0.5,0.5"), "to differ: there is nothing to learn"),
        (
            ("plan", "--means", "0.5,0.6", "--gap", "0.2"),
            "Expected gap=0.2 without means='0.5,0.6', which replaces it.",
        ),
        (("plan", "--gap", "0.1,0.2", "--plot", "x.png"), "Expected gap='0.1,0.2' to be one number: a plot shows one"),
        (("plan", "--plot", "x.doc"), "to end in .png, .svg, .pdf"),
    ],
)
def test_compare_and_plan_refuse_bad_input_in_one_sentence(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert message in err.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


def test_two_results_are_not_written_into_one_file(run: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "x.csv")
    status, out, err = run(*SHORT, "--out", file, "--all-runs", file)
    assert (status, out) == (2, "")
    assert f"Expected all_runs='{file}' to be a different file from out." in " ".join(err.split())
    assert not list(tmp_path.iterdir())


AUDIT = ("audit", "dp-ucb", "--trials", "5e4", "--horizon", "5", "--no-gpu")


def test_audit_says_what_it_found_and_how_to_repeat_it(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpbandits.auditing.runs._MORE_RUNS", 0)  # nobody waits for lines that five steps do not reach
    page, data = tmp_path / "audit.html", tmp_path / "audit.json"
    status, out, err = run(*AUDIT, "--report", str(page), "--out", str(data))
    assert (status, err) == (0, "")
    assert out.count("Not refuted: with 97.5% confidence epsilon is at least 0.") == 2  # 95% for both together
    actions, releases, exact = json.loads(data.read_text())
    assert [found["view"] for found in (actions, releases)] == ["actions", "releases"]
    for found in (actions, releases):
        assert f"epsilon is at least {found['lower_bound']:.4f}" in out
    assert exact["epsilon"] == 1.0
    assert page.read_text().count("data:image/svg+xml") == 3
    (again,) = (line.removeprefix("Again: dpbandits ") for line in out.splitlines() if line.startswith("Again: "))
    assert again in page.read_text()
    assert run(*again.split())[1] == out.split("Data: ")[0]


def test_a_refuted_claim_is_exit_status_1(run: Any) -> None:
    ucb = ("audit", "ucb", "--epsilon", "2", "--trials", "2e4", "--horizon", "5", "--no-gpu")
    status, out, _ = run(*ucb, "--view", "actions")
    assert status == 1
    assert "Refuted: with 95% confidence epsilon is at least" in out
    assert "and 2 is claimed" in out
    status, out, _ = run(*ucb)
    assert (status, out.count("Audit of ucb")) == (1, 1)  # that was enough
    status, out, _ = run("audit", "dp-ucb", "--variant", "published", "--exact", "--horizon", "8")
    assert status == 1
    assert "Exceeds the claim: reward 3 loses 2 " in out
    status, out, _ = run("audit", "dp-ucb", "--exact", "--horizon", "8")
    assert status == 0
    assert "Within the claim: over" in out


def test_an_audit_fails_if_any_part_does(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attacks have two arms, and find nothing here; the exact account has three."""
    monkeypatch.setattr(
        "dpbandits.engine.cpu.CPUPlayer._loop", lambda player, task, state, noise: play_runs
    )  # in Python
    words = ("audit", "broken/weak-third-arm", "--trials", "1e3", "--no-gpu")
    status, out, _ = run(*words)
    assert (status, out.count("Not refuted"), out.count("Exceeds the claim")) == (1, 2, 1)
    status, out, _ = run(*words, "--view", "actions")
    assert (status, out.count("Not refuted"), out.count("Exceeds the claim")) == (0, 1, 0)
    status, out, _ = run(*words, "--view", "actions", "--report", str(tmp_path / "a.html"))
    assert (status, out.count("Not refuted"), out.count("Exceeds the claim")) == (1, 1, 1)


def test_broken_policies_are_listed_and_audited(run: Any) -> None:
    status, out, _ = run("audit", "broken")
    assert status == 0
    assert out.count("broken/") == 18
    status, out, _ = run("audit", "broken/shared-noise", "--exact")
    assert status == 1
    assert "claimed by a mistake" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("audit", "best"), "Expected policy 'best' to be one of ucb"),
        (("audit", "broken/nothing"), "Expected policy 'broken/nothing' to be one of broken/unsplit-hybrid"),
        (("audit", "dp-ucb", "--view", "logs"), "Expected view='logs' to be one of actions, releases."),
        (("audit", "dp-ucb", "--trials", "ten"), "Expected trials='ten' to be a number."),
        (("audit", "dp-ucb", "--trials", "10"), "Expected trials=10 in [1000, 1000000000000]."),
        (("audit", "dp-ucb", "--horizon", "1e9"), "Expected horizon=1000000000 in [1, 131072]."),
        (("audit", "dp-ucb", "--exact", "--view", "actions"), "Expected view='actions' without --exact"),
        (("audit", "dp-ucb", "--confidence", "2"), "Expected confidence=2.0 in (0, 1)."),
        (("audit", "dp-ucb", "--report", "audit.pdf"), "Expected report='audit.pdf' to end in .html."),
        (("audit", "ucb", "--variant", "published"), "Expected ucb without settings"),
    ],
)
def test_audits_that_make_no_sense_are_refused(run: Any, words: tuple[str, ...], message: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert message in err.replace("\n", " ")


def test_an_audit_that_is_stopped_decides_nothing(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbandits.cli.audit.audit", stopped)
    status, _, err = run(*AUDIT)
    assert (status, err) == (130, "Stopped. Nothing was decided.\n")
