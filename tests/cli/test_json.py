"""With --json standard output is one JSON document, and a table never breaks a name."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits import cli
from dpbandits.auditing.broken import BROKEN
from dpbandits.policies import POLICIES
from ledgers import contents_of
from tampering import chained

pytestmark = pytest.mark.slow

QUICK = ("--horizon", "200", "--runs", "20")


def refuse(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)

    def command(*words: str, status: int = 0) -> str:
        monkeypatch.setattr("sys.argv", ["dpbandits", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert (ended.value.code or 0) == status
        return str(capsys.readouterr().out)

    return command


@pytest.fixture
def document(printed: Any) -> Any:
    return lambda *words, status=0: json.loads(printed(*words, "--json", status=status), parse_constant=refuse)


def test_simulate(document: Any) -> None:
    words = ("simulate", "--policies", "ucb,dp-ucb", "--horizon", "200", "--runs", "1")
    found = document(*words, "--out", "a.csv", "--all-runs", "b.csv", "--plot", "c.png")
    assert (found["horizon"], found["runs"], found["seed"], found["means"]) == (200, 1, 0, [0.9, 0.6])
    first, second = found["policies"]
    assert (first["policy"], first["standard_error"], first["proved_epsilon"]) == ("ucb", None, None)
    assert (second["proved_epsilon"], second["proved_by"]) == (1.0, "dpbandits")


def test_policies(document: Any) -> None:
    found = {each["name"]: each for each in document("policies", "--epsilon", "0.5")}
    assert set(POLICIES) < set(found)
    assert found["dp-ucb:variant=published"]["proved"]["epsilon"] == 1.0
    assert found["dp-ucb:variant=published"]["claimed"]["epsilon"] == 0.5
    assert found["ucb"]["proved"] is None


def test_compare(document: Any) -> None:
    found = document("compare", "--instances", "paper", "--policies", "dp-se,ucb", "--epsilon", "1", *QUICK)
    assert found["yardstick"] == "the asymptotic lower bound"
    assert [(score["policy"], score["proved"]) for score in found["scores"][::2]] == [("dp-se", 1.0), ("ucb", None)]
    assert {standing["policy"]: standing["privacy"] for standing in found["ranking"]} == {"dp-se": 1.0, "ucb": None}


def test_plan(document: Any) -> None:
    words = ("--gap", "0.2,0.3", "--policies", "dp-se", "--epsilon", "1", *QUICK)
    first, second = document("plan", *words, "--arms", "2")["plans"]
    assert (first["means"], second["means"]) == ([0.7, 0.5], [0.8, 0.5])
    assert first["without"]["epsilon"] is None
    (answer,) = first["answers"]
    worse = answer["worse"]
    assert worse["unlucky_low"] <= worse["unlucky"] <= worse["unlucky_high"]
    assert answer["cost"]["share"] == pytest.approx(worse["mean"] - first["without"]["worse"]["mean"])
    assert first["sentences"][-1].startswith("Advice: ")


def test_audit(document: Any) -> None:
    words = ("audit", "ucb", "--trials", "2e4", "--no-gpu", "--out", "a.json")
    found = document(*words, status=1)
    assert found[0]["refuted"] is True
    assert found == json.loads(Path("a.json").read_text())
    assert [each["name"] for each in document("audit", "broken")] == [f"broken/{name}" for name in BROKEN]


def test_ledger(document: Any) -> None:
    Path("a.jsonl").write_text(chained(contents_of(dpb.DPIMED(epsilon=1.0))))
    assert document("ledger", "verify", "a.jsonl", "--report", "a.html")["verdict"] == "holds"
    found = document("ledger", "show", "a.jsonl")
    ledger = dpb.Ledger.from_jsonl(Path("a.jsonl").read_text())
    assert [row["content"] for row in found["rows"]] == [row.content for row in ledger]
    assert found["head"] == f"{ledger.head[0]}:{ledger.head[1]}"
    assert found["costs"][0]["epsilon"] == 1.0


def test_reproduce(document: Any) -> None:
    (found,) = document("reproduce", "--claim", "definition")["claims"]
    assert (found["name"], found["verdict"]) == ("definition", "fails")
    assert [measure["value"] for measure in found["measures"]] == pytest.approx([1.0, 5.0])


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_names_never_break(printed: Any, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = printed("policies")
    names = [*POLICIES, "dp-ucb-bound"]
    assert all(re.search(rf"(^|[│ ]){name}($|[ :])", out, re.MULTILINE) for name in names)
    assert max(map(len, out.splitlines())) <= width
    policies = "recommended,ldp-ucb-bernoulli,dp-se:order=turns:epsilon=0.123456789"
    for words in (
        ("simulate", "--policies", policies, "--epsilon", "0.1,1"),
        ("compare", "--instances", "paper", "--policies", policies, "--epsilon", "1"),
        ("plan", "--policies", policies, "--epsilon", "1"),
    ):
        out = printed(*words, *QUICK)
        assert "ldp-ucb-bernoulli" in out
        assert "ε" in out or "epsilon=0.1" in out
        if words[0] != "simulate":
            assert "dp-se:order=turns:epsilon=0.123456789" in out


def test_brackets_are_no_markup(printed: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dpbandits.environments import Bernoulli\nclass Odd(Bernoulli):\n"
        "    def __init__(self): super().__init__([0.9, 0.6])\n    def __repr__(self): return '[/red] odd'\n"
    )
    assert "[/red] odd" in printed("simulate", "--environment", "mine.py:Odd", "--policies", "ucb", *QUICK)
