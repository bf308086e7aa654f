"""`dpbandits ledger verify` and `show`: verdicts, exit statuses, words, pages."""

import json
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits import cli
from dpbandits.mechanisms import Hybrid, RecordingNoise, SecureNoise
from explore_then_commit import ExploreThenCommit
from ledgers import contents_of
from tampering import chained, copied

EXAMPLE = Path(__file__).parents[2] / "examples" / "explore_then_commit.py"
NOT_CHECKED = "The end of the ledger was not checked: "


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["dpbandits", "ledger", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return command


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Ledgers on disk, true and forged ones, and other things."""
    folder = tmp_path_factory.mktemp("ledgers")
    contents = contents_of(dpb.DPIMED(epsilon=1.0), arms=["control", "drug A with a name that is far too long"])
    forged = copied(contents)
    for row in forged[1:]:
        row["scale"] = 1.0
    odd = {**contents[0], "arms": ["[/nothing]", "\x1b[31m\ud800"]}  # what a terminal could take for an instruction
    counted = dpb.Ledger()
    Hybrid(epsilon=1.0, noise=RecordingNoise(SecureNoise(), counted)).insert(1.0)
    texts = {
        "true": chained(contents),
        "forged": chained(forged),
        "short": chained(contents[:-2]),
        "own": chained(contents_of(ExploreThenCommit(epsilon=0.5, plays=20))),
        "counter": counted.to_jsonl(),
        "empty": "",
        "blank": " \n\n",
        "begun": chained(contents[:1]),
        "odd": chained([odd, {"note": "x"}, {**contents[1], "arm": "a" * 999, "scale": None, "first": 10**400}]),
    }
    for name, text in texts.items():
        (folder / f"{name}.jsonl").write_text(text)
    (folder / "picture.jsonl").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("name", "status", "verdict"),
    [
        ("true", 0, "Holds: "),
        ("begun", 0, "Holds: 0 releases of dp-imed"),
        ("short", 0, "Holds: "),
        ("forged", 1, "Does not hold: the releases cost epsilon = 4096 in one reward, and row 0 promises epsilon = 1."),
        ("picture", 3, "Cannot be told: the text is not a ledger: it does not begin with a row."),
        ("odd", 1, "Does not hold: row 1 has other columns than a release"),
        ("own", 3, "Cannot be told: the policy 'explore-then-commit' is not one of the built-in policies"),
        ("counter", 3, "Cannot be told: row 0 is not the configuration of a Bandit"),
        ("empty", 3, "Cannot be told: the text is empty"),
        ("blank", 3, "Cannot be told: the text is empty"),
    ],
)
def test_verdicts(run: Any, files: dict[str, Path], name: str, status: int, verdict: str) -> None:
    found, out, err = run("verify", files[name])
    assert (found, err) == (status, "")
    first, second = out.splitlines()[:2]
    assert first.startswith(NOT_CHECKED)
    assert second.startswith(verdict)


def test_heads(run: Any, files: dict[str, Path]) -> None:
    number, hashed = dpb.Ledger.from_jsonl(files["true"].read_text()).head
    for head in (hashed, f"{number}:{hashed}", f" {hashed.upper()}"):
        status, out, _ = run("verify", files["true"], "--head", head)
        assert status == 0
        assert out.startswith("Holds: ")
        assert run("verify", files["short"], "--head", head)[0] == 1
    assert run("verify", files["true"], "--head", f"{number - 1}:{hashed}")[0] == 1


def test_an_earlier_head(run: Any, files: dict[str, Path], tmp_path: Path) -> None:
    """A ledger that has grown still begins with what it was."""
    number, hashed = dpb.Ledger.from_jsonl(files["short"].read_text()).head
    warning = f"The head covers the rows up to {number}, and not the 2 rows after it: "
    for head in (hashed, f"{number}:{hashed}"):
        page = tmp_path / "ledger.html"
        status, out, _ = run("verify", files["true"], "--head", head, "--report", page)
        assert status == 0
        assert out.startswith(warning)
        assert "Holds: " in out
        assert warning in page.read_text()
    _, out, _ = run("verify", files["true"], "--head", hashed, "--json")
    assert (json.loads(out)["head_checked"], json.loads(out)["rows_after_head"]) == (True, 2)


def test_claims(run: Any, files: dict[str, Path]) -> None:
    assert run("verify", files["true"], "--claim", "1")[0] == 0
    assert run("verify", files["true"], "--claim", "2", "--delta", "1e-6")[0] == 0
    status, out, _ = run("verify", files["true"], "--claim", "0.5")
    assert status == 1
    assert "Does not hold: the schedule of row 0 costs epsilon = 1, and the claim is epsilon = 0.5." in out


def test_a_policy_of_ones_own(run: Any, files: dict[str, Path]) -> None:
    status, out, _ = run("verify", files["own"], "--policy", f"{EXAMPLE}:ExploreThenCommit")
    assert status == 0
    assert "Holds: 2 releases of explore-then-commit" in out


def test_json_and_page(run: Any, files: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "ledger.html"
    status, out, _ = run("verify", files["forged"], "--json", "--report", page, "--claim", "1")
    assert status == 1
    found = json.loads(out)
    assert found["verdict"] == "does not hold"
    assert found["head_checked"] is False
    html = page.read_text()
    for words in ("does not hold", NOT_CHECKED, "drug A with a name", "--claim 1.0", "Cannot be checked", "4096"):
        assert words in html
    status, out, _ = run("verify", files["empty"], "--report", page)
    assert status == 3
    assert f"Report: {page}" in out
    assert "cannot be told" in page.read_text()


def test_show(run: Any, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    for name in ("true", "forged", "own", "counter", "begun", "odd"):
        status, out, err = run("show", files[name])
        assert (status, err) == (0, "")
        number, hashed = dpb.Ledger.from_jsonl(files[name].read_text()).head
        assert out.endswith(f"Head: {number}:{hashed}\n")
    _, out, _ = run("show", files["true"])
    for words in ("dp-imed: epsilon=1", "control", "drug A with a n", "epsilon", "rewards in them"):
        assert words in out
    _, out, _ = run("show", files["odd"])
    assert "[/nothing], ?[31m?" in out
    assert "No releases yet" in run("show", files["begun"])[1]
    assert "its class is needed" in run("show", files["own"])[1].replace("\n", " ")
    assert "Costs so far" in run("show", files["own"], "--policy", f"{EXAMPLE}:ExploreThenCommit")[1]


def test_show_has_all_that_was_fixed_at_the_start(run: Any, tmp_path: Path) -> None:
    arms = ["control", "drug A", "drug B"]
    options: dict[str, Any] = {"reward_bounds": (1, 5), "default_reward": 2.5, "contributions": 3}
    path = tmp_path / "trial.jsonl"

    def shown(**more: Any) -> list[str]:
        bandit = dpb.Bandit(dpb.DPIMED(epsilon=1.0), arms, **options, **more)
        path.write_text(bandit.ledger.to_jsonl())
        return [" ".join(line.strip("│ ").split("│")[-1].split()) for line in run("show", path)[1].splitlines()]

    usual = shown()
    for words in ("[1.0, 5.0], others: refuse, missing: 2.5", "3 at most", "keeps their arm", "taken for ever", "none"):
        assert words in usual
    chosen = shown(window=86400, timing="sealed", shares={"drug A": 0.25, "control": 0.1}, sticky=False)
    for words in ("gets a fresh choice", "taken for 1 day", "sealed", "control: 0.1, drug A: 0.25"):
        assert words in chosen


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("verify", "missing.jsonl"), "No such file or directory"),
        (("show", "missing.jsonl"), "No such file or directory"),
        (("verify", "TRUE", "--head", "abc"), "Expected head='abc' as HASH or NUMBER:HASH"),
        (("verify", "TRUE", "--head", "x:" + "0" * 64), "as HASH or NUMBER:HASH"),
        (("verify", "TRUE", "--claim", "-1"), "Expected claim=-1.0 in (0, inf)."),
        (("verify", "TRUE", "--claim", "nan"), "Expected claim=nan in (0, inf)."),
        (("verify", "TRUE", "--claim", "1", "--delta", "2"), "Expected delta=2.0 in [0, 1)."),
        (("verify", "TRUE", "--delta", "0.1"), "Expected delta=0.1 together with a claim."),
        (("verify", "TRUE", "--policy", "mine.py"), "Expected policy='mine.py' as FILE.py:NAME"),
        (("verify", "TRUE", "--policy", f"{EXAMPLE}:ExploreThenCommit"), "to be the one of the ledger, 'dp-imed'."),
        (("verify", "TRUE", "--report", "page.pdf"), "Expected report='page.pdf' to end in .html."),
        (("show", "EMPTY"), "The text is empty: a ledger has at least one row."),
        (("show", "PICTURE"), "Row 0 cannot be read as a row of a ledger"),
    ],
)
def test_wrong_input_is_one_sentence(run: Any, files: dict[str, Path], words: tuple[str, ...], message: str) -> None:
    status, out, err = run(*(files.get(word.lower(), word) if word.isupper() else word for word in words))
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_check_that_is_stopped_decides_nothing(
    run: Any, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbandits.cli.ledger_command.check_ledger", stopped)
    assert run("verify", files["true"]) == (130, "", "Stopped. Nothing was decided.\n")
