"""A database that was put back from a copy is refused; what is done about it is said, and can be done."""

import os
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

import dpbandits as dpb
from command_output import output_of
from dpbandits.service.overviews import acknowledged_overview
from dpbandits.service.schema import blocks, own_marks, released_sums
from dpbandits.service.steps import Assign, ReleaseDue, Reward
from dpbandits.service.store import Store
from dpbandits.service.writer import Writer
from service_stores import SQLITE, Place, begun, configured

pytestmark = pytest.mark.slow

CUMULATIVE = dpb.DPUCBInt(epsilon=90.0, delta=0.0, horizon=300)


def played(store: Store, people: range, name: str = "trial", answer: bool = True) -> list[str]:
    with Writer(store) as writer:
        ids = []
        for person in people:
            given = writer.take(Assign(name, person))
            ids.append(given.id)
            if answer:
                writer.take(Reward(given.id, 1.0))
        return ids


def behind(place: Place, copy: Path, policy: Any = None) -> tuple[list[str], int]:
    """Leave a place whose database is a copy in which 20 people are missing; return their ids, and the rows it has."""
    with place.store() as store:
        begun(store, "trial", configured(**({} if policy is None else {"policy": policy})))
        begun(store, "still")
        played(store, range(20))
        played(store, range(3), "still")
        rows = len(acknowledged_overview(store, "trial").ledger)
        place.save(copy)
        lost = played(store, range(20, 40))
        assert len(acknowledged_overview(store, "trial").ledger) > rows > 2
    place.put_back(copy)
    return lost, rows


def run(command: str, place: Place, *more: str) -> tuple[int, str]:
    return output_of(*command.split(), "--database", place.url, "--state", str(place.state), *more)


def test_releases_that_are_missing_are_noticed(place: Place, tmp_path: Path) -> None:
    behind(place, tmp_path / "copy")
    with pytest.raises(dpb.DatabaseError, match=r"'trial' cannot go on: .*run `dpbandits restore`"):
        place.store()


def test_assignments_that_are_missing_are_noticed_though_no_release_is(place: Place, tmp_path: Path) -> None:
    with place.store() as store:
        begun(store, "trial")
        played(store, range(2), answer=False)
        place.save(tmp_path / "copy")
        played(store, range(2, 3), answer=False)
        assert len(acknowledged_overview(store, "trial").ledger) == 1
    place.put_back(tmp_path / "copy")
    with pytest.raises(dpb.DatabaseError, match="changes of it are missing"):
        place.store()


def test_rewards_that_are_missing_are_noticed(place: Place, tmp_path: Path) -> None:
    with place.store() as store:
        begun(store, "trial")
        (first,) = played(store, range(1), answer=False)
        place.save(tmp_path / "copy")
        with Writer(store) as writer:
            writer.take(Reward(first, 1.0))
    place.put_back(tmp_path / "copy")
    with pytest.raises(dpb.DatabaseError, match="'trial' cannot go on"):
        place.store()


def test_an_experiment_that_is_missing_is_noticed(place: Place, tmp_path: Path) -> None:
    with place.store() as store:
        begun(store, "trial")
        place.save(tmp_path / "copy")
        lost = begun(store, "lost")
    place.put_back(tmp_path / "copy")
    with pytest.raises(dpb.DatabaseError, match=f"Experiment {lost} is missing"):
        place.store()
    status, text = run("restore", place, "--accept")
    assert (status, f"Experiment number {lost} is not in the database" in text) == (0, True)
    with place.store() as store:
        assert begun(store, "new") > lost  # its number is never given again


def test_what_the_other_host_has_released_is_noticed_too(postgresql_place: Place, tmp_path: Path) -> None:
    """Two hosts share the folder of marks: all that is missing was done by the other one."""
    place = postgresql_place
    with place.store() as one, place.store() as other:
        begun(one, "trial")
        played(one, range(10))
        place.save(tmp_path / "copy")
        played(other, range(10, 40))
    place.put_back(tmp_path / "copy")
    with pytest.raises(dpb.DatabaseError, match="'trial' cannot go on"):
        place.store()


def test_a_database_that_is_put_back_while_a_writer_works_is_noticed(postgresql_place: Place, tmp_path: Path) -> None:
    place = postgresql_place
    with place.store() as store:
        begun(store, "trial")
        with Writer(store) as writer:
            writer.take(Assign("trial", 1))
            place.save(tmp_path / "copy")
            writer.take(Assign("trial", 2))
            place.put_back(tmp_path / "copy")
            with pytest.raises(dpb.DatabaseError):
                writer.take(ReleaseDue("trial"))  # its connection is gone
            with pytest.raises(dpb.DatabaseError, match="'trial' cannot go on"):
                writer.take(Assign("trial", 3))


@pytest.mark.parametrize("policy", [None, CUMULATIVE], ids=["single blocks", "all so far"])
def test_an_accepted_copy_releases_nothing_any_more_and_says_so(place: Place, tmp_path: Path, policy: Any) -> None:
    lost, rows = behind(place, tmp_path / "copy", policy)
    status, text = run("restore", place)
    assert status == 1
    assert "- trial: lost " in text
    assert "still" not in text
    with pytest.raises(dpb.DatabaseError):  # nothing was changed by looking
        place.store()
    status, text = run("restore", place, "--accept")
    assert (status, "Accepted. 1 experiment" in text) == (0, True)
    with place.store() as store:
        (again,) = played(store, range(5, 6), answer=False)
        assert again.split("-")[1] == "6"
        assert again.split("-")[0] != lost[0].split("-")[0]
        with Writer(store) as writer:
            for name in lost[:2]:
                with pytest.raises(dpb.NotFound):
                    writer.take(Reward(name, 1.0))
            if policy is None:
                with pytest.raises(dpb.AlreadyClosed):
                    writer.take(Reward(again, 1.0))
        played(store, range(100, 130))
        overview = acknowledged_overview(store, "trial")
        assert (len(overview.ledger), overview.is_restored, overview.exhausted) == (rows + 1, True, True)
        assert overview.spent().epsilon == overview.spent().budget
        check = dpb.check_ledger(overview.ledger.to_jsonl(), head=overview.ledger.head)
        assert check.verdict == "holds"
        assert check.spent is not None
        assert check.spent.epsilon == pytest.approx(overview.spent().budget)
        assert "restored" in str(check)
        with store.database.reading() as connection:
            for table in (blocks, released_sums):
                experiments_of = connection.scalars(select(table.c.experiment)).all()
                assert set(experiments_of) <= {2}
        before = len(acknowledged_overview(store, "still").ledger)
        played(store, range(100, 130), "still")
        assert len(acknowledged_overview(store, "still").ledger) > before
    assert run("restore", place)[0] == 0


def test_a_row_that_was_added_after_the_restoration_is_found(place: Place, tmp_path: Path) -> None:
    behind(place, tmp_path / "copy")
    run("restore", place, "--accept")
    with place.store() as store:
        contents = [row.content for row in acknowledged_overview(store, "trial").ledger]
    ledger = dpb.Ledger()
    for content in [*contents[:-2], contents[-1], contents[-2]]:
        ledger.append(content)
    check = dpb.check_ledger(ledger.to_jsonl())
    assert check.verdict == "does not hold"
    assert "comes after the experiment was restored" in str(check)
    wrong: list[dict[str, Any]] = [{"restored": {}}, {"restored": {"missing_releases": -1}}, {"restored": 3}]
    for broken in wrong:
        ledger = dpb.Ledger()
        for content in [*contents[:-1], broken]:
            ledger.append(content)
        assert dpb.check_ledger(ledger.to_jsonl()).verdict == "does not hold"


# ---- marks that are lost, or are those of another database


def test_a_database_without_its_marks_is_refused_until_they_are_adopted(place: Place) -> None:
    with place.store() as store:
        begun(store, "trial")
        played(store, range(10))
    for file in place.state.iterdir():
        file.unlink()
    with pytest.raises(dpb.DatabaseError, match="dpbandits marks adopt"):
        place.store()
    assert list(place.state.iterdir()) == []
    status, text = run("restore", place)
    assert (status, "are not at " in text) == (1, True)
    status, text = run("marks adopt", place)
    assert (status, "has the marks of 1 experiment now" in text) == (0, True)
    status, text = run("marks adopt", place)
    assert (status, "has the marks of this database already" in text) == (2, True)
    with place.store() as store:
        before = len(acknowledged_overview(store, "trial").ledger)
        played(store, range(10, 40))
        overview = acknowledged_overview(store, "trial")
        assert len(overview.ledger) > before
        assert not overview.is_restored


def test_a_copy_without_marks_can_be_accepted(place: Place) -> None:
    with place.store() as store:
        begun(store, "trial")
        begun(store, "fresh")
        played(store, range(10))
    for file in place.state.iterdir():
        file.unlink()
    status, text = run("restore", place, "--accept")
    assert (status, "- trial: nobody knows whether this is the latest of it" in text) == (0, True)
    with place.store() as store:
        assert acknowledged_overview(store, "trial").is_restored
        assert not acknowledged_overview(store, "fresh").is_restored


def test_without_marks_nothing_that_has_changed_is_taken_for_the_latest(place: Place, tmp_path: Path) -> None:
    """Also what had no release in the copy: its sums are there, and may have been released since."""
    with place.store() as store:
        begun(store, "trial")
        opened = played(store, range(6), answer=False)
        place.save(tmp_path / "copy")
        with Writer(store) as writer:
            for name in opened:
                writer.take(Reward(name, 1.0))
        assert len(acknowledged_overview(store, "trial").releases) > 0
    place.put_back(tmp_path / "copy")
    for file in place.state.iterdir():
        file.unlink()
    assert run("restore", place, "--accept")[0] == 0
    with place.store() as store:
        with Writer(store) as writer:
            for name in opened:
                with pytest.raises(dpb.NotFound):
                    writer.take(Reward(name, 1.0))
        assert acknowledged_overview(store, "trial").is_restored
        assert acknowledged_overview(store, "trial").releases == []


def test_a_slip_in_the_name_of_the_folder_repairs_nothing_that_is_in_use(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with place.store() as store:
        begun(store, "trial")
        played(store, range(6))
        for command in (["restore", "--accept"], ["marks", "adopt"]):
            status, text = output_of(*command, "--database", place.url, "--state", str(other))
            assert (status, "stop what uses it first" in text) == (2, True)
        played(store, range(6, 12))
    status, text = output_of("marks", "adopt", "--database", place.url, "--state", str(other))
    assert (status, "give that folder" in text) == (2, True)
    assert list(other.iterdir()) == []


def test_of_two_first_hosts_with_different_folders_one_is_refused(postgresql_place: Place, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    postgresql_place.store().database.close()  # so that there are tables
    with Store(postgresql_place.url, postgresql_place.state) as store, store.database.writing() as connection:
        connection.execute(delete(own_marks))
    results: list[Any] = []

    def begin(folder: Path) -> None:
        folder.mkdir()
        try:
            results.append(Store(postgresql_place.url, folder))
        except dpb.DatabaseError as problem:
            results.append(problem)

    threads = [threading.Thread(target=begin, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(isinstance(result, Store) for result in results) == [False, True]
    for result in results:
        if isinstance(result, Store):
            result.close()


def test_a_second_host_with_another_folder_is_refused(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with place.store() as store:
        begun(store, "trial")
        with pytest.raises(dpb.DatabaseError, match="give the folder where they are"):
            Store(place.url, other)
    assert list(other.iterdir()) == []


def test_marks_of_another_database_are_never_taken_or_written(place: Place, tmp_path: Path) -> None:
    with place.store() as store:
        begun(store, "trial")
    other = tmp_path / "other.db"
    with pytest.raises(dpb.DatabaseError, match=r"is empty, and .* has marks of experiments"):
        Store(other, place.state)
    assert not other.exists()
    second = tmp_path / "second"
    second.mkdir()
    with Store(other, second) as store:
        begun(store, "trial")
    status, text = output_of("marks", "adopt", "--database", str(other), "--state", str(place.state))
    assert (status, f"are at {second / 'marks'}: give that folder" in text) == (2, True)
    with place.store():
        pass


def test_an_emptied_database_stays_empty_until_it_is_put_back(place: Place, tmp_path: Path) -> None:
    with place.store() as store:
        begun(store, "trial")
    copy = tmp_path / "copy"
    place.save(copy)
    place.empty()
    with pytest.raises(dpb.DatabaseError, match="put it back before anything uses it"):
        place.store()
    place.put_back(copy)
    with place.store():
        pass


def test_a_database_that_is_in_use_is_not_repaired(place: Place) -> None:
    with place.store() as store:
        begun(store, "trial")
        for command in ("restore", "marks adopt"):
            status, text = run(command, place)
            assert (status, "stop what uses it first" in text) == (2, True)


def test_postgresql_needs_a_folder_for_its_marks(place: Place) -> None:
    if place.kind == SQLITE:
        with Store(f"{place.url}2") as store:
            assert store.marks.path == Path(f"{place.url}2.marks")
        return
    with pytest.raises(dpb.InvalidInput, match="state=None to be a folder"):
        Store(place.url)
    with pytest.raises(dpb.InvalidInput, match="to be a folder"):
        Store(place.url, "/nowhere/at/all")


# ---- crashes between a commit and its mark


def test_a_database_that_is_ahead_of_its_marks_goes_on_and_they_are_raised(place: Place, tmp_path: Path) -> None:
    with place.store() as store:
        begun(store, "trial")
        played(store, range(10))
        shutil.copy(store.marks.path, tmp_path / "marks")
        played(store, range(10, 30))
        rows = len(acknowledged_overview(store, "trial").ledger)
        path = store.marks.path
    shutil.copy(tmp_path / "marks", path)
    with place.store() as store:
        assert len(acknowledged_overview(store, "trial").ledger) == rows
        assert store.marks.all()[1].rows == rows


def test_marks_that_cannot_be_written_hide_what_was_committed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(store, "trial")
    write = os.pwrite
    broken = [True]

    def failing(file: int, content: bytes, place: int) -> int:
        if broken and b" open" in content:
            raise OSError(28, "No space left on device")
        return write(file, content, place)

    with Writer(store) as writer:
        first = writer.take(Assign("trial", 1))
        monkeypatch.setattr(os, "pwrite", failing)
        for step in (Assign("trial", 2), Reward(first.id, 1.0, "key")):
            with pytest.raises(dpb.DatabaseError, match=r"mark could not be written: .*No space left"):
                writer.take(step)
        broken.clear()
        assert writer.take(Assign("trial", 2)).id.endswith("-2")  # it was committed
        assert writer.take(Reward(first.id, 1.0, "key")) is None
        with pytest.raises(dpb.AlreadyClosed):
            writer.take(Reward(first.id, 1.0, "another"))


def test_a_mark_is_on_disk_before_anybody_sees_a_release(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(store, "trial")
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: forced.append(file))
    with Writer(store) as writer:
        rows = 1
        for person in range(30):
            given = writer.take(Assign("trial", person))
            forced.clear()
            writer.take(Reward(given.id, 1.0))
            mark = store.marks.mark(1)
            assert mark is not None
            assert bool(forced) == (mark.rows > rows)
            rows = mark.rows
    assert rows > 5


# ---- backups


def test_a_backup_is_a_database_of_its_moment(place: Place, tmp_path: Path) -> None:
    with place.store() as store:
        begun(store, "trial")
        played(store, range(20))
        backup = tmp_path / "backup"
        status, text = output_of("backup", "--database", place.url, "--out", str(backup))
        assert (status, text) == (0, f"Backup: {backup}\n")
        assert os.stat(backup).st_mode & 0o777 == 0o600
        rows = acknowledged_overview(store, "trial").ledger.to_jsonl()
    status, text = output_of("backup", "--database", place.url, "--out", str(backup))
    assert (status, "a backup overwrites nothing" in text) == (2, True)
    place.put_back(backup)
    with place.store() as store:
        assert acknowledged_overview(store, "trial").ledger.to_jsonl() == rows


def test_a_backup_of_a_file_with_any_name_is_made_while_it_is_written(tmp_path: Path) -> None:
    path, backup = tmp_path / "a#1 %41?.db", tmp_path / "backup"
    with Store(path) as store:
        begun(store, "trial")
        with Writer(store) as writer:
            is_over = threading.Event()

            def write() -> None:
                person = 0
                while not is_over.is_set():
                    writer.take(Assign("trial", person))
                    person += 1

            thread = threading.Thread(target=write)
            thread.start()
            status, text = output_of("backup", "--database", str(path), "--out", str(backup))
            is_over.set()
            thread.join()
    assert (status, text) == (0, f"Backup: {backup}\n")
    with sqlite3.connect(backup) as copy:
        assert copy.execute("SELECT name FROM experiments").fetchall() == [("trial",)]
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    copy.close()


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for command in (["restore"], ["marks", "adopt"], ["backup", "--out", str(tmp_path / "x")], ["upgrade"]):
        status, text = output_of(*command, "--database", str(tmp_path / "none.db"))
        assert (status, "to be a file that exists" in text) == (2, True)
    assert list(tmp_path.iterdir()) == []
