"""Snapshots of journals: when they are written, how much of them a step writes, and what goes wrong with them."""

import errno
import gc
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.errors import JournalError
from dpbandits.live import journal_snapshot, logged_steps, snapshot_schedule
from dpbandits.live.journal_snapshot import UNFINISHED, JournalSnapshot, path_of_snapshot
from dpbandits.live.private_file import PrivateFile
from insides import journal_of, state_of
from journal_lines import records_in

POLICY = dpb.recommended(epsilon=30.0)


def opened(path: Path, **options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], journal=path, **options)


def begins_with_a_later_snapshot(path: Path) -> bool:
    return "after" in records_in(path)[0]


# ---- how much a step writes


def part_of(folder: Path, pieces: Iterator[dict[str, Any]], appended: int, steps: int = 1) -> int:
    """Return how many bytes the first part of a snapshot has, after so many were added to the journal."""
    file = PrivateFile(folder / "journal", "journal")
    file.make()
    snapshot = JournalSnapshot(file, 0, (0, "0" * 16), pieces)
    snapshot.write_part(appended, steps)
    size = snapshot.size
    snapshot.abandon()
    file.close()
    file.unmake()
    return size


def test_a_step_does_not_pay_for_a_large_batch_before_it_and_a_batch_pays_for_itself(tmp_path: Path) -> None:

    def pieces() -> Iterator[dict[str, Any]]:
        while True:
            yield {"people": [["0" * 32] * 100]}

    usual = part_of(tmp_path, pieces(), appended=100)
    after_a_batch = part_of(tmp_path, pieces(), appended=2_000_000)
    in_batches = part_of(tmp_path, pieces(), appended=2_000_000, steps=20_000)
    longest_line = 5000
    assert journal_snapshot.PART <= usual <= journal_snapshot.PART + 400 + longest_line
    assert after_a_batch <= 10 * journal_snapshot.PART
    assert in_batches >= 4 * 2_000_000  # as it must, to be faster than the journal grows


def test_a_step_does_not_look_through_a_long_stretch_in_which_nothing_is_open(tmp_path: Path) -> None:
    looks = []

    def pieces() -> Iterator[dict[str, Any]]:
        yield {"released_sums": [0]}
        for number in range(1000):
            looks.append(number)
            yield {"places": []}

    assert part_of(tmp_path, pieces(), appended=100) < 1000  # and nothing is written of it
    assert 4 < len(looks) < 40


def test_a_bandit_that_only_looks_what_is_due_writes_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_snapshot, "PART", 100)  # a line or so at every step
    path = tmp_path / "journal"
    bandit = opened(path, window=60.0, clock=lambda: 0.0)
    bandit.assign("Ada")
    bandit.forget("Ada")
    assert not begins_with_a_later_snapshot(path)
    for _ in range(20):
        bandit.release_due()
    assert begins_with_a_later_snapshot(path)


# ---- sessions that are too short for one


@pytest.fixture
def small_and_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots are due often, and a step writes a line or so of one."""
    monkeypatch.setattr(snapshot_schedule, "SHORTEST_STEPS", 3000)
    monkeypatch.setattr(snapshot_schedule, "STEPS_SHARE", 10**9)
    monkeypatch.setattr(journal_snapshot, "PART", 1)


def sizes_after_sessions(path: Path, end: Callable[[dpb.Bandit], None]) -> list[int]:
    """Return how large a journal was at the end of every session of a few steps."""
    sizes = []
    for session in range(60):
        bandit = opened(path)
        for person in range(6):
            bandit.close(bandit.assign(f"{session} {person}"), 1.0)
        assert len(bandit.open_assignments()) == 0
        end(bandit)
        sizes.append(path.stat().st_size)
    return sizes


def size_of_snapshot(path: Path) -> int:
    return sum(len(json.dumps(record)) + 18 for record in records_in(path) if record.keys() & {"snapshot", "piece"})


def test_detach_finishes_a_snapshot_that_is_due(tmp_path: Path, small_and_slow: None) -> None:
    path = tmp_path / "journal"
    sizes = sizes_after_sessions(path, lambda bandit: bandit.detach())
    assert max(sizes) <= size_of_snapshot(path) + 3000 + 6 * 250


def test_a_journal_does_not_grow_where_all_sessions_are_killed(tmp_path: Path, small_and_slow: None) -> None:
    path = tmp_path / "journal"
    sizes = sizes_after_sessions(path, lambda bandit: journal_of(bandit).close())
    most = 3000 * snapshot_schedule.OVERGROWN
    assert most < max(sizes) <= size_of_snapshot(path) + most + 6 * 250
    assert len(opened(path).open_assignments()) == 0


# ---- what goes wrong


def test_a_snapshot_gives_its_room_to_a_step_that_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    bandit = halfway_in_a_snapshot(path, monkeypatch)
    unfinished = path_of_snapshot(str(path))
    assert unfinished.stat().st_size > 1000
    room = path.stat().st_size + unfinished.stat().st_size + 50
    real = os.write

    def write(file: int, content: bytes) -> int:
        used = sum(each.stat().st_size for each in (path, unfinished) if each.exists())
        if used + len(content) <= room:
            return real(file, content)
        if used < room:
            return real(file, content[: room - used])  # as far as it goes
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        patched.setattr(journal_snapshot.JournalSnapshot, "write_part", lambda *_: None)  # the journal itself grows
        given = [bandit.assign(unit) for unit in ("Di", "Ed", "Fi")]
        assert not unfinished.exists()
        assert path.stat().st_size < room
    assert bandit.open_assignments()[-3:] == given
    assert not begins_with_a_later_snapshot(path)
    bandit.detach()
    assert begins_with_a_later_snapshot(path)
    assert opened(path).open_assignments()[-3:] == given


@pytest.mark.parametrize("problem", [ValueError, MemoryError, dpb.StepError, JournalError, OSError])
def test_whatever_ends_a_snapshot_the_bandit_goes_on(
    tmp_path: Path, problem: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a policy whose state JSON cannot hold."""
    path = tmp_path / "journal"
    bandit = opened(path)
    bandit.assign("Ada")

    def failing(learner: Any) -> Iterator[dict[str, Any]]:
        yield {"learner": {}}
        raise problem("271828")

    with monkeypatch.context() as patched:
        patched.setattr(logged_steps, "pieces_of", failing)
        bandit.forget("Ada")
        for _ in range(5):
            bandit.close(bandit.assign(), 1.0)
        state = state_of(bandit)
        assert not path_of_snapshot(str(path)).exists()
        with pytest.raises(JournalError, match="What was forgotten is still in the journal") as refused:
            bandit.detach()
        assert "271828" not in str(refused.value)
    again = opened(path)
    assert state_of(again) == state
    again.assign()
    assert begins_with_a_later_snapshot(path)


def test_after_a_failure_and_a_success_they_are_as_frequent_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_schedule, "SHORTEST_STEPS", 3000)
    monkeypatch.setattr(snapshot_schedule, "STEPS_SHARE", 10**9)
    path = tmp_path / "journal"
    bandit = opened(path)

    def replaced(steps: int) -> int:
        first_lines = []
        for _ in range(steps):
            bandit.close(bandit.assign(), 1.0)
            first_lines.append(path.read_bytes()[:16])
        return len(set(first_lines)) - 1

    def nothing(learner: Any) -> Iterator[dict[str, Any]]:
        yield from ()

    before = replaced(200)
    with monkeypatch.context() as patched:
        patched.setattr(logged_steps, "pieces_of", nothing)
        assert replaced(100) == 0
    assert replaced(100) >= 1
    assert replaced(200) >= before - 1 > 2


def test_an_interrupt_when_the_new_file_has_taken_the_place_leaves_its_name_to_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    bandit = opened(path)
    bandit.assign("Ada")
    real, forced = PrivateFile.sync_folder, []

    def interrupted(file: PrivateFile) -> None:
        forced.append(file.path.name)
        if len(forced) == 1:
            raise KeyboardInterrupt
        real(file)

    monkeypatch.setattr(PrivateFile, "sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bandit.forget("Ada")
    assert begins_with_a_later_snapshot(path)
    first = bandit.assign()
    assert forced == ["journal", "journal"]
    bandit.assign()
    assert forced == ["journal", "journal"]
    bandit.detach()
    assert first in opened(path).open_assignments()


def test_a_snapshot_whose_name_stands_for_another_file_meanwhile_takes_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a copy that a backup has put back: what it is missing would be lost."""
    path = tmp_path / "journal"
    unfinished = path_of_snapshot(str(path))
    bandit = opened(path)
    bandit.assign("Ada")
    real = JournalSnapshot.write_part

    def and_meanwhile(snapshot: JournalSnapshot, appended: int, steps: int) -> None:
        real(snapshot, appended, steps)
        (tmp_path / "copy").write_bytes(unfinished.read_bytes())
        (tmp_path / "copy").replace(unfinished)

    with monkeypatch.context() as patched:
        patched.setattr(JournalSnapshot, "write_part", and_meanwhile)
        bandit.forget("Ada")
    assert not begins_with_a_later_snapshot(path)
    bandit.assign("Bo")
    bandit.detach()
    assert begins_with_a_later_snapshot(path)
    assert opened(path).forget("Bo") is True


def test_detach_tries_again_what_failed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    bandit = opened(path)
    bandit.assign("Ada")
    real = JournalSnapshot.write_part

    def full(snapshot: JournalSnapshot, appended: int, steps: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(JournalSnapshot, "write_part", full)
    bandit.forget("Ada")
    bandit.assign()
    monkeypatch.setattr(JournalSnapshot, "write_part", real)
    bandit.detach()
    assert begins_with_a_later_snapshot(path)


def test_an_interrupt_while_a_journal_is_shortened_lets_go_of_it(
    tmp_path: Path, small_and_slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    sizes_after_sessions(path, lambda bandit: journal_of(bandit).close())

    def interrupted(bandit: Any, *arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(snapshot_schedule, "SHORTEST_STEPS", 1)
    with monkeypatch.context() as patched:
        patched.setattr(JournalSnapshot, "write_part", interrupted)
        with pytest.raises(KeyboardInterrupt) as kept:
            opened(path)
    assert opened(path).open_assignments() == []
    assert kept.value is not None  # with all frames that it went through


def test_the_mark_is_forced_to_disk_before_a_snapshot_takes_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else after a crash it could be of a record that the snapshot has no longer, and the journal be refused."""
    bandit = opened(tmp_path / "journal")
    bandit.assign("Ada")
    bandit.assign()
    forced: list[str] = []
    replaced_after: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(file: int) -> None:
        forced.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        sync(file)

    def noted_replace(source: Any, target: Any) -> None:
        replaced_after[:] = forced
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    bandit.forget("Ada")
    assert sorted(set(replaced_after)) == ["journal", "journal.mark", f"journal{UNFINISHED}"]


def test_a_snapshot_takes_no_place_that_is_another_ones_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    bandit = opened(path)
    bandit.assign("Ada")
    real = JournalSnapshot.write_part

    def and_meanwhile(snapshot: JournalSnapshot, appended: int, steps: int) -> None:
        real(snapshot, appended, steps)
        path.rename(tmp_path / "moved")
        path.write_bytes(b"of somebody else")

    monkeypatch.setattr(JournalSnapshot, "write_part", and_meanwhile)
    bandit.forget("Ada")
    assert path.read_bytes() == b"of somebody else"
    with pytest.raises(JournalError, match="was deleted, moved or changed while it was open"):
        bandit.assign()


# ---- the file beside the journal


def test_what_was_not_finished_is_removed_by_whoever_begins_or_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    left = path_of_snapshot(str(path))
    for _ in range(2):
        left.write_text("rewards")
        opened(path).detach()
        assert not left.exists()


def halfway_in_a_snapshot(path: Path, monkeypatch: pytest.MonkeyPatch) -> dpb.Bandit:
    monkeypatch.setattr(journal_snapshot, "PART", 100)  # a line or so at every step
    bandit = opened(path)
    bandit.assign("Ada")
    bandit.assign("Bo")
    bandit.forget("Ada")
    bandit.assign("Cy")
    assert path_of_snapshot(str(path)).exists()
    return bandit


def test_a_bandit_that_nobody_holds_any_more_leaves_nothing_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a program that ends."""
    path = tmp_path / "journal"
    bandit = halfway_in_a_snapshot(path, monkeypatch)
    del bandit
    gc.collect()
    assert sorted(os.listdir(tmp_path)) == ["journal", "journal.mark"]
    assert len(opened(path).open_assignments()) == 3


def test_a_forked_child_leaves_an_unfinished_snapshot_to_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    bandit = halfway_in_a_snapshot(path, monkeypatch)
    child = os.fork()
    if child == 0:
        journal_of(bandit).close()
        os._exit(0)
    os.waitpid(child, 0)
    assert path_of_snapshot(str(path)).exists()
    bandit.detach()
    assert begins_with_a_later_snapshot(path)
    assert sorted(os.listdir(tmp_path)) == ["journal", "journal.mark"]


def test_its_name_is_refused_for_a_journal_and_for_a_mark(tmp_path: Path) -> None:
    kept = tmp_path / f"other{UNFINISHED}"
    kept.write_text("kept")
    for path, mark in ((kept, None), (tmp_path / "journal", kept)):
        with pytest.raises(JournalError, match="has the name of an unfinished snapshot, which is removed"):
            opened(path, mark=mark)
    assert kept.read_text() == "kept"
    assert os.listdir(tmp_path) == [kept.name]
