"""Stopped and started again, a reproduction ends with the same numbers, from the work that was left."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.reproduce import Settings, Study, check_claims
from dpbandits.reproduce.claims import definition, interval_privacy
from dpbandits.simulation import parts as parts_module

SMALL = Settings(horizon=2000, runs=130, effort=0.01)
TWO = dpb.Bernoulli([0.9, 0.6])


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
    monkeypatch.setattr(parts_module, "_PROGRAM", "another")
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
    old, new = (tmp_path / "parts" / f".unfinished-{pid}" for pid in (1, 2))
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    Study(SMALL, tmp_path)
    assert not old.exists()
    assert new.exists()


def test_a_claim_is_tested_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [definition.definition, interval_privacy.shorter_intervals]
    first = check_claims(Study(SMALL, tmp_path), claims)

    def never(*anything: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("dpbandits.reproduce.claims.interval_privacy.release_times", never)
    assert check_claims(Study(SMALL, tmp_path), claims) == first
