"""Kills, full disks and interrupts: nothing is lost, doubled, drawn again or shown.

Here a sample of the places where a step can be hit; `make torture` takes them all, and many more kills.
"""

import dis
import errno
import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dpbandits as dpb
import program_to_kill
from dpbandits.live import snapshot_schedule
from dpbandits.live.journal_snapshot import UNFINISHED, path_of_snapshot
from frames import LIBRARY, found_in_frames, library_frames
from insides import journal_of, learner_of, state_of
from shared_noise import SharedNoise

pytestmark = pytest.mark.slow

GRID_BITS = 24
REWARD = 0.7182818
ENCODED = str(round(REWARD * 2**GRID_BITS))
POLICY = dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=60)
WINDOW = 60.0
Step = Callable[[dpb.Bandit], Any]


class RememberedNoise(SharedNoise):
    """Remembers what it has drawn. All bandits of a scene draw the same, in a step or ahead of it."""

    def __init__(self, seed: int, grid_bits: int) -> None:
        super().__init__(seed, grid_bits)
        self.remembered: list[str] = []

    def draw(self, scale: float, mechanism: int) -> int:
        drawn = super().draw(scale, mechanism)
        self.remembered.append(str(drawn))
        return drawn


class Clock:
    """The time of scenes that have a window."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()
OPEN: dict[str, Any] = {"window": WINDOW, "clock": CLOCK}
SEALED: dict[str, Any] = {**OPEN, "timing": "sealed"}


def opened(path: Path, noise: SharedNoise | None = None, **options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], journal=path, noise=noise or SharedNoise(1, GRID_BITS), **options)


def when_it_is_over(step: Step) -> Step:
    """Return the step, taken when the windows of all assignments are over."""

    def late(bandit: dpb.Bandit) -> Any:
        CLOCK.now = WINDOW
        return step(bandit)

    return late


def mark_of(path: Path) -> Path:
    return path.with_name(path.name + ".mark")


def oldest(bandit: dpb.Bandit) -> Any:
    return bandit.open_assignments()[0]


def what_counts(bandit: dpb.Bandit) -> dict[str, Any]:
    """Return the state of a bandit but for places whose windows end in a step: a book lets go of them when it likes."""
    state = state_of(bandit)
    rows = [row for row in zip(*state.get("places", []), strict=True) if row[3] is None or row[3] > WINDOW]
    return {**state, "places": rows}


class Scene:
    """A journal before a step, the state before and after it, and what the step draws and shows."""

    def __init__(self, folder: Path, step: Step, closed: int, options: dict[str, Any]) -> None:
        path = folder / "scene"
        self.options = options
        CLOCK.now = 0.0
        bandit = opened(path, **options)
        for person in range(8):
            bandit.assign(unit=person)
        for _ in range(closed):
            bandit.close(oldest(bandit), REWARD)
        self.step = step
        self.before = what_counts(bandit)
        rows = len(bandit.ledger)
        bandit.detach()
        self.files = path.read_bytes(), mark_of(path).read_bytes()
        noise = RememberedNoise(1, GRID_BITS)
        bandit = opened(path, noise, **options)
        step(bandit)
        self.after = what_counts(bandit)
        self.states = [self.before, self.after]
        values = [row.content["value"] for row in list(bandit.ledger)[rows:]]
        self.is_release = bool(values)
        self.secrets = [ENCODED, *noise.remembered, *(str(value) for value in values)]
        self.secrets += [str(round(value * 2**GRID_BITS)) for value in values]
        assert noise.remembered
        bandit.detach()
        if CLOCK.now:  # what was due is released in a record of its own
            between = self.begin(path)
            CLOCK.now = WINDOW
            between.release_due()
            self.states.append(what_counts(between))
            between.detach()

    def begin(self, path: Path) -> dpb.Bandit:
        """Return a bandit before the step."""
        for file, content in zip((path, mark_of(path)), self.files, strict=True):
            file.write_bytes(content)
            file.chmod(0o600)
        CLOCK.now = 0.0
        bandit = opened(path, **self.options)
        assert what_counts(bandit) == self.before
        return bandit

    def check(self, path: Path, bandit: dpb.Bandit, problem: BaseException | None) -> None:
        """Check what is left after the step was hit: in the exception, in memory, on disk."""
        if problem is not None:
            assert found_in_frames(problem, *self.secrets) == []
        seen: dict[str, Any] = {}
        try:
            seen = what_counts(bandit) if bandit.ledger else {}
        except dpb.StepError:  # it refuses
            pass
        else:
            assert seen in self.states
        try:
            bandit.detach()
        except dpb.StepError:  # interrupted as it left the lock, where Python takes no interrupts
            journal_of(bandit).close()
        except dpb.JournalError as failed:
            if "What was forgotten is still in the journal" not in str(failed):
                raise
        again = opened(path, **self.options)
        state = what_counts(again)
        assert state in self.states
        if problem is None:
            assert state == self.after  # acknowledged
        if seen:
            assert state == seen
        for a in again.open_assignments():
            again.close(a, 0.5)
        assert again.ledger.verify() == again.ledger.head
        again.detach()


# A step, how many are answered before it, and with which options.
STEPS: dict[str, tuple[Step, int, dict[str, Any]]] = {
    "assign": (lambda bandit: bandit.assign(unit="somebody"), 3, {}),
    "select": (lambda bandit: bandit.select(), 3, {}),
    "close": (lambda bandit: bandit.close(oldest(bandit), REWARD), 1, {}),
    "release": (lambda bandit: bandit.close(oldest(bandit), REWARD), 2, {}),
    "second release": (lambda bandit: bandit.close(oldest(bandit), REWARD), 6, {}),
    "assign many": (lambda bandit: bandit.assign_many(["somebody", "somebody else", "somebody"]), 3, {}),
    "release of many": (
        lambda bandit: bandit.close_many([(a, REWARD, a.id) for a in bandit.open_assignments()]),
        1,
        {},
    ),
    "forget": (lambda bandit: bandit.forget(2), 1, {}),
    "close, sealed": (lambda bandit: bandit.close(oldest(bandit), REWARD), 2, SEALED),
    "due release": (when_it_is_over(lambda bandit: bandit.release_due()), 1, OPEN),
    "due release, sealed": (when_it_is_over(lambda bandit: bandit.release_due()), 8, SEALED),
    "assign after a due release": (when_it_is_over(lambda bandit: bandit.assign(unit="somebody")), 3, SEALED),
}


@pytest.fixture(params=STEPS)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    made = Scene(tmp_path, *STEPS[request.param])
    assert made.is_release is ("release" in request.param)
    return made


# ---- interrupts


# Where Python moves exceptions about. It takes no interrupts there, and one that is forced upon it leaves it confused.
MACHINERY = {"PUSH_EXC_INFO", "POP_EXCEPT", "RERAISE", "COPY", "WITH_EXCEPT_START"}


class Interrupts:
    """Counts the opcodes of the library that are executed, and raises KeyboardInterrupt at one of them."""

    def __init__(self, at: int, is_on: bool = True) -> None:
        self.left = at + 1
        self.is_on = is_on
        self.is_hit = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        frame.f_trace_opcodes = True
        opcode = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if event == "opcode" and self.is_on and not self.is_hit and opcode not in MACHINERY:
            self.left -= 1
            if self.left == 0:
                self.is_hit = True
                raise KeyboardInterrupt
        return self


def attempted(action: Callable[[], Any], interrupts: Interrupts) -> BaseException | None:
    """Do it with interrupts; return what was raised."""
    before = sys.gettrace()
    gc.disable()  # what an earlier bandit has left behind has a finalizer, which is no part of this
    sys.settrace(interrupts)
    try:
        action()
    except BaseException as problem:  # noqa: BLE001
        return problem
    finally:
        sys.settrace(before)
        gc.enable()
    return None


def opcodes_of(scene: Scene, path: Path) -> int:
    """Return how many opcodes of the library a step takes."""
    bandit = scene.begin(path)
    never = Interrupts(10**9)
    assert attempted(lambda: scene.step(bandit), never) is None
    bandit.detach()
    return 10**9 - never.left


# A step that forgets opens the file of a snapshot. An interrupt may come when it is open and nobody has it yet: the
# collector closes it.
@pytest.mark.filterwarnings("ignore:.*FileIO.*:pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_opcode(scene: Scene, tmp_path: Path, torture: bool) -> None:
    at, hits, with_argument = 0, 0, set()
    apart = 1 if torture else max(13, opcodes_of(scene, tmp_path / "journal") // 24)
    while True:
        path = tmp_path / "journal"
        bandit = scene.begin(path)
        interrupts = Interrupts(at)
        problem = attempted(lambda: scene.step(bandit), interrupts)  # noqa: B023
        if not interrupts.is_hit:
            break
        assert problem is None or isinstance(problem, KeyboardInterrupt)
        if problem is not None:
            with_argument |= set(found_in_frames(problem, str(REWARD)))
        scene.check(path, bandit, problem)
        at += apart
        hits += 1
    assert hits > (200 if torture else 15)
    # The reward as it was passed is in the frame that it was passed to until that has begun its work.
    assert with_argument <= {"clean.<locals>.called: arguments"}


@contextmanager
def failing(bandit: dpb.Bandit, place: str, first: Interrupts, kind: type[BaseException]) -> Iterator[None]:
    """Let something in the middle of a step fail, saying what it should not, and turn on what comes after."""
    learner = learner_of(bandit)
    owner: Any
    owner, name = {
        "before the step": (learner, "choice" if place == "assign" else "predraw_noise"),
        "the state": (learner.counts, "take"),
        "the sum": (learner.book, "answer"),
        "the journal": (os, "write"),
        "the mark": (os, "pwrite"),
    }[place]
    real = getattr(owner, name)

    def interrupted(*arguments: Any) -> Any:
        real(*arguments)
        first.is_on = True
        raise kind(ENCODED) if issubclass(kind, Exception) else kind

    setattr(owner, name, interrupted)
    try:
        yield
    finally:
        setattr(owner, name, real)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("place", ["before the step", "the state", "the sum", "the journal", "the mark"])
def test_an_interrupt_at_any_opcode_after_a_failure(
    scene: Scene, tmp_path: Path, place: str, kind: type[BaseException], torture: bool
) -> None:
    """The failure, itself an interrupt or not, comes in the middle of the work, the interrupt while it is handled."""
    at, hits = 0, 0
    while True:
        path = tmp_path / "journal"
        bandit = scene.begin(path)
        interrupts = Interrupts(at, is_on=False)
        with failing(bandit, place, interrupts, kind):
            problem = attempted(lambda: scene.step(bandit), interrupts)  # noqa: B023
        assert problem is None or isinstance(problem, KeyboardInterrupt | dpb.StepError)
        if interrupts.is_on and problem is not None:
            hits += interrupts.is_hit
            assert set(found_in_frames(problem, str(REWARD))) <= {"clean.<locals>.called: arguments"}
        scene.check(path, bandit, problem)
        if not interrupts.is_hit:
            break
        at += 1 if torture else 41
    is_reached = interrupts.is_on
    assert hits > (20 if torture else 2) or not is_reached


# ---- full disks


class FullDisk:
    """A disk with room for so many bytes more. The few bytes of a mark are in one block: all of them fit, or none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        for name in ("write", "pwrite"):
            monkeypatch.setattr(os, name, self._limited(getattr(os, name)))
        unlink = os.unlink

        def freeing(path: Any) -> None:
            self.room += os.lstat(path).st_size
            unlink(path)

        monkeypatch.setattr(os, "unlink", freeing)

    def _limited(self, call: Callable[..., int]) -> Callable[..., int]:
        def limited(file: int, content: bytes, *rest: int) -> int:
            fits = content[: self.room]
            if not fits or (rest and fits != content):
                raise OSError(errno.ENOSPC, "No space left on device")
            self.room -= len(fits)
            return call(file, fits, *rest)

        return limited


def test_a_full_disk_at_any_byte(scene: Scene, tmp_path: Path, torture: bool) -> None:
    """It fails until there is room for the record and the mark; what is forgotten needs no room for a snapshot."""
    path = tmp_path / "journal"
    room, apart = 0, 1 if torture else 37
    while True:
        bandit = scene.begin(path)
        with pytest.MonkeyPatch.context() as patched:
            FullDisk(patched, room)
            try:
                scene.step(bandit)
                break
            except dpb.JournalError as failed:
                problem = failed
        assert "cannot be written: No space left on device" in str(problem)
        assert found_in_frames(problem, str(REWARD)) == []
        assert [frame.f_code.co_name for frame in library_frames(problem)] == ["called"]
        with pytest.raises(dpb.StepError, match="failed halfway"):
            bandit.assign()
        scene.check(path, bandit, problem)
        room += apart
    scene.check(path, bandit, None)
    shortest_line = 40  # its checksum, and a little more
    assert room > shortest_line + len(scene.files[1])


def test_a_full_disk_when_a_journal_begins(tmp_path: Path, torture: bool) -> None:
    """A journal that could not be begun is not there."""
    path = tmp_path / "journal"
    opened(path).detach()
    written = path.stat().st_size
    path.unlink()
    mark_of(path).unlink()
    for room in range(0, written, 1 if torture else 101):
        with pytest.MonkeyPatch.context() as patched:
            FullDisk(patched, room)
            with pytest.raises(dpb.JournalError, match="cannot be written: No space left on device"):
                opened(path)
        assert list(tmp_path.iterdir()) == []
    opened(path).assign()


@pytest.mark.parametrize("call", ["write", "fsync", "pwrite"])
def test_a_disk_that_fails(scene: Scene, tmp_path: Path, call: str) -> None:
    """Whether what was written is there, nobody knows: the bandit ends, and the journal tells."""

    def broken(*arguments: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "journal"
    bandit = scene.begin(path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, call, broken)
        with pytest.raises(dpb.JournalError, match="cannot be written: Input/output error") as failed:
            scene.step(bandit)
    assert found_in_frames(failed.value, str(REWARD)) == []
    scene.check(path, bandit, failed.value)


# ---- snapshots


@pytest.fixture
def snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step writes a whole snapshot before it begins, and none is written when a journal is opened."""
    monkeypatch.setattr(snapshot_schedule, "SHORTEST_STEPS", 1)
    monkeypatch.setattr(snapshot_schedule, "STEPS_SHARE", 10**9)
    monkeypatch.setattr(snapshot_schedule, "OVERGROWN", 10**9)


# An interrupt may come when a file is open and nobody has it yet. The collector closes it.
@pytest.mark.filterwarnings("ignore:.*FileIO.*:pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_opcode_of_a_snapshot(scene: Scene, tmp_path: Path, torture: bool, snapshots: None) -> None:
    """The step before which it is written is done or not; the journal is one of two, and nothing is left beside it."""
    path = tmp_path / "journal"
    at, hits = 0, 0
    apart = 1 if torture else max(13, opcodes_of(scene, path) // 40)
    while True:
        bandit = scene.begin(path)
        interrupts = Interrupts(at)
        problem = attempted(lambda: scene.step(bandit), interrupts)  # noqa: B023
        if not interrupts.is_hit:
            break
        scene.check(path, bandit, problem)
        assert not path_of_snapshot(str(path)).exists()
        at += apart
        hits += 1
    assert hits > (1000 if torture else 30)
    assert path.read_bytes() != scene.files[0]


def test_a_full_disk_at_any_byte_of_a_snapshot(scene: Scene, tmp_path: Path, torture: bool, snapshots: None) -> None:
    """A snapshot for which there is no room is given up, and the step goes on as far as there is room for it."""
    path = tmp_path / "journal"
    bandit = scene.begin(path)
    scene.step(bandit)
    bandit.detach()
    written = path.stat().st_size + 2 * len(scene.files[1])
    taken, refused = 0, 0
    for room in range(0, written, 1 if torture else 61):
        bandit = scene.begin(path)
        problem = None
        with pytest.MonkeyPatch.context() as patched:
            FullDisk(patched, room)
            try:
                scene.step(bandit)
            except dpb.JournalError as failed:
                problem = failed
        if problem is None:
            taken += 1
        else:
            refused += "cannot be written: No space left on device" in str(problem)
        scene.check(path, bandit, problem)
        assert not path_of_snapshot(str(path)).exists()
    assert taken > 20
    assert refused >= 2


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "fchmod"])
def test_a_disk_that_fails_a_snapshot(
    scene: Scene, tmp_path: Path, call: str, snapshots: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the file of the snapshot fails: the step is taken, in the journal as it was."""
    path = tmp_path / "journal"
    bandit = scene.begin(path)
    real = getattr(os, call)

    def broken(file: Any, *rest: Any) -> Any:
        name = file if isinstance(file, str | Path) else os.readlink(f"/proc/self/fd/{file}")
        if str(name).endswith(UNFINISHED):
            raise OSError(errno.EIO, "Input/output error")
        return real(file, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, broken)
        scene.step(bandit)
        if call != "fchmod":
            assert path.read_bytes().startswith(scene.files[0])
    scene.check(path, bandit, None)


def test_a_disk_that_fails_when_a_snapshot_has_taken_the_place(
    scene: Scene, tmp_path: Path, snapshots: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash the old file may come back, so nothing more is written to the new one."""
    path = tmp_path / "journal"
    bandit = scene.begin(path)
    real = os.fsync

    def broken(file: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{file}"):
            raise OSError(errno.EIO, "Input/output error")
        real(file)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(dpb.JournalError, match="cannot be written: Input/output error") as failed:
            scene.step(bandit)
    after = path.read_bytes()
    with pytest.raises(dpb.JournalError, match="is not open"):
        scene.step(bandit)
    assert path.read_bytes() == after
    scene.check(path, bandit, failed.value)


# ---- kills


def first_line_of(path: Path) -> bytes:
    """Return what every snapshot changes. (The number of a file that was removed is soon that of another one.)"""
    return path.read_bytes().split(b"\n")[0] if path.exists() else b""


@pytest.mark.parametrize("timing", ["open", "sealed"])
def test_kills(tmp_path: Path, torture: bool, timing: str) -> None:
    """Nothing acknowledged is lost, nothing counted twice, no released value drawn again, and the ledger verifies.

    Snapshots are being written most of the time.
    """
    kills = 100 if torture else 4
    path = tmp_path / "journal"
    dice = random.Random(1)  # noqa: S311
    given: dict[str, tuple[str, str]] = {}  # arm and person
    begun, closed = set(), set()
    rows: dict[int, str] = {}
    in_snapshot = replaced = 0
    for kill in range(kills):
        first_line = first_line_of(path)
        program = [sys.executable, program_to_kill.__file__, str(path), str(kill), timing]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            # Mostly at work, sometimes while it is still starting.
            lines = [process.stdout.readline() for _ in range(dice.choice([0, 1, dice.randrange(800)]))]
            time.sleep(dice.random() * (0.003 if lines else 0.8))
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        assert process.returncode == -signal.SIGKILL
        in_snapshot += path_of_snapshot(str(path)).exists()
        replaced += first_line_of(path) != first_line
        for line in filter(lambda line: line.endswith("\n"), lines):
            kind, *words = line.split()
            if kind == "A":
                assert words[0] not in given
                given[words[0]] = words[1], words[2]
            elif kind == "B":
                begun.add(words[0])
            elif kind == "C":
                assert words[0] not in closed
                closed.add(words[0])
            elif kind == "L":  # too late
                begun.discard(words[0])
            elif kind == "R":
                assert rows.setdefault(int(words[0]), words[1]) == words[1]
    bandit = program_to_kill.opened(str(path), timing)
    waiting = {a.id: a.arm for a in bandit.open_assignments()}
    # Nothing acknowledged is lost, before a snapshot or after it.
    assert not closed & waiting.keys()
    for name, (arm, person) in given.items():
        again = bandit.assign(unit=person)
        assert (again.id, again.arm, again.is_new) == (name, arm, False)
        if name not in waiting and timing == "open":
            assert name in begun
    ledger = {row.number: row.hash for row in bandit.ledger}
    assert rows.items() <= ledger.items()
    # Nothing is counted twice, and every reward is the one that was acknowledged.
    state = state_of(bandit)
    in_sums = sum(state["released_sums"]) + sum(state.get("blocks", [[]])[-1])
    certain, possible = (sum(map(program_to_kill.encoded_reward, names)) for names in (closed, begun))
    assert certain <= in_sums <= possible
    assert possible - certain <= kills * 5 * 4096
    # No release was drawn again.
    releases = Counter((row.content["arm"], row.content["release"]) for row in bandit.ledger if row.number)
    assert set(releases.values()) == {1}
    assert len(bandit.ledger) > kills / 2
    assert bandit.ledger.verify() == bandit.ledger.head
    if torture:
        assert in_snapshot >= kills / 5
        assert replaced >= kills / 5
