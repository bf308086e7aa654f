"""People who are forgotten: the link to their assignments is cut, and they enter no second time."""

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.live import Assignment, book_snapshot, journal_snapshot, snapshot_schedule
from dpbandits.live.journal_snapshot import UNFINISHED, path_of_snapshot
from insides import journal_of, state_of
from journal_lines import records_in

POLICY = dpb.recommended(epsilon=30.0)


def rows_of(journal: Path, table: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table in the snapshot with which a journal begins."""
    pieces = [record["piece"] for record in records_in(journal) if "piece" in record]
    return [row for piece in pieces for row in zip(*piece.get(table, []), strict=True)]


def test_who_is_forgotten_enters_no_second_time_and_gets_the_leader(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    first = bandit.assign(unit="Ada", key="visit")
    assert bandit.forget("Ada") is True
    assert bandit.forget("Ada") is True  # asked again, since the first time was not acknowledged
    assert bandit.forget("nobody that is known") is False
    bandit.close(first, 1.0)  # the assignment is there, and nobody's
    for key in (None, "visit", "another"):
        assert bandit.assign(unit="Ada", key=key) == Assignment("", "A", is_new=False)
    for n in range(30):
        a = bandit.assign(unit=n)
        bandit.close(a, float(a.arm == "B"))
    assert bandit.assign(unit="Ada").arm == "B"  # the leader, now
    assert bandit.assign(unit="Bo").is_new
    state = state_of(bandit)
    bandit.detach()
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    assert state_of(bandit) == state
    assert bandit.assign(unit="Ada").id == ""
    with pytest.raises(
        dpb.InvalidInput, match="Expected assignment='' to be one of this bandit's, not that of somebody"
    ):
        bandit.close(bandit.assign(unit="Ada"), 1.0)


def test_the_link_is_gone_from_the_journal_after_the_next_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    bandit.assign(unit="Ada", key="visit")
    record = records_in(path)[1]
    bandit.assign(unit="Bo")
    bandit.forget("Ada")
    bandit.assign(unit="Bo", key="2")
    content = path.read_text()
    assert content.count(record["unit"]) == 1
    assert record["key"] not in content
    assert rows_of(path, "people") == [(records_in(path)[-1]["unit"], 1, 1, 2)]
    assert rows_of(path, "forgotten") == [(record["unit"],)]


def test_where_the_forgotten_are_in_a_file_does_not_tell_when_they_came(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(POLICY, ["A", "B"], journal=path)
    bandit.assign_many(range(60))
    forgotten = range(3, 60, 5)
    units = [step["unit"] for step in records_in(path)[1]["batch"]]
    for n in forgotten:
        bandit.forget(n)
    bandit.detach()
    hashes = [units[n] for n in forgotten]
    assert hashes != sorted(hashes)
    assert [unit for (unit,) in rows_of(path, "forgotten")] == sorted(hashes)
    assert [row[0] for row in rows_of(path, "people")] == [unit for unit in units if unit not in hashes]
    again = dpb.Bandit(POLICY, ["A", "B"], journal=path)
    again.forget(0)
    again.detach()
    assert [unit for (unit,) in rows_of(path, "forgotten")] == sorted([units[0], *hashes])


def test_a_name_is_needed_to_forget() -> None:
    bandit = dpb.Bandit(dpb.recommended(epsilon=1.0), 2)
    with pytest.raises(dpb.InvalidInput, match="Expected unit=None to be the name of a person"):
        bandit.forget(None)  # type: ignore[arg-type]


# ---- in the file


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A step writes a line or so of a snapshot."""
    with monkeypatch.context() as patched:
        patched.setattr(journal_snapshot, "PART", 100)
        yield patched


def with_somebody_forgotten(path: Path) -> tuple[dpb.Bandit, str]:
    """Return a bandit in which Ada has just been forgotten, and the key of her visit as it is in the journal."""
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    bandit.assign(unit="Ada", key="visit")
    key: str = records_in(path)[1]["key"]
    bandit.forget("Ada")
    return bandit, key


def test_where_there_is_little_to_write_it_is_gone_at_once(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    _, key = with_somebody_forgotten(path)
    assert key not in path.read_text()


def test_detach_writes_what_is_left_of_the_snapshot(tmp_path: Path, small_parts: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    bandit, key = with_somebody_forgotten(path)
    assert key in path.read_text()
    bandit.detach()
    assert key not in path.read_text()
    state = state_of(bandit)
    after = path.read_bytes()
    bandit.detach()
    again = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    assert state_of(again) == state
    again.detach()  # nothing is left to be forgotten
    assert path.read_bytes() == after


def test_a_bandit_that_goes_on_after_a_crash_begins_the_snapshot_again(
    tmp_path: Path, small_parts: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    bandit, key = with_somebody_forgotten(path)
    journal_of(bandit).close()  # as the end of the process does
    small_parts.undo()
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    assert key in path.read_text()
    bandit.assign(unit="Bo")
    assert key not in path.read_text()


def test_who_is_forgotten_while_a_snapshot_is_written_is_out_of_the_next_one(
    tmp_path: Path, small_parts: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    bandit.assign(unit="Ada", key="visit")
    key = records_in(path)[1]["key"]
    person = records_in(path)[1]["unit"]
    bandit.assign(unit="Bo")
    bandit.forget("Bo")
    bandit.assign(unit="Cy")
    assert path_of_snapshot(str(path)).exists()
    inode = path.stat().st_ino
    bandit.forget("Ada")
    links: list[set[tuple[Any, ...]]] = []
    for _ in range(50):  # nothing is written of these steps but parts of snapshots
        if path.stat().st_ino != inode:
            inode = path.stat().st_ino
            links.append({row for row in rows_of(path, "people") if row[0] == person})
        bandit.assign(unit="Bo")
    assert links == [{(person, 1, 0, 1)}, set()]
    assert key not in path.read_text()


def test_detach_ends_where_the_journal_was_changed_by_others(tmp_path: Path, small_parts: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    bandit, _ = with_somebody_forgotten(path)
    assert path_of_snapshot(str(path)).exists()
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(dpb.JournalError, match=r"\(it was deleted, moved or changed while it was open\)"):
        bandit.detach()
    assert not path_of_snapshot(str(path)).exists()


def test_no_piece_of_a_snapshot_tells_among_whom_somebody_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_snapshot, "ROWS", 10)
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2)
    bandit.assign_many(range(100), keys=[f"visit {n}" for n in range(100)])
    for n in (33, 34, 77):
        bandit.forget(n)
    pieces = json.loads(bandit.to_json())["pieces"]
    for table in ("people", "visits"):
        assert [len(piece[table][0]) for piece in pieces if table in piece] == [10] * 9 + [7]


def test_a_snapshot_for_which_there_is_no_room_is_tried_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    real, failures = os.write, []

    def full(file: int, content: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{file}").endswith(UNFINISHED):
            failures.append(file)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, content)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        bandit, key = with_somebody_forgotten(path)
        for n in range(20):
            bandit.assign(unit=n)
        assert len(failures) == 1  # and not at every step
        patched.setattr(snapshot_schedule, "SHORTEST_STEPS", 100)
        with pytest.raises(dpb.JournalError, match=r"still in the journal .* \(No space left on device\)"):
            bandit.detach()  # which does not wait for room
        bandit.detach()
        assert len(failures) == 2
    assert key in path.read_text()
    bandit = dpb.Bandit(POLICY, ["A", "B"], contributions=2, journal=path)
    bandit.assign(unit="Bo")
    assert key not in path.read_text()
