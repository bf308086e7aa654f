"""Exit statuses: 1 is a verdict and nothing else. And a file that cannot be written is found out at the start."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import spoiling
from dpbandits import cli
from dpbandits.engine.loop import play_runs

pytestmark = pytest.mark.slow

POLICY = """
import math
from dataclasses import dataclass
from dpbandits.policies import Policy, UCB
from dpbandits.privacy import Guarantee

@dataclass(frozen=True)
class Claiming(Policy):
    epsilon: float
    delta: float = 0.0
    name = "claiming"
    source = "a user"

    def setup(self, arms, horizon):
        return UCB().configure(arms, horizon)

    def guarantee(self, horizon=math.inf):
        return Guarantee(self.epsilon, self.delta, horizon=horizon, theorem="nothing", proved=True)

@dataclass(frozen=True)
class Crashing(Claiming):
    def setup(self, arms, horizon):
        raise RuntimeError("a mistake in it")

@dataclass(frozen=True, kw_only=True)
class Demanding(Claiming):
    plays: int
    slow: bool = False
    rate: float = 1.0
    word: str = ""

    def __post_init__(self):
        if self.plays < 1:
            raise ValueError(f"plays={self.plays} is too few.\\nSee the page.")

    def setup(self, arms, horizon):
        assert type(self.plays) is int and type(self.word) is str
        return super().setup(arms, horizon)
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["dpbandits", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return command


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(POLICY)
    return str(path)


def test_a_users_own_policy_is_audited_and_simulated(run: Any, mine: str) -> None:
    words = ("audit", f"{mine}:Claiming:delta=0.25", "--epsilon", "2", "--trials", "2e4", "--horizon", "5", "--no-gpu")
    status, out, _ = run(*words)
    assert status == 1
    assert "(2, 0.25)-DP" in out
    assert f"Again: dpbandits audit {mine}:Claiming:delta=0.25 --epsilon 2.0" in out
    status, out, _ = run("simulate", "--policies", f"ucb,{mine}:Claiming", "--horizon", "100", "--runs", "3")
    assert status == 0
    assert "claiming" in out
    for name, message in (
        ("Claiming:plays=3", "with a key among epsilon, delta"),
        ("Demanding", "can be made with: Demanding.__init__() missing 1 required keyword-only argument: 'plays'."),
        ("Missing", "which has: Claiming, Crashing, Demanding."),
        ("Demanding:plays=abc", "Expected plays='abc' to be a whole number in (-inf, inf)."),
        ("Demanding:plays=1.5", "Expected plays=1.5 to be a whole number in (-inf, inf)."),
        ("Demanding:plays=3:slow=yes", "Expected slow='yes' to be True or False."),
        ("Demanding:plays=3:rate=fast", "Expected rate='fast' to be a number in (-inf, inf)."),
        ("Demanding:plays=0", "Demanding can be made with: plays=0 is too few. See the page."),
    ):
        status, _, err = run("audit", f"{mine}:{name}")
        assert (status, message in err.replace("\n", "")) == (2, True), err


def test_settings_are_what_the_class_declares(run: Any, mine: str) -> None:
    words = ("--policies", f"{mine}:Demanding:plays=1e1:word=7", "--horizon", "50", "--runs", "2", "--json")
    status, out, _ = run("simulate", *words)
    assert status == 0
    (found,) = json.loads(out)["policies"]
    assert "plays=10, slow=False, rate=1.0, word='7'" in found["settings"]
    assert (found["proved_epsilon"], found["proved_by"]) == (1.0, "its author")


def test_what_the_system_says_is_told_in_words(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    status, _, err = run("ledger", "verify", str(missing))
    sentence = f"dpbandits: Expected {str(missing)!r} to be a file that can be read or written: "
    assert (status, err.replace("\n", "")) == (2, sentence + "No such file or directory.")

    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpbandits.cli.simulate.simulate", full)
    status, _, err = run("simulate")
    assert (status, err) == (2, "dpbandits: Expected to be able to read and write: No space left on device.\n")


def test_a_crash_is_no_refutation(run: Any, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, err = run("audit", f"{mine}:Crashing")
    assert status == 70
    assert "/typer/" not in err  # only where the mistake is, and how it was reached
    assert err.rstrip().endswith("RuntimeError: a mistake in it")  # with the way to it

    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpbandits.cli.audit.audit", full)
    assert run("audit", "dp-ucb")[0] == 2


@pytest.mark.parametrize("words", [("policies",), ("--help",), ("audit", "broken")], ids=" ".join)
def test_a_reader_who_goes_away_is_no_refutation(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = "from dpbandits.cli import main; main()"
    try:
        ended = subprocess.run(
            [sys.executable, "-c", program, *words], stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_nor_is_one_in_the_middle_of_a_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*arguments: Any, **named: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("dpbandits.cli.audit._show", closed)
    assert run("audit", "ucb", "--trials", "2e3", "--no-gpu")[0] == 141


def test_a_delta_that_nobody_uses_is_refused(run: Any) -> None:
    for words, names in (
        (("audit", "dp-ucb", "--delta", "1e-3"), "dp-ucb"),
        (("audit", "broken/shared-noise", "--delta", "1e-3"), "broken/shared-noise"),
        (("simulate", "--policies", "ucb,dp-imed", "--delta", "1e-3"), "ucb and dp-imed"),
    ):
        status, _, err = run(*words)
        assert status == 2
        assert err.strip() == f"dpbandits: Expected delta=0.001 only with a policy that uses one, unlike {names}."
    status, out, _ = run("audit", "ucb", "--delta", "1e-3", "--trials", "2e4", "--no-gpu")  # here it is the claim's
    assert status == 1
    assert "(1, 0.001)-DP" in out


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "dp-ucb", "--report", "a.html"),
        ("audit", "dp-ucb", "--out", "a.json"),
        ("simulate", "--plot", "a.png"),
        ("simulate", "--out", "a.csv"),
        ("simulate", "--all-runs", "a.csv"),
        ("simulate", "--keep", "new/folder"),
        ("plan", "--plot", "a.png"),
        ("compare", "--out", "new/folder"),
        ("reproduce", "--out", "new"),
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_written_is_found_out_at_once(
    run: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(**named: Any) -> None:
        assert Path(named["dir"]).resolve() == tmp_path
        raise PermissionError(13, "Permission denied")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    status, _, err = run(*words)
    assert status == 2
    assert "that can be written: Permission denied." in err
    assert not list(tmp_path.iterdir())


def test_to_ask_whether_a_file_can_be_written_changes_nothing(run: Any, tmp_path: Path) -> None:
    kept = tmp_path / "a.json"
    kept.write_text("kept")
    assert run("audit", "dp-ucb", "--out", str(kept), "--view", "logs")[0] == 2
    assert kept.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [kept]


def test_releases_that_cannot_be_scored_are_exit_status_3(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps are over before anything is released. So little is played that it need not be compiled."""
    monkeypatch.setattr("dpbandits.engine.cpu.CPUPlayer._loop", lambda player, task, state, noise: play_runs)
    words = ("--view", "releases", "--horizon", "2", "--trials", "1e3", "--no-gpu")
    status, out, _ = run("audit", f"{spoiling.__file__}:InTurn", *words)
    assert status == 3
    assert "Cannot be told: no run was seen that one reward makes likelier" in out


def test_an_interrupt_is_told_also_where_a_command_has_nothing_to_add(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbandits.comparison.planning.played_chunks", stopped)
    assert run("plan", "--horizon", "1000") == (130, "", "Stopped.\n")
