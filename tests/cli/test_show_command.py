"""`dpbandits show`: what it prints on 80 columns, as JSON and as a page, and what it refuses."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from command_output import command_output
from explore_then_commit import ExploreThenCommit
from shared_noise import SharedNoise
from shown_to_owner import page_of

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "explore_then_commit.py"
ARMS = ["control", "drug A with a name that is far too long for a screen", "\x1b[31m"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda *words: command_output(monkeypatch, capsys, "show", *words)


@pytest.fixture
def bandit(tmp_path: Path) -> dpb.Bandit:
    """A bandit at work, with answers that are awaited."""
    policy = dpb.NoiseAwareIMED(epsilon=5.0)
    bandit = dpb.Bandit(policy, ARMS, noise=SharedNoise(1), journal=tmp_path / "trial.journal")
    people = bandit.assign_many(range(600))
    bandit.close_many([(each, float(each.arm != "control")) for each in people[:-20]])
    return bandit


def test_a_running_experiment_fits_a_terminal(run: Any, bandit: dpb.Bandit, tmp_path: Path) -> None:
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = run(tmp_path / "trial.journal")
    assert (status, err) == (0, "")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    text = " ".join(out.split())
    for words in (
        "noise-aware-imed: 600 assignments to 3 arms, ",
        "drug A",
        "(5, 0)-DP in one reward at any horizon",
        "5 of 5 spent, which is 100%.",
        f"{bandit.ledger.head[0]}:{bandit.ledger.head[1]}",
        "How many answers are awaited, and which: this report says the same whether one more has come or not.",
    ):
        assert words in text
    # A command in two lines can still be copied.
    assert "  dpbandits ledger verify trial.jsonl --head \\\n    " in out
    bandit.close(bandit.open_assignments()[0], 1.0)


def test_as_json(run: Any, bandit: dpb.Bandit, tmp_path: Path) -> None:
    status, out, _ = run(tmp_path / "trial.journal", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["assigned"] == 600
    assert found["verdict"] in ("decided", "undecided")
    assert found["head"] == {"number": bandit.ledger.head[0], "hash": bandit.ledger.head[1]}
    assert [row["value"] for row in found["releases"]] == bandit.ledger.to_pandas()["value"].tolist()
    assert [arm["high"] for arm in found["arms"]] == bandit.to_pandas()["high"].tolist()
    assert sum(arm["assigned"] for arm in found["arms"]) == 600
    assert found["guarantee"] == bandit.guarantee.to_dict()
    assert found["spent"] == {**vars(bandit.spent()), "exact": True}
    assert found["configuration"]["arms"] == ARMS


def test_as_a_page_with_the_mark_elsewhere(run: Any, bandit: dpb.Bandit, tmp_path: Path) -> None:
    mark = (tmp_path / "trial.journal.mark").rename(tmp_path / "elsewhere.mark")
    status, out, _ = run(tmp_path / "trial.journal", "--mark", mark, "--report", tmp_path / "shown.html")
    assert (status, out.splitlines()[-1]) == (0, f"Report: {tmp_path / 'shown.html'}")
    assert (tmp_path / "shown.html").read_text(encoding="utf-8") == page_of(bandit, tmp_path)
    assert run(tmp_path / "trial.journal")[0] == 2


def test_beside_another_process(bandit: dpb.Bandit, tmp_path: Path) -> None:
    """The bandit of this one has its lock."""
    command = [sys.executable, "-m", "dpbandits", "show", str(tmp_path / "trial.journal")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Live experiment\n")


def test_a_policy_of_ones_own(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "own.journal"
    dpb.Bandit(ExploreThenCommit(epsilon=1.0, plays=5), 2, journal=path).detach()
    status, out, _ = run(path, "--policy", f"{EXAMPLE}:ExploreThenCommit")
    assert status == 0
    assert "--policy mine.py:Name" in out
    status, out, err = run(path)
    assert (status, out) == (2, "")
    assert "Expected policy='explore-then-commit' to be one of ours, or to be passed as well." in err


def test_what_is_no_journal_is_refused_in_one_sentence(run: Any, bandit: dpb.Bandit, tmp_path: Path) -> None:
    other = tmp_path / "picture.png"
    other.write_bytes(b"\x89PNG\r\n")
    damaged = tmp_path / "damaged.journal"
    damaged.write_bytes((tmp_path / "trial.journal").read_bytes()[:-1])
    (tmp_path / "damaged.journal.mark").write_bytes((tmp_path / "trial.journal.mark").read_bytes())
    for path, message in (
        (tmp_path / "nothing", "cannot be opened as a journal: No such file or directory."),
        (tmp_path, "cannot be opened as a journal: it is not a regular file."),
        (other, "is not a journal."),
        (damaged, "is damaged at line 3."),
    ):
        status, out, err = run(path)
        assert (status, out) == (2, "")
        assert err.startswith("dpbandits: ")
        assert err.endswith(f"{message}\n")
        assert err.count("\n") == 1
    status, _, err = run(tmp_path / "trial.journal", "--report", tmp_path / "page.pdf")
    assert (status, err.endswith("to end in .html.\n")) == (2, True)


def test_an_interrupt_is_no_verdict(run: Any, bandit: dpb.Bandit, tmp_path: Path, monkeypatch: Any) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbandits.cli.show.journal_overview", interrupted)
    assert run(tmp_path / "trial.journal") == (130, "", "Stopped. Nothing was changed.\n")
