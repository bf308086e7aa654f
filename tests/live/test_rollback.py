"""A folder that is put back takes its journal and its mark along. Only what lies elsewhere can tell."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.mechanisms import SecureNoise
from explore_then_commit import ExploreThenCommit
from frames import found_in_frames

POLICY = ExploreThenCommit(epsilon=1.0, plays=5)


class Remembering:
    """A witness as it should be."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.seen: dict[int, str] = {}

    def __call__(self, number: int, digest: str) -> bool:
        self.asked.append(number)
        if number < max(self.seen, default=0) or self.seen.get(number, digest) != digest:
            return False
        self.seen[number] = digest
        return True


def opened(folder: Path, **options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], journal=folder / "journal", **options)


def begun(folder: Path, **options: Any) -> None:
    """Make a journal whose next closing releases, and a copy of its folder."""
    folder.mkdir()
    bandit = opened(folder, **options)
    waiting = [bandit.assign() for _ in range(10)]
    for a in waiting[2::2]:
        bandit.close(a, 1.0)
    bandit.detach()
    shutil.copytree(folder, folder.with_name("copy"))


def put_back(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("copy"), folder)


def release(bandit: dpb.Bandit) -> float:
    bandit.close(bandit.open_assignments()[0], 1.0)
    value: float = bandit.ledger[1].content["value"]
    bandit.detach()
    return value


def last_released(folder: Path) -> float:
    """Return the value in the last record of a journal, whether anybody was told of it or not."""
    last = (folder / "journal").read_bytes().splitlines()[-1]
    *_, step = json.loads(last.split(b" ", 1)[1])["batch"]
    ((_, value, _),) = step["release"]
    assert isinstance(value, float)
    return value


def test_a_folder_that_is_put_back_draws_again(tmp_path: Path) -> None:
    """Why the next two tests matter. Nothing in the folder is wrong, so nothing in it can tell."""
    folder = tmp_path / "folder"
    begun(folder)
    values = set()
    for _ in range(5):
        put_back(folder)
        values.add(release(opened(folder)))
    assert len(values) > 1


def test_a_mark_on_another_disk_knows_better(tmp_path: Path) -> None:
    folder, mark = tmp_path / "folder", tmp_path / "another disk"
    begun(folder, mark=mark)
    assert [file.name for file in folder.iterdir()] == ["journal"]
    value = release(opened(folder, mark=mark))
    for _ in range(3):
        put_back(folder)
        with pytest.raises(dpb.JournalError, match="it is an old copy, and going on from it would draw its noise"):
            opened(folder, mark=mark)
        with pytest.raises(dpb.JournalError, match="has no high-water mark"):  # if it is forgotten
            opened(folder)
    assert value


def test_a_mark_of_another_journal_is_refused(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    bandit = dpb.Bandit(POLICY, 2, journal=tmp_path / "one", mark=mark)
    with pytest.raises(dpb.JournalError, match=r"high-water mark .*mark is in use"):
        dpb.Bandit(POLICY, 2, journal=tmp_path / "two", mark=mark)
    assert not (tmp_path / "two").exists()
    bandit.detach()
    with pytest.raises(dpb.JournalError, match=r"There is no journal .*two, and its high-water mark .* is of record 0"):
        dpb.Bandit(POLICY, 2, journal=tmp_path / "two", mark=mark)
    assert not (tmp_path / "two").exists()


def test_a_witness_knows_better(tmp_path: Path) -> None:
    folder, witness = tmp_path / "folder", Remembering()
    begun(folder, witness=witness)
    release(opened(folder, witness=witness))
    assert witness.asked == [0, 0, 1]  # at the beginning, when it went on, and before the release was shown
    put_back(folder)
    with pytest.raises(dpb.JournalError, match=r"The witness answered False about row 0, .* this is an old copy"):
        opened(folder, witness=witness)
    # Whoever goes on without asking is found out before the second draw is shown.
    bandit = opened(folder, witness=lambda number, digest: number == 0 or witness(number, digest))
    with pytest.raises(dpb.JournalError, match="The witness answered False about row 1") as refused:
        bandit.close(bandit.open_assignments()[0], 1.0)
    with pytest.raises(dpb.StepError, match="failed halfway"):
        _ = bandit.ledger
    drawn = last_released(folder)
    assert found_in_frames(refused.value, str(drawn)) == []


def test_a_witness_that_does_not_answer_loses_nothing(tmp_path: Path) -> None:
    folder, witness = tmp_path / "folder", Remembering()
    begun(folder, witness=witness)

    def away(number: int, digest: str) -> bool:
        raise ConnectionError("no route\nto host")

    with pytest.raises(dpb.JournalError, match=r"did not answer about row 0: ConnectionError: no route to host$"):
        opened(folder, witness=away)
    bandit = opened(folder, witness=lambda number, digest: (away if number else witness)(number, digest))
    with pytest.raises(dpb.JournalError, match="The witness did not answer about row 1"):
        bandit.close(bandit.open_assignments()[0], 1.0)
    drawn = last_released(folder)
    again = opened(folder, witness=witness)
    assert again.ledger[1].content["value"] == drawn  # on disk, and shown now that the witness agrees
    assert witness.seen.keys() == {0, 1}


def test_a_witness_is_told_what_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a record that only its writer's memory held, the witness would know and the disk would not."""
    folder = tmp_path / "folder"
    happened: list[str] = []
    real = os.fsync

    def fsync(file: int) -> None:
        happened.append("fsync")
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)

    def witness(number: int, digest: str) -> bool:
        happened.append("witness")
        return True

    begun(folder, witness=witness)
    happened.clear()
    bandit = opened(folder, witness=witness)
    assert happened[:2] == ["fsync", "witness"]
    happened.clear()
    bandit.close(bandit.open_assignments()[0], 1.0)
    assert happened == ["fsync", "witness", "fsync"]  # the journal, and at last its mark: then it is acknowledged


@pytest.mark.parametrize("answer", [False, None, 1, "yes"])
def test_a_witness_says_true_and_nothing_else(answer: Any) -> None:
    with pytest.raises(dpb.JournalError, match=f"The witness answered {answer!r} about row 0, and not True"):
        dpb.Bandit(POLICY, 2, witness=lambda number, digest: answer)
    with pytest.raises(dpb.WrongKind, match="Expected witness='me' to be a function"):
        dpb.Bandit(POLICY, 2, witness="me")  # type: ignore[arg-type]


def test_a_text_that_is_resumed_twice_is_found_out() -> None:
    witness = Remembering()
    fine = SecureNoise(grid_bits=30)  # two draws are equal with a probability of 2^-32
    bandit = dpb.Bandit(POLICY, 2, witness=witness, noise=fine)
    waiting = [bandit.assign() for _ in range(10)]
    for a in waiting[2::2]:
        bandit.close(a, 1.0)
    text = bandit.to_json()
    first, second = (dpb.Bandit.from_json(text, policy=POLICY, witness=witness, noise=fine) for _ in range(2))
    first.close(waiting[0], 1.0)
    with pytest.raises(dpb.JournalError, match="answered False about row 1"):
        second.close(waiting[0], 1.0)
    with pytest.raises(dpb.StepError, match="failed halfway"):
        _ = second.ledger
