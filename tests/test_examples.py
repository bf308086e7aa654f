"""The examples run as they are, and are as short as they say."""

import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("name", ["clinical_trial", "headline_test"])
def test_an_example_runs_and_prints_its_answer(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)  # nobody pulls a plug here
    path = EXAMPLES / f"{name}.py"
    assert len(path.read_text().splitlines()) < 60
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert "Promised to every" in printed
    assert "-DP in one reward" in printed
    assert "between" in printed
    assert "spent" in printed
