"""Stopped and started again, a reproduction ends with the same numbers, from the work that was left."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.reproduce import Settings, Study, check_claims, play_panels
from dpbandits.reproduce.claims import definition, interval
from dpbandits.simulation import parts as parts_module

SMALL = Settings(horizon=2000, runs=130, effort=0.01)
TWO = dpb.Bernoulli([0.9, 0.6])


# A process that sends itself a signal as soon as so many parts are on disk: that does not hang on anybody's time.
STOPPING = """
import os
from dpbandits.cli import main
from dpbandits import _writing

replace = _writing.replace_file

def replace_and_stop(path, write):
    replace(path, write)
    if len(list(path.parent.iterdir())) == {parts}:
        os.kill(os.getpid(), {stop})

_writing.replace_file = replace_and_stop
main()
"""


def command(folder: Path, code: str = "from dpbandits.cli import main; main()") -> list[str]:
    words = ["reproduce", "--quick", "--horizon", "2000", "--runs", "5", "--out", str(folder)]
    return [sys.executable, "-c", code, *words]


def test_killed_stopped_and_started_again_gives_the_same_files(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(whole), check=True, capture_output=True)
    parts = len(list((whole / "parts").iterdir()))
    for share, stop, status in ((0.3, signal.SIGKILL, -signal.SIGKILL), (0.7, signal.SIGINT, 130)):
        code = STOPPING.format(parts=int(share * parts), stop=int(stop))
        ended = subprocess.run(command(broken, code), check=False, capture_output=True, text=True)
        assert ended.returncode == status
        assert ended.stderr.startswith("Playing the four panels.\n")
        assert ("Stopped. The same command goes on from here." in ended.stderr) == (status == 130)
        assert len(list((broken / "parts").iterdir())) == int(share * parts)
        assert not (broken / "report.html").exists()
    left = {
        path.name: path.stat().st_mtime_ns for path in (broken / "parts").iterdir() if path.suffix in (".npz", ".json")
    }
    subprocess.run(command(broken), check=True, capture_output=True)
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.parent.name != "parts"]
    assert len(files) == 6 + 4 + 8
    for file in files:
        assert (broken / file).read_bytes() == (whole / file).read_bytes(), file
    for name, written in left.items():  # nothing was computed twice
        assert (broken / "parts" / name).stat().st_mtime_ns == written


class Stop(Exception):
    pass


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_stopped_within_a_curve_it_goes_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int) -> None:
    monkeypatch.setattr("dpbandits.simulation.parts._SECONDS_BETWEEN_SAVES", -1.0)  # save after every chunk
    whole = Study(SMALL, tmp_path / "whole").summary(dpb.UCB(), TWO)
    study = Study(SMALL, tmp_path / "broken")
    calls = 0

    def count(runs: int) -> None:
        nonlocal calls
        calls += 1
        if calls == stop:
            raise Stop

    study.parts.on_runs = count
    with pytest.raises(Stop):
        study.summary(dpb.UCB(), TWO)
    again = Study(SMALL, tmp_path / "broken")
    finished: list[int] = []
    again.parts.on_runs = finished.append
    summary = again.summary(dpb.UCB(), TWO)
    assert (summary.mean == whole.mean).all()
    assert (summary.quantile(0.5) == whole.quantile(0.5)).all()
    assert sum(finished) == SMALL.runs
    assert again.parts.pulls == (SMALL.runs - (stop - 1) * 64) * SMALL.horizon
    assert Study(SMALL, tmp_path / "broken").summary(dpb.UCB(), TWO).runs == SMALL.runs


def test_a_damaged_part_is_computed_again(tmp_path: Path) -> None:
    study = Study(SMALL, tmp_path)
    mean = study.summary(dpb.UCB(), TWO).mean
    part = max((tmp_path / "parts").iterdir(), key=lambda path: int(path.stem.split("-")[1]))  # of all runs
    data = part.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    for damage in (b"", b"{", data[:100], data[:-1], b"x" * len(data), flipped):
        part.write_bytes(damage)
        assert (Study(SMALL, tmp_path).summary(dpb.UCB(), TWO).mean == mean).all()
        assert part.read_bytes() == data


def test_other_settings_and_another_program_are_other_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        *(SMALL, replace(SMALL, seed=1), replace(SMALL, horizon=2001), replace(SMALL, runs=131)),
        replace(SMALL, effort=0.02),
    ]
    for settings in others:
        Study(settings, tmp_path).summary(dpb.UCB(), TWO)
        assert Study(settings, tmp_path).kept("it", partial(repr, settings)) == repr(settings)
    # Three curves of 130 runs and of their whole chunks, and one of 131. More effort changes no curve of the panels.
    assert len(list((tmp_path / "parts").glob("*.npz"))) == 7
    assert len(list((tmp_path / "parts").glob("*.json"))) == 5
    monkeypatch.setattr(parts_module, "program_stamp", lambda: "another")
    assert Study(SMALL, tmp_path).kept("it", lambda: "computed again") == "computed again"


def test_a_result_that_was_changed_is_computed_again(tmp_path: Path) -> None:
    assert Study(SMALL, tmp_path).kept("it", lambda: {"cost": 253}) == {"cost": 253}
    (part,) = (tmp_path / "parts").glob("*.json")
    written = part.read_text("utf-8")
    for damage in (written.replace("253", "953"), "{}", "null", "", "x\n{", written[:-1], written.split("\n")[1]):
        part.write_text(damage, "utf-8")
        assert Study(SMALL, tmp_path).kept("it", lambda: {"cost": 253}) == {"cost": 253}
        assert part.read_text("utf-8") == written
    other = Study(SMALL, tmp_path)
    other.kept("another", lambda: 1)
    (another,) = set((tmp_path / "parts").glob("*.json")) - {part}
    another.write_text(written, "utf-8")  # a part in the place of another
    assert Study(SMALL, tmp_path).kept("another", lambda: 1) == 1


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    Study(SMALL, tmp_path)
    old, new = (tmp_path / "parts" / f"x.npz.unfinished-{pid}" for pid in (1, 2))
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    Study(SMALL, tmp_path)
    assert not old.exists()
    assert new.exists()


def test_a_claim_is_tested_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [definition.definition, interval.shorter_intervals]
    first = check_claims(Study(SMALL, tmp_path), claims)

    def never(*anything: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("dpbandits.reproduce.claims.interval.release_times", never)
    assert check_claims(Study(SMALL, tmp_path), claims) == first


def test_panels_share_what_they_share(tmp_path: Path) -> None:
    """UCB does not depend on epsilon, Private-UCB not on the form: 5 + 3 curves for two panels less what is shared."""
    study = Study(Settings(horizon=1000, runs=2), tmp_path)
    play_panels(study)
    curves = 2 * 1 + 4 * 1 + 4 * 3 + 4 * 3  # UCB; Private-UCB; three as published; three as certified
    assert len(list((tmp_path / "parts").iterdir())) == curves
    assert study.parts.pulls == curves * 2 * 1000
