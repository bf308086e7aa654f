"""What lies on disk is for its owner alone, is where it was, and is left as it is by whoever refuses it."""

import errno
import fcntl
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.live import private_file
from dpbandits.live.journal import Journal
from dpbandits.live.journal_snapshot import path_of_snapshot
from dpbandits.live.private_file import PrivateFile
from explore_then_commit import ExploreThenCommit

POLICY = ExploreThenCommit(epsilon=1.0, plays=5)


def opened(path: Any, **options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], journal=path, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal that was begun, with an assignment."""
    bandit = opened(tmp_path / "journal")
    bandit.assign()
    bandit.detach()
    return tmp_path / "journal"


def everything(folder: Path) -> dict[str, Any]:
    """Return what is in a folder, to see that nothing has changed."""
    return {
        file.name: (file.lstat().st_mode, file.lstat().st_uid, file.lstat().st_nlink, file.read_bytes())
        for file in folder.iterdir()
        if not file.is_dir()
    }


both_files = pytest.mark.parametrize("name", ["journal", "journal.mark"])


def refused(path: Path, reason: str, **options: Any) -> None:
    before = everything(path.parent)
    with pytest.raises(dpb.JournalError, match=reason) as refusal:
        opened(path, **options)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 500
    assert everything(path.parent) == before


@both_files
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_can_write_is_refused(path: Path, name: str, mode: int) -> None:
    """Somebody may have changed it, or may have it open."""
    path.with_name(name).chmod(mode)
    refused(path, f"{name} cannot be opened as .*: others can write it; .* run chmod 600 on it")


@both_files
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o400 | 0o200 | 0o044])
def test_a_restored_copy_that_others_can_read_is_made_private(path: Path, name: str, mode: int) -> None:
    path.with_name(name).chmod(mode)
    opened(path).assign()
    assert path.with_name(name).stat().st_mode & 0o777 == 0o600


@both_files
def test_another_users_file_is_refused(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(path.with_name(name), 12345, -1)
    else:  # who is not root cannot give a file away
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    refused(path, "it belongs to another user")


@both_files
def test_a_link_is_refused(path: Path, name: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "target"
    path.with_name(name).rename(target)
    path.with_name(name).symlink_to(target)
    refused(path, "it is a symbolic link")
    path.with_name(name).unlink()
    os.link(target, path.with_name(name))
    refused(path, "it has a second name")


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal").symlink_to(tmp_path / "nowhere")
    with pytest.raises(dpb.JournalError, match="it is a symbolic link"):
        opened(tmp_path / "journal")
    assert [file.name for file in tmp_path.iterdir()] == ["journal"]


def test_an_open_file_of_others_is_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.touch()
    path.chmod(0o666)
    refused(path, "others can write it")


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "emptied"])
def test_a_journal_that_went_away_is_noticed_before_a_step_is_acknowledged(path: Path, how: str) -> None:
    bandit = opened(path)
    waiting = bandit.open_assignments()
    gone(path, how)
    with pytest.raises(dpb.JournalError, match="journal was deleted, moved or changed while it was open"):
        bandit.close(waiting[0], 1.0)
    with pytest.raises(dpb.StepError, match="failed halfway"):
        bandit.assign()


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_mark_that_went_away_is_noticed_before_a_release_is_shown(path: Path, how: str) -> None:
    """Until then nothing depends on it: every step is in the journal."""
    bandit = opened(path)
    gone(path.with_name("journal.mark"), how)
    waiting = [*bandit.open_assignments(), *(bandit.assign() for _ in range(9))]
    for a in waiting[2::2]:
        bandit.close(a, 1.0)
    with pytest.raises(dpb.JournalError, match=r"journal.mark was deleted, moved or changed while it was open"):
        bandit.close(waiting[0], 1.0)
    with pytest.raises(dpb.StepError, match="failed halfway"):
        _ = bandit.ledger


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "emptied"])
def test_a_snapshot_does_not_take_the_place_of_a_file_that_is_not_the_journal_any_more(path: Path, how: str) -> None:
    bandit = opened(path)
    bandit.assign(unit="Ada")
    bandit.forget("Ada")  # the next step writes a snapshot
    gone(path, how)
    left = path.read_bytes() if path.exists() else None
    with pytest.raises(dpb.JournalError, match=r"journal was deleted, moved or changed while it was open"):
        bandit.assign()
    after = path.read_bytes() if path.exists() else None
    assert after == left or how == "emptied"
    assert not path_of_snapshot(str(path)).exists()


def gone(file: Path, how: str) -> None:
    if how == "emptied":  # as log rotation does
        os.truncate(file, 0)
    elif how == "deleted":
        file.unlink()
    else:
        file.rename(file.with_name("away"))
    if how == "replaced":
        file.write_bytes(file.with_name("away").read_bytes())


def test_a_journal_is_found_whatever_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bandit = opened("journal")
    monkeypatch.chdir("/")
    bandit.assign()
    bandit.detach()
    assert len(opened(tmp_path / "journal").open_assignments()) == 1


@pytest.mark.parametrize("before", ["nothing", "an empty file", "a torn beginning"])
def test_a_journal_that_was_never_begun_is_begun(tmp_path: Path, before: str) -> None:
    """Killed while it was made: nothing was acknowledged."""
    path = tmp_path / "journal"
    if before == "a torn beginning":
        opened(path).detach()
        path.write_bytes(path.read_bytes()[:50])
        path.with_name("journal.mark").write_bytes(b"%-20d %s\n" % (-1, b"0" * 16))
    elif before == "an empty file":
        path.touch(0o600)
        path.with_name("journal.mark").touch(0o600)
    bandit = opened(path)
    a = bandit.assign()
    bandit.detach()
    assert opened(path).open_assignments() == [a]


def test_a_refused_beginning_leaves_nothing(tmp_path: Path) -> None:
    for options, error in (
        ({"mark": tmp_path / "missing" / "mark"}, dpb.JournalError),
        ({"horizon": 3}, dpb.InvalidInput),
        ({"witness": lambda number, digest: False}, dpb.JournalError),
        ({"mark": tmp_path / "journal"}, dpb.JournalError),
    ):
        with pytest.raises(error):
            opened(tmp_path / "journal", **options)
        assert list(tmp_path.iterdir()) == []


def test_a_refused_configuration_leaves_a_torn_journal_as_it_is(path: Path) -> None:
    """What was torn is cut off by who goes on with it, not by who is refused."""
    with path.open("ab") as file:
        file.write(b"torn")
    refused(path, "was begun with contributions=1, not with 2", contributions=2)
    refused(path, "The witness answered False", witness=lambda number, digest: False)
    opened(path).detach()
    assert not path.read_bytes().endswith(b"torn")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("x" * 300, "File name too long"),
        ("x" * 100_000, "File name too long"),
        ("/proc/journal", "No such file or directory|its folder cannot be written"),
        ("/etc/passwd/journal", "Not a directory"),
        ("/no/such/folder/journal", "No such file or directory"),
        ("a\0b", "embedded null byte"),
        (".", "Is a directory"),
        ("/", "Is a directory"),
    ],
)
def test_odd_paths_are_refused_in_one_sentence(path: str, reason: str) -> None:
    for options in ({"journal": path}, {"journal": "journal", "mark": path}):
        with pytest.raises(dpb.JournalError, match=reason) as refusal:
            dpb.Bandit(POLICY, 2, **options)  # type: ignore[arg-type]
        assert "\n" not in str(refusal.value)
        assert len(str(refusal.value)) < 400
    assert not Path("journal").exists()


@pytest.mark.parametrize("path", [7, b"journal", True, ["journal"], ""])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(dpb.InvalidInput, match=r"Expected journal=.* to be the path of a file"):
        opened(path)
    with pytest.raises(dpb.InvalidInput, match=r"Expected mark=.* to be the path of a file"):
        opened("journal", mark=path)
    with pytest.raises(dpb.InvalidInput, match="Expected mark='m' together with a journal"):
        dpb.Bandit(POLICY, 2, mark="m")


class Denied:
    """The operating system, to somebody who may not open this file."""

    def __init__(self, path: Path) -> None:
        self.path, self.real = path, os.open

    def __call__(self, path: Any, *arguments: Any) -> int:
        if Path(path) == self.path:
            raise PermissionError(13, "Permission denied")
        return self.real(path, *arguments)


def test_without_a_working_directory_a_path_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(dpb.JournalError, match="journal cannot be found: there is no working directory"):
        opened("journal")


def test_folders_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root everything is permitted, so the operating system is played."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(dpb.JournalError, match="its folder cannot be written"):
            opened(folder / "journal")
    for name in ("journal", "journal.mark", "."):
        with monkeypatch.context() as patched:
            patched.setattr(os, "open", Denied(folder / name))
            with pytest.raises(dpb.JournalError, match="Permission denied") as refusal:
                opened(folder / "journal")
        assert "\n" not in str(refusal.value)
        assert list(folder.iterdir()) == []


def test_where_there_are_no_locks_a_journal_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows. Everything else works."""
    monkeypatch.setattr(private_file, "fcntl", None)
    with pytest.raises(dpb.JournalError, match=r"^A journal needs file locks and owners, which this operating system"):
        opened(tmp_path / "journal")
    assert list(tmp_path.iterdir()) == []
    bandit = dpb.Bandit(POLICY, 2)
    bandit.close(bandit.assign(), 1.0)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_where_locks_do_not_work_a_journal_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As on some network file systems."""

    def flock(file: Any, operation: int) -> None:
        raise OSError(number, "No locks here")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(dpb.JournalError, match=r"cannot be opened as a journal: it cannot be locked \(No locks here\)"):
        opened(tmp_path / "journal")


def test_who_loses_a_race_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else opens and locks the new file before its maker does. It is theirs then."""
    path = tmp_path / "journal"
    real = fcntl.flock
    winners: list[Any] = []

    def slow(file: Any, operation: int) -> None:
        if not winners and operation & fcntl.LOCK_EX:
            winners.append(None)
            winners[0] = opened(path)
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", slow)
    with pytest.raises(dpb.JournalError, match="is in use"):
        opened(path)
    winner = winners[0]
    winner.close(winner.assign(), 1.0)
    winner.detach()
    assert len(opened(path).ledger) == 1


def test_what_was_removed_before_it_was_locked_is_not_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its maker has given up."""
    real = fcntl.flock

    def slow(file: Any, operation: int) -> None:
        path.unlink(missing_ok=True)
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", slow)
    with pytest.raises(dpb.JournalError, match="is in use"):
        opened(path)


def test_a_large_file_that_is_no_journal_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with path.open("wb") as file:
        file.truncate(10**9)  # zeros without an end of line, that take no room on the disk
    path.chmod(0o600)
    tracemalloc.start()
    with pytest.raises(dpb.JournalError, match="journal is not a journal"):
        opened(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**8


def test_opening_streams(tmp_path: Path) -> None:
    """A journal is read record by record: what is in memory does not grow with the file."""
    path = tmp_path / "journal"
    journal = Journal(path)
    assert list(journal.records()) == []
    journal.begin({"first": 0})
    for number in range(2000):
        journal.append({"record": "x" * 1000, "number": number})
    journal.close()
    size = path.stat().st_size
    assert size > 2_000_000
    journal = Journal(path)
    tracemalloc.start()
    count = sum(1 for _ in journal.records())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    journal.close()
    assert count == 2001
    assert peak < size / 10


def test_a_file_that_was_made_is_removed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later one with its name may have its number too: the system gives numbers of removed files away again."""
    path = tmp_path / "journal"
    file = PrivateFile(path, "journal")
    file.make()
    file.unmake()
    assert not path.exists()
    path.write_text("of another bandit")
    monkeypatch.setattr(PrivateFile, "is_in_place", lambda file, size=None: True)
    file.unmake()
    assert path.read_text() == "of another bandit"
    file.close()
