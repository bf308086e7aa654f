"""Stopped and started again, a reproduction ends with the same numbers, from the work that was left."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.reproduce import Settings, Study, check_claims, play_panels
from dpbandits.reproduce.claims import definition, interval

SMALL = Settings(horizon=2000, runs=130, effort=0.01)
TWO = dpb.Bernoulli([0.9, 0.6])


def command(folder: Path) -> list[str]:
    words = ["reproduce", "--quick", "--horizon", "2000", "--runs", "5", "--out", str(folder)]
    return [sys.executable, "-c", "from dpbandits.cli import main; main()", *words]


def test_killed_stopped_and_started_again_gives_the_same_files(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(whole), check=True, capture_output=True)
    parts = len(list((whole / "parts").iterdir()))
    for share, stop, status in ((0.3, signal.SIGKILL, -signal.SIGKILL), (0.7, signal.SIGINT, 130)):
        process = subprocess.Popen(command(broken), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and (
            not broken.exists() or len(list((broken / "parts").glob("*"))) < share * parts
        ):
            time.sleep(0.01)
        process.send_signal(stop)
        _, said = process.communicate()
        assert process.returncode == status
        assert said == ("Stopped. The same command goes on from here.\n" if status == 130 else "")
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
    monkeypatch.setattr("dpbandits.reproduce.study._SECONDS_BETWEEN_SAVES", -1.0)  # save after every chunk
    whole = Study(SMALL, tmp_path / "whole").summary(dpb.UCB(), TWO)
    study = Study(SMALL, tmp_path / "broken")
    calls = 0

    def count(runs: int) -> None:
        nonlocal calls
        calls += 1
        if calls == stop:
            raise Stop

    study.on_runs = count
    with pytest.raises(Stop):
        study.summary(dpb.UCB(), TWO)
    again = Study(SMALL, tmp_path / "broken")
    finished: list[int] = []
    again.on_runs = finished.append
    summary = again.summary(dpb.UCB(), TWO)
    assert (summary.mean == whole.mean).all()
    assert (summary.quantile(0.5) == whole.quantile(0.5)).all()
    assert sum(finished) == SMALL.runs
    assert again.pulls == (SMALL.runs - (stop - 1) * 64) * SMALL.horizon
    assert Study(SMALL, tmp_path / "broken").summary(dpb.UCB(), TWO).runs == SMALL.runs


def test_a_damaged_part_is_computed_again(tmp_path: Path) -> None:
    study = Study(SMALL, tmp_path)
    mean = study.summary(dpb.UCB(), TWO).mean
    (part,) = (tmp_path / "parts").iterdir()
    data = part.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    for damage in (b"", b"{", data[:100], data[:-1], b"x" * len(data), flipped):
        part.write_bytes(damage)
        assert (Study(SMALL, tmp_path).summary(dpb.UCB(), TWO).mean == mean).all()
        assert part.read_bytes() == data


def test_other_settings_are_other_parts(tmp_path: Path) -> None:
    for settings in (SMALL, Settings(horizon=2000, runs=130, seed=1), Settings(horizon=2001, runs=130)):
        Study(settings, tmp_path).summary(dpb.UCB(), TWO)
    assert len(list((tmp_path / "parts").iterdir())) == 3


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
    assert study.pulls == curves * 2 * 1000
