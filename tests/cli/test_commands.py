"""Every command is listed, and imported only when it runs."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits import cli
from dpbandits.cli.app import COMMANDS, app

pytestmark = pytest.mark.slow

LOADED = """
import json, sys
from dpbandits.cli import main
try:
    main()
except SystemExit as ended:
    heavy = {"numba", "pandas", "pyarrow", "matplotlib"} & set(sys.modules)
    rooms = {name for name in sys.modules if name.startswith("dpbandits.cli.")}
    print(json.dumps([ended.code or 0, sorted(heavy), sorted(rooms)]))
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["dpbandits", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), capsys.readouterr().out

    return command


def loaded(*words: str) -> tuple[str, list[Any]]:
    """Return what a command prints and, from a process of its own, its exit status and what it has loaded."""
    ended = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    printed, found = ended.stdout.rstrip("\n").rsplit("\n", 1)
    return printed, json.loads(found)


def test_summaries_are_the_first_sentences_of_the_commands() -> None:
    for listed in COMMANDS.values():
        import_module(f"dpbandits.cli.{listed.module}")
    helps = {each.name: (each.callback.__doc__ or "") if each.callback else "" for each in app.registered_commands}
    helps |= {each.name: str(each.typer_instance.info.help) for each in app.registered_groups if each.typer_instance}
    assert {name: text.partition("\n")[0] for name, text in helps.items()} == {
        name: listed.summary for name, listed in COMMANDS.items()
    }


def test_help_shows_every_summary_and_imports_no_command() -> None:
    printed, found = loaded("--help")
    assert found == [0, [], ["dpbandits.cli.app"]]
    text = " ".join(printed.split())
    for name, listed in COMMANDS.items():
        assert f"{name} {listed.summary}" in text


def test_a_command_imports_no_other_and_ledgers_no_extra(tmp_path: Path) -> None:
    export = tmp_path / "trial.jsonl"
    export.write_text(dpb.Bandit(dpb.recommended(epsilon=1.0), 2).ledger.to_jsonl())
    assert loaded("ledger", "verify", str(export))[1] == [
        0,
        [],
        [f"dpbandits.cli.{name}" for name in ("app", "files", "ledger_command", "options", "output", "parsing")],
    ]


def test_a_command_that_does_not_exist_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["dpbandits", "legder"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "No such command 'legder'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["pl"], ["plan"]),
        (["ledger", ""], ["verify", "show"]),
        (["ledger", "verify", "--cl"], ["--claim"]),
        (["simulate", "--mea"], ["--means"]),
        ([""], list(COMMANDS)),
    ],
)
def test_commands_and_their_options_complete(
    run: Any, words: list[str], completed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_DPBANDITS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["dpbandits", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    status, out = run()
    assert (status, out.split()) == (0, completed)


def test_completion_can_be_shown(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    status, out = run("--show-completion")
    assert status == 0
    assert "_DPBANDITS_COMPLETE=complete_bash" in out
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("none", "/bin/none"))
    assert run("--install-completion") == (2, "Shell none is not supported.\n")  # 1 would be a verdict


def test_the_package_runs_as_a_module() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "dpbandits", "--version"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, f"dpbandits {dpb.__version__}\n")
