"""A journal survives everything that can happen to a process, and refuses everything that can happen to a file."""

import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.live import persistence
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.journal import Journal
from dpbandits.live.names_on_disk import guarantee_from
from dpbandits.live.persistence import journal_overview
from dpbandits.live.step_lock import StepLock
from dpbandits.mechanisms import recording
from dpbandits.policies import Policy
from explore_then_commit import ExploreThenCommit
from insides import state_of
from shared_noise import SharedNoise
from ways_of_answering import WAYS

pytestmark = pytest.mark.slow

POLICY = ExploreThenCommit(epsilon=1.0, plays=5)


def opened(path: Path, **options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], journal=path, **options)


def read(path: Path) -> Journal:
    """Return a journal that was read to its end and can be appended to."""
    journal = Journal(path)
    try:
        assert len(list(journal.records())) > 0
        journal.force()
        journal.go_on()
    except BaseException:
        journal.close()
        raise
    return journal


def mark_of(path: Path) -> Path:
    return path.with_name(path.name + ".mark")


# ---- resuming


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "policy",
    [
        dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=1000),
        dpb.NoiseAwareIMED(epsilon=3.0, growth=1.2),
        dpb.AnytimeLazyUCB(epsilon=3.0),
    ],
    ids=lambda policy: policy.name,
)
def test_a_bandit_resumes_exactly(tmp_path: Path, policy: Policy, way: str) -> None:
    """The state, the ledger and the open assignments are the same, and nothing is released again."""
    path = tmp_path / "journal"
    bandit = dpb.Bandit(policy, 3, journal=path)
    for _ in range(3):
        bandit.assign(unit="somebody")
    WAYS[way](bandit, lambda n, arm: (n % 7) / 6, 150)
    selected = bandit.select()
    state, ledger = state_of(bandit), bandit.ledger.to_jsonl()
    bandit.detach()
    noise = SharedNoise(1)
    noise.publish = None  # type: ignore[assignment, method-assign]  # noise is drawn ahead; nothing is released
    again = dpb.Bandit(policy, 3, journal=path, noise=noise)
    assert state_of(again) == state
    assert again.ledger.to_jsonl() == ledger
    assert len(again.ledger) > 5
    assert again.select() == selected
    assert again.estimates() == bandit.estimates()


def test_terms_of_the_beginning_are_kept() -> None:
    """The text was written when group privacy took m e^((m-1)ε) times the delta, and is never computed anew."""
    text = Path(__file__).with_name("begun_before.json").read_text(encoding="utf-8")
    bandit = dpb.Bandit.from_json(text, noise=SharedNoise(1))
    begun = bandit.ledger[0].content
    assert bandit.guarantee == guarantee_from(begun["guarantee"], begun["format"])
    assert bandit.guarantee.within(dpb.Budget(3.0, 1e-6))
    one_reward = begun["reward_guarantee"]
    assert bandit.guarantee.delta == pytest.approx(4 * math.exp(3 * one_reward["epsilon"]) * one_reward["delta"])
    bandit.close(bandit.open_assignments()[0], reward=1.0)
    for number in range(100):
        bandit.close(bandit.assign(unit=f"another {number}"), reward=0.5)
    assert len(bandit.ledger) > 4
    assert dpb.check_ledger(bandit.ledger.to_jsonl(), head=bandit.ledger.head).holds
    again = dpb.Bandit.from_json(bandit.to_json(), noise=SharedNoise(2))
    assert again.guarantee == bandit.guarantee
    fresh = dpb.Bandit(dpb.DPUCBInt(epsilon=3.0, delta=1e-6, horizon=300), ["A", "B"], contributions=4)
    assert fresh.ledger[0].content["reward_guarantee"]["delta"] > 1.5 * one_reward["delta"]


def test_a_detached_bandit_takes_no_more_steps(tmp_path: Path) -> None:
    bandit = opened(tmp_path / "journal")
    bandit.detach()
    with pytest.raises(RuntimeError, match="let go of its journal"):
        bandit.assign()
    with pytest.raises(dpb.InvalidInput, match="detach it and move"):
        opened(tmp_path / "journal").to_json()


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    opened(path).detach()
    settings: dict[str, Any] = {"policy": POLICY, "arms": ["A", "B"], "journal": path}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"arms": ["A", "C"]}, r"arms=\['A', 'B'\], not with \['A', 'C'\]"),
        ({"default_reward": 0.5}, "default_reward=0.0, not with 0.5"),
        ({"contributions": 2}, "contributions=1, not with 2"),
        ({"policy": ExploreThenCommit(epsilon=1.5, plays=5)}, "policy="),
        (  # only what differs is told
            {"policy": dataclasses.replace(POLICY, plays=6)},
            "policy={'name': 'explore-then-commit', 'plays': 5}, not with {'name': 'explore-then-commit', 'plays': 6}",
        ),
    ]
    for other, difference in cases:
        with pytest.raises(dpb.JournalError, match=rf"was begun with {difference}"):
            dpb.Bandit(**{**settings, **other})
    opened(path).assign()  # and nothing was changed or left locked


@pytest.mark.parametrize(
    "change",
    [
        {"assign": 1, "block": None},
        {"assign": 1, "block": 1},
        {"assign": 7, "block": 0},
        {"close": 1, "reward": 0, "released": [1.0, 2.0]},
        {"close": 1, "reward": 0},
        {"close": 1, "reward": 0, "released": [1.0], "head": "0" * 64},
        {"batch": [{"close": 1, "reward": 0}, {"release": [[0, 1.0, 4096.0]], "head": "0" * 64}]},
        {"batch": [{"close": 1, "reward": 0}, {"release": [[0, 1.0, 4096.0], [0, 2.0, 4096.0]], "head": "0" * 64}]},
        {"release": [[0, 1.0, 4096.0]], "head": "0" * 64},
        {"close": 99, "reward": 0},
        {"unknown": 1},
    ],
    ids=str,
)
def test_steps_that_cannot_be_taken_again_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """The checksums are right, so another version must have written it."""
    path = tmp_path / "journal"
    bandit = opened(path)
    waiting = [bandit.assign() for _ in range(9)]
    for a in waiting[2::2]:
        bandit.close(a, 1.0)
    bandit.detach()  # closing the first one would make a release
    journal = read(path)
    journal.append(change)
    journal.close()
    with pytest.raises(dpb.JournalError, match="cannot be followed from record 14 on"):
        opened(path)


def test_rows_of_the_ledger_are_as_they_were_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that writes other rows cannot go on: what an auditor has kept would no longer fit."""
    path = tmp_path / "journal"
    bandit = opened(path)
    for _ in range(10):
        bandit.close(bandit.assign(), 1.0)
    bandit.detach()
    row = recording.release_row
    monkeypatch.setattr("dpbandits.live.live_noise.release_row", lambda *args: {**row(*args), "more": 1})
    with pytest.raises(dpb.JournalError, match="cannot be followed from record 18 on"):
        opened(path)


def test_a_bandit_goes_on_with_the_schedule_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines round differently: nothing is calibrated again, and tiny differences of the guarantee are none."""
    path = tmp_path / "journal"
    policy = dpb.DPUCBInt(epsilon=9.0, delta=1e-6, horizon=500)
    bandit = dpb.Bandit(policy, 2, journal=path)
    WAYS["step"](bandit, lambda n, arm: 0.5, 50)
    state = state_of(bandit)
    bandit.detach()
    original = dpb.DPUCBInt.guarantee

    def as_written_down(policy: dpb.DPUCBInt) -> float:
        assert policy.density is not None, "calibrated again"
        return policy.density

    def on_another_machine(self: dpb.DPUCBInt, horizon: float = math.inf) -> dpb.Guarantee:
        guarantee = original(self, horizon)
        return dataclasses.replace(guarantee, epsilon=guarantee.epsilon * factor)

    monkeypatch.setattr(dpb.DPUCBInt, "interval_epsilon", property(as_written_down))
    monkeypatch.setattr(dpb.DPUCBInt, "guarantee", on_another_machine)
    factor = 1 + 1e-9
    again = dpb.Bandit(policy, 2, journal=path)
    assert state_of(again) == state
    assert again.guarantee == bandit.guarantee
    again.detach()
    factor = 0.9  # a tighter bound
    again = dpb.Bandit(policy, 2, journal=path)
    assert again.guarantee == bandit.guarantee
    again.detach()
    factor = 1.001
    with pytest.raises(
        dpb.JournalError, match=r"Expected epsilon=.*, as this version computes it for one reward, to be at most"
    ):
        dpb.Bandit(policy, 2, journal=path)


def test_a_users_policy_that_costs_something_else_is_refused() -> None:
    """Less, too: it may have another schedule, and then its old releases were not what it says."""
    factor = 1.0

    class Mine(dpb.DPIMED):
        name = "mine"

        def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
            guarantee = super().guarantee(horizon)
            return dataclasses.replace(guarantee, epsilon=guarantee.epsilon * factor)

    policy = Mine(epsilon=1.0)
    bandit = dpb.Bandit(policy, 2, noise=SharedNoise(1))
    text = bandit.to_json()
    for same in (1.0, 1 + 1e-9, 1 - 1e-9):
        factor = same
        assert dpb.Bandit.from_json(text, policy=policy, noise=SharedNoise(1)).guarantee == bandit.guarantee
    for other in (0.1, 1.1):
        factor = other
        with pytest.raises(dpb.InvalidInput, match=rf"Expected epsilon={other}.*, to be 1.0, as in the beginning\."):
            dpb.Bandit.from_json(text, policy=policy, noise=SharedNoise(1))


def test_two_bandits_on_one_journal_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = opened(path)
    with pytest.raises(dpb.JournalError, match="is in use"):
        opened(path)
    code = f"import sys; sys.path[:0] = {sys.path!r}; import test_journal; test_journal.opened({str(path)!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "is in use" in run.stderr
    bandit.assign()
    del bandit
    opened(path)


def test_a_forked_child_does_not_keep_the_journal(tmp_path: Path) -> None:
    """Neither after its owner has let go, nor after its owner was killed."""
    bandit = opened(tmp_path / "journal")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    bandit.detach()
    again = opened(tmp_path / "journal")
    again.assign()
    os.close(writer)
    os.waitpid(child, 0)
    with pytest.raises(dpb.JournalError, match="is in use"):  # and takes nothing from its owner when it ends
        opened(tmp_path / "journal")


def test_a_forked_child_does_not_keep_the_journal_of_an_owner_that_died(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    owner = os.fork()
    if owner == 0:
        os.setsid()
        bandit = opened(tmp_path / "journal")
        bandit.assign()
        if os.fork() == 0:  # closes its files, says so, and stays
            os.write(writer, b"x")
            time.sleep(60)
        time.sleep(60)
        os._exit(0)
    os.read(reader, 1)
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
    try:
        assert len(opened(tmp_path / "journal").open_assignments()) == 1
    finally:
        os.killpg(owner, signal.SIGKILL)


def test_a_forked_child_leaves_the_lock_to_its_parent(tmp_path: Path) -> None:
    """The lock is one for both: a child that unlocked the file would unlock it for everyone."""
    opened(tmp_path / "journal").detach()
    journal = read(tmp_path / "journal")
    child = os.fork()
    if child == 0:
        journal.close()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(dpb.JournalError, match="is in use"):
        opened(tmp_path / "journal")
    journal.append({"assign": 0, "block": 0})
    journal.close()
    assert len(opened(tmp_path / "journal").open_assignments()) == 1


def test_a_refused_call_leaves_the_journal_to_the_others(tmp_path: Path) -> None:
    """Whatever is refused, in whichever thread, or in the middle of a step: nobody else's step is disturbed."""
    bandit = opened(tmp_path / "journal")

    def wrong() -> None:
        with pytest.raises(dpb.InvalidInput):
            bandit.close("nonsense")
        with pytest.raises(TypeError):
            bandit.close(rewrad=1)  # type: ignore[call-arg]
        with pytest.raises(dpb.InvalidInput):
            bandit.update("A", 1.0)

    wrong()
    bandit.close(bandit.assign(), 1.0)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    stop = threading.Event()

    def keep_wrong() -> None:
        while not stop.is_set():
            wrong()

    others = [threading.Thread(target=keep_wrong) for _ in range(2)]
    try:
        for other in others:
            other.start()
        for _ in range(80):
            bandit.close(bandit.assign(), 1.0)
    finally:
        stop.set()
        for other in others:
            other.join()
        sys.setswitchinterval(before)
    bandit.detach()
    assert opened(tmp_path / "journal").open_assignments() == []


def test_a_call_in_the_middle_of_a_step_leaves_that_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a signal handler would make it."""
    bandit = opened(tmp_path / "journal")
    real, refused = os.fsync, []

    def interrupted(file: int) -> None:
        with pytest.raises(dpb.StepError, match="in the middle of a step"):
            bandit.assign()
        refused.append(file)
        real(file)

    monkeypatch.setattr(os, "fsync", interrupted)
    a = bandit.assign()
    bandit.close(a, 1.0)
    assert len(refused) == 2


def test_a_bandit_that_failed_lets_go_when_it_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an interrupt came before it could let go at once."""
    bandit = opened(tmp_path / "journal")

    def interrupted(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", interrupted)
        patched.setattr(StepLock, "after_failure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bandit.assign()
    with pytest.raises(dpb.JournalError, match="is in use"):
        opened(tmp_path / "journal")
    with pytest.raises(dpb.StepError, match="failed halfway"):
        bandit.spent()
    opened(tmp_path / "journal").assign()


def test_a_file_that_cannot_be_closed_does_not_keep_the_other(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = opened(path)
    (handle,) = (each for each in Path("/proc/self/fd").iterdir() if each.exists() and each.samefile(path))
    os.close(int(handle.name))
    with pytest.raises(dpb.JournalError, match="Bad file descriptor"):
        bandit.assign()
    opened(path).assign()


@pytest.mark.parametrize("removed", [0, 1])
def test_killed_while_a_beginning_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int) -> None:
    """Whatever is left, a journal can be begun there."""
    path = tmp_path / "journal"
    real, left = os.unlink, [removed]

    def killed(file: Any) -> None:
        if not left[0]:
            raise SystemExit
        left[0] -= 1
        real(file)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", killed)
        patched.setattr(Journal, "_append", lambda *arguments, **named: 1 / 0)
        with pytest.raises((SystemExit, dpb.StepError)):
            opened(path)
    assert len(list(tmp_path.iterdir())) == 2 - removed
    opened(path).assign()


class Calls:
    """What is done to which file, in order; `journal` and `mark` by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, longest_write: int = 10**9) -> None:
        self.made: list[tuple[str, str]] = []
        for name in ("write", "pwrite", "fsync", "ftruncate"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name), longest_write))

    def _watched(self, name: str, call: Any, longest_write: int) -> Any:
        def watched(file: int, *rest: Any) -> Any:
            target = Path(os.readlink(f"/proc/self/fd/{file}"))
            self.made.append((name, "folder" if target.is_dir() else "mark" if target.suffix == ".mark" else "journal"))
            if name == "write":
                rest = (rest[0][:longest_write],)
            return call(file, *rest)

        return watched

    def taken(self) -> list[tuple[str, str]]:
        made, self.made = self.made, []
        return made


def test_records_are_on_disk_before_they_are_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill cannot show a missing fsync, so the calls themselves are looked at."""
    calls = Calls(monkeypatch)
    on_disk = [("write", "journal"), ("fsync", "journal"), ("pwrite", "mark")]
    bandit = opened(tmp_path / "journal")
    folders = [("fsync", "folder")] * 2
    nothing = [("ftruncate", "journal"), ("pwrite", "mark"), ("fsync", "mark")]
    assert calls.taken() == [*nothing, *folders, *on_disk, ("fsync", "mark")]
    waiting = [bandit.assign() for _ in range(10)]
    assert calls.taken() == on_disk * 10
    for a in waiting[2::2]:
        bandit.close(a, 1.0)
    assert calls.taken() == on_disk * 4
    bandit.close(waiting[0], 1.0)  # a release
    assert calls.taken() == [*on_disk, ("fsync", "mark")]
    bandit.detach()
    opened(tmp_path / "journal")
    # The last record may never have got to the disk: it is written again and forced there before it is confirmed.
    again = [
        ("write", "journal"),
        ("fsync", "journal"),
        ("ftruncate", "journal"),
        ("pwrite", "mark"),
        ("fsync", "mark"),
    ]
    assert calls.taken()[:5] == again


def test_the_mark_of_a_due_release_is_forced_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though no answer is in its record."""
    now = [0.0]
    bandit = dpb.Bandit(POLICY, 2, journal=tmp_path / "journal", window=60.0, clock=lambda: now[0])
    bandit.assign_many([None] * 50)
    now[0] = 60.0
    calls = Calls(monkeypatch)
    assert bandit.release_due() > 0
    assert calls.taken() == [("write", "journal"), ("fsync", "journal"), ("pwrite", "mark"), ("fsync", "mark")]


def test_a_record_is_written_in_as_many_pieces_as_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Calls(monkeypatch, longest_write=7)
    bandit = opened(tmp_path / "journal")
    bandit.close(bandit.assign(), 1.0)
    state = state_of(bandit)
    bandit.detach()
    assert state_of(opened(tmp_path / "journal")) == state


def test_a_journal_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(dpb.JournalError, match="cannot be opened as a journal: No such file or directory"):
        opened(tmp_path / "missing" / "journal")
    with pytest.raises(dpb.JournalError, match="cannot be opened as a journal: Is a directory"):
        opened(tmp_path)
    for device in ("/dev/null", "/dev/full"):
        with pytest.raises(dpb.JournalError, match="cannot be opened as a journal: it is not a regular file"):
            opened(Path(device))
    with pytest.raises(dpb.JournalError, match="cannot be opened as a journal: embedded null byte"):
        opened(Path("a\0b"))
    other = tmp_path / "notes.txt"
    other.write_text("Buy milk.\n")
    with pytest.raises(dpb.JournalError, match=r"notes.txt is not a journal"):
        opened(other)
    assert other.read_text() == "Buy milk.\n"


def test_a_file_of_any_size_is_refused_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> int:
        raise AssertionError(path)

    monkeypatch.setattr(persistence, "lines_in", read)
    (tmp_path / "film").write_bytes(bytes(10_000))
    for opens in (opened, lambda path: journal_overview(AcknowledgedRecords(path), None)):
        with pytest.raises(dpb.JournalError, match="is not a journal"):
            opens(tmp_path / "film")


def test_a_journal_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    opened(path)
    for file in (path, mark_of(path)):
        assert file.stat().st_mode & 0o077 == 0


# ---- damage


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A journal with every kind of record, the last one with a release."""
    path = tmp_path / "journal"
    bandit = opened(path)
    assignments = [bandit.assign(unit=n) for n in range(10)]
    bandit.select()
    for a in assignments:
        bandit.close(a, 1.0)
    bandit.detach()
    assert b'{"release":' in path.read_bytes().splitlines()[-1]
    return path


def test_a_torn_last_record_is_dropped_wherever_it_was_torn(written: Path, tmp_path: Path) -> None:
    """Killed while the record was written: its step was never acknowledged, and can be taken again."""
    content = written.read_bytes()
    *_, last = content.splitlines(keepends=True)
    start = len(content) - len(last)
    before = _mark_after(content[:start])
    for cut in range(len(last)):
        path = tmp_path / f"torn {cut}"
        path.write_bytes(content[: start + cut])
        mark_of(path).write_bytes(before)
        read(path).close()
        assert path.read_bytes() == content[:start]
        assert mark_of(path).read_bytes() == before
    # A block of the disk that never arrived reads as zeros.
    path = tmp_path / "zeros"
    path.write_bytes(content[:start] + bytes(len(last)))
    mark_of(path).write_bytes(before)
    bandit = opened(path)
    assert len(bandit.ledger) == 2
    bandit.close(bandit.open_assignments()[0], 1.0)
    assert len(bandit.ledger) == 3


def test_a_record_that_was_written_but_not_acknowledged_counts(written: Path) -> None:
    """Killed between the record and the mark: the release is the one on disk."""
    content = written.read_bytes()
    *_, last = content.splitlines(keepends=True)
    mark_of(written).write_bytes(_mark_after(content[: -len(last)]))
    ((_, value, _),) = json.loads(last.split(b" ", 1)[1])["batch"][-1]["release"]
    bandit = opened(written)
    assert bandit.ledger[len(bandit.ledger) - 1].content["value"] == value
    assert mark_of(written).read_bytes() == _mark_after(content)


def test_every_other_damage_is_refused(written: Path, torture: bool) -> None:
    """Every byte changed, every record removed, doubled or swapped, every acknowledged end cut off.

    Without torture, of the bytes between the ends of a line only some.
    """
    content = written.read_bytes()
    mark = mark_of(written).read_bytes()
    lines = content.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    ends = {start + i for start in starts for i in range(-4, 4)}
    changed = [i for i in range(len(content)) if torture or i in ends or i % 13 == 0]
    damaged = [content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in changed]
    damaged += [b"".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines))]
    damaged += [b"".join(lines[: i + 1] + lines[i:]) for i in range(len(lines) - 1)]
    damaged += [b"".join([*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]]) for i in range(len(lines) - 1)]
    damaged += [content[:cut] for cut in range(0, len(content), 7 if torture else 31)]
    for file in damaged:
        written.write_bytes(file)
        mark_of(written).write_bytes(mark)
        with pytest.raises(dpb.JournalError, match=r"damaged|old copy|not the one|high-water") as refused:
            read(written)
        assert "\n" not in str(refused.value)
        assert written.read_bytes() == file
        assert mark_of(written).read_bytes() == mark
    written.write_bytes(content[:-3] + b"x]}\n")
    with pytest.raises(dpb.JournalError, match=f"is damaged at line {len(lines)}"):  # not taken for a torn one
        read(written)
    written.write_bytes(content)
    assert len(list(Journal(written).records())) == len(lines)


def test_an_old_copy_is_refused(tmp_path: Path) -> None:
    path, copy = tmp_path / "journal", tmp_path / "copy"
    bandit = opened(path)
    shutil.copy(path, copy)
    for _ in range(10):
        bandit.close(bandit.assign(), 1.0)
    assert len(bandit.ledger) == 3
    bandit.detach()
    shutil.copy(copy, path)
    with pytest.raises(dpb.JournalError, match="ends after 1 records and 21 were acknowledged: it is an old copy"):
        opened(path)
    path.unlink()
    with pytest.raises(dpb.JournalError, match=r"There is no journal .* is of record 20: if it was moved,"):
        opened(path)


def test_a_lost_or_damaged_mark_is_refused(written: Path) -> None:
    mark = mark_of(written).read_bytes()
    for damaged in (mark[:-1], b"x" + mark[1:], b"12 abc\n", mark.replace(mark[-5:-1], b"0000")):
        mark_of(written).write_bytes(damaged)
        with pytest.raises(dpb.JournalError, match=r"mark .* is damaged|not the one that its high-water mark"):
            opened(written)
    mark_of(written).unlink()
    with pytest.raises(dpb.JournalError, match=r"has no high-water mark .*journal.mark, so nobody"):
        opened(written)


def test_a_full_disk_ends_the_bandit_and_the_journal_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    bandit = opened(path)
    first = bandit.assign()
    real = os.write

    def full(file: int, content: bytes) -> int:
        real(file, content[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(dpb.JournalError, match="cannot be written: No space left on device"):
            bandit.assign()
        with pytest.raises(dpb.JournalError, match="cannot be written: No space left on device"):
            opened(tmp_path / "another")
    with pytest.raises(RuntimeError, match="open it again"):
        bandit.assign()
    again = opened(path)
    assert again.open_assignments() == [first]


def _mark_after(content: bytes) -> bytes:
    lines = content.splitlines()
    return b"%-20d %s\n" % (len(lines) - 1, lines[-1][:16])
