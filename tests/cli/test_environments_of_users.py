"""An environment from a user's own file is simulated, compared and planned with."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpbandits as dpb
from dpbandits import InvalidInput, cli
from dpbandits.cli.files import environment_from
from dpbandits.environments import Beta, Replay

pytestmark = pytest.mark.slow

TEXT = """
from dpbandits.environments import Beta, Replay

table = Replay([[0.2, 0.9], [0.4, 0.7]], order="given")

class Stars(Beta):
    def __init__(self):
        super().__init__([3, 2], [2, 3])

def made():
    return Stars()

def wrong():
    raise ValueError("no such table")

def demanding(table):
    return table

nothing = 3
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "mine.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return "mine.py"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["dpbandits", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0, err) == (0, "")
        return str(out)

    return command


def test_an_instance_a_class_or_a_function(file: str) -> None:
    assert isinstance(environment_from(f"{file}:table"), Replay)
    assert isinstance(environment_from(f"{file}:Stars"), Beta)
    assert environment_from(f"{file}:made").means.tolist() == [0.6, 0.4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine.py", "Expected environment='mine.py' as FILE.py:NAME, such as mine.py:stars."),
        ("mine.py:missing", "Expected 'missing' in 'mine.py' to be an Environment, or a class or function that makes"),
        ("mine.py:nothing", "Expected 'nothing' in 'mine.py' to be an Environment"),
        ("mine.py:wrong", r"Expected wrong\(\) in 'mine.py' to make an environment. It fails with ValueError: no such"),
        ("mine.py:demanding", r"Expected demanding\(\) in 'mine.py' to make an environment. It fails with TypeError: "),
        ("mine.py:Environment", "Expected 'Environment' in 'mine.py'"),
    ],
)
def test_what_is_none_is_one_sentence(file: str, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        environment_from(text)


def test_it_is_simulated(file: str, run: Any) -> None:
    short = ("--policies", "ucb", "--horizon", "100", "--runs", "5")
    out = run("simulate", "--environment", f"{file}:table", *short)
    title = "Regret after 100 steps, 5 runs, Replay(table=[[0.2, 0.9], [0.4, 0.7]], order='given')"
    assert title in " ".join(out.split())  # it is wider than its table
    found = json.loads(run("simulate", "--environment", f"{file}:made", *short, "--json"))
    expected = dpb.simulate(dpb.UCB(), Beta([3, 2], [2, 3]), horizon=100, runs=5).final_regret("ucb").mean()
    assert found["policies"][0]["mean"] == pytest.approx(expected)


def test_it_is_compared(file: str, run: Any) -> None:
    short = ("--policies", "recommended,ucb", "--horizon", "100", "--runs", "5")
    out = run("compare", "--environment", f"{file}:made", "--epsilon", "0.5", *short)
    assert "mine.py:made, ε = 0.5; C ln T of Bernoulli arms with the same means = " in out
    assert "C ln T: that of Bernoulli arms with the same means;" in out.replace("\n", " ").replace("  ", " ")
    assert "lower bound" not in out
    both = ("--environment", f"{file}:made", "--instances", "paper")
    found = json.loads(run("compare", *both, *short, "--json"))
    assert len(found["scores"]) == 2 * 2 * 3
    assert len(pd.read_csv("comparison/scores.csv")) == 12


def test_it_is_planned_with(file: str, run: Any) -> None:
    short = ("--policies", "recommended", "--horizon", "100", "--runs", "20", "--epsilon", "1")
    out = run("plan", "--environment", f"{file}:table", *short)
    assert "100 people, arms with mean rewards of 0.8, 0.3" in out
    assert "succe" not in out
