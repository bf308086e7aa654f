"""A journal is looked at beside its bandit: nothing is locked, changed or drawn, and all of it was acknowledged."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.journal_format import mark_of
from dpbandits.live.learner import Learner, Release
from dpbandits.live.live_noise import UndrawableNoise
from dpbandits.live.persistence import journal_overview
from dpbandits.mechanisms import LAPLACE, SecureNoise, reserve
from dpbandits.policies import is_ours
from explore_then_commit import ExploreThenCommit
from journal_lines import records_in
from plain_scale import PlainScale

BEFORE = Path(__file__).with_name("before")
OWN: dict[str, Any] = {"explore-then-commit": ExploreThenCommit, "phases": Phases, "plain-scale": PlainScale}
POLICY = dpb.NoiseAwareIMED(epsilon=1.5, first_phase=6)


def looked(path: Path, mark: Path | None = None, kind: Any = None) -> Any:
    return journal_overview(AcknowledgedRecords(path, mark), kind)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal of sixty people, let go of."""
    bandit = dpb.Bandit(POLICY, ["A", "B"], journal=tmp_path / "trial.journal")
    play(bandit, 60)
    bandit.detach()
    return tmp_path / "trial.journal"


def play(bandit: dpb.Bandit, people: int) -> None:
    for _ in range(people):
        bandit.close(bandit.assign(), 1.0)


def state_of(folder: Path) -> dict[str, Any]:
    """Everything about the files of a folder that a look may not change."""
    found = {path.name: (path.read_bytes(), path.stat()) for path in folder.iterdir()}
    return {
        name: (content, status.st_mode, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_nlink)
        for name, (content, status) in found.items()
    }


def test_a_running_bandit_is_seen_as_it_is_and_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "trial.journal"
    bandit = dpb.Bandit(POLICY, ["A", "B"], journal=path)
    for _ in range(4):
        os.chmod(path, 0o644)  # which opening it as a bandit would take back
        before = state_of(tmp_path)
        overview = looked(path)
        assert state_of(tmp_path) == before
        assert overview.ledger.to_jsonl() == bandit.ledger.to_jsonl()
        assert overview.estimates(0.95) == bandit.estimates()
        assert (overview.spent(), overview.exhausted) == (bandit.spent(), bandit.exhausted)
        assert list(overview.assigned_to) == bandit.to_pandas()["assigned"].tolist()
        play(bandit, 20)  # it still has its lock, and its files are in place
    assert len(bandit.ledger) > 4


def test_nothing_is_drawn(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> int:
        raise AssertionError("drawn")

    monkeypatch.setattr(SecureNoise, "draw", refuse)
    assert len(looked(journal).ledger) > 3
    with pytest.raises(dpb.StepError, match="Nothing is drawn"):
        reserve(UndrawableNoise(), 1.0, LAPLACE, 0)


@pytest.mark.parametrize("path", sorted(BEFORE.rglob("*.journal")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_journals_of_earlier_versions_are_shown(path: Path) -> None:
    kind = OWN.get(path.stem)
    overview = looked(path, kind=kind)
    assert overview.ledger.to_jsonl() == path.with_suffix(".ledger").read_text(encoding="ascii")
    assert is_ours(overview.configuration.policy) is (kind is None)
    assert overview.assigned == assignments_in(path) > 90


def assignments_in(path: Path) -> int:
    """Return how many assignments are in the steps of a journal."""
    records = records_in(path)[1:]
    return sum("assign" in step for record in records for step in record.get("batch", [record]))


def test_what_was_not_acknowledged_is_not_looked_at(journal: Path) -> None:
    content = journal.read_bytes()
    before = looked(journal)
    for more in (b"torn", b"0123456789abcdef {}\n", b"\x00" * 5000):
        journal.write_bytes(content + more)
        assert looked(journal).ledger.head == before.ledger.head
    lines = content.splitlines(keepends=True)
    journal.with_name("trial.journal.mark").write_bytes(mark_of(20, lines[20][:16].decode("ascii")))
    journal.write_bytes(content)
    assert looked(journal).assigned == 10  # each person has two records, after the first


def test_a_journal_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trial.journal"
    bandit = dpb.Bandit(POLICY, ["A", "B"], journal=path)
    play(bandit, 30)
    head = bandit.ledger.head
    opened = AcknowledgedRecords(path)
    play(bandit, 100)
    overview = journal_overview(opened, None)
    assert (overview.ledger.head, overview.assigned) == (head, 30)


def test_a_mark_elsewhere(journal: Path, tmp_path: Path) -> None:
    mark = tmp_path / "elsewhere.mark"
    journal.with_name("trial.journal.mark").rename(mark)
    assert looked(journal, mark).assigned == 60
    with pytest.raises(dpb.JournalError, match=r"has no high-water mark .*, so nobody can tell what was acknowledged"):
        looked(journal)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "cannot be opened as a journal: No such file or directory."),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be opened as a journal: it is not a regular file."),
        (piped, "cannot be opened as a journal: it is not a regular file."),
        (lambda path: path.write_bytes(b"\x89PNG\r\n"), "is not a journal."),
        (lambda path: path.write_bytes(b""), "ends after 0 records and 121 were acknowledged: it is an old copy."),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is damaged at line 121."),
        (flipped, "is damaged at line "),
        (lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:50])), "ends after 50 records"),
        (lambda path: mark_beside(path, b"120 what?\n"), "trial.journal.mark is damaged."),
        (lambda path: mark_beside(path, b"1" * 5000), "trial.journal.mark is damaged."),
        (lambda path: mark_beside(path, b""), "so nobody can tell what was acknowledged."),
        (lambda path: mark_beside(path, mark_of(-1, "0" * 16)), "has yet to begin: nothing in it was acknowledged."),
        (lambda path: mark_beside(path, mark_of(120, "0" * 16)), "is not the one that its high-water mark belongs to."),
        (lambda path: mark_beside(path, mark_of(10**19, "0" * 16)), "ends after 121 records"),
    ],
)
def test_what_is_wrong_is_refused_in_one_sentence_and_left_as_it_is(journal: Path, spoil: Any, message: str) -> None:
    spoil(journal)
    is_file = journal.is_file()
    before = state_of(journal.parent) if is_file else None
    with pytest.raises(dpb.JournalError) as refused:
        looked(journal)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not is_file or state_of(journal.parent) == before


def mark_beside(path: Path, content: bytes) -> None:
    path.with_name("trial.journal.mark").write_bytes(content)


def test_a_policy_that_is_not_the_right_one(tmp_path: Path) -> None:
    for ending in (".journal", ".journal.mark"):
        shutil.copy(BEFORE / f"format_2/phases{ending}", tmp_path / f"phases{ending}")
    path = tmp_path / "phases.journal"
    for kind, message in (
        (None, "Expected policy='phases' to be one of ours, or to be passed as well."),
        (ExploreThenCommit, "Expected policy=ExploreThenCommit to be the one that was written down, phases."),
    ):
        with pytest.raises(dpb.JournalError) as refused:
            looked(path, kind=kind)
        assert str(refused.value) == f"The journal {path} cannot be followed. {message}"


def test_what_a_witness_did_not_confirm_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record is on disk, and nobody but the witness has heard of it."""
    path = tmp_path / "trial.journal"
    answers: list[bool] = [True]
    happened: list[str] = []
    learn = Learner.learn

    def learnt(learner: Learner, released: Sequence[Release]) -> None:
        happened.extend("learnt" for _ in released)
        learn(learner, released)

    monkeypatch.setattr(Learner, "learn", learnt)

    def witness(number: int, digest: str) -> bool:
        if number:
            happened.append("asked")
            shown = looked(path)
            assert (len(shown.ledger), shown.values) == (1, ((), ()))
        return answers[-1]

    bandit = dpb.Bandit(POLICY, ["A", "B"], journal=path, witness=witness)
    answers.append(False)
    with pytest.raises(dpb.JournalError, match="The witness answered False"):
        play(bandit, 60)
    assert happened == ["asked"]  # the policy has not heard of it either
    assert len(looked(path).ledger) == 1
    happened.clear()
    answers.append(True)
    again = dpb.Bandit(POLICY, ["A", "B"], journal=path)
    assert len(again.ledger) == 2  # which was drawn once
    assert looked(path).ledger.head == again.ledger.head
    assert happened[:1] == ["learnt"]  # with the first look at what was confirmed


def test_a_mark_that_never_stands_still_is_not_believed(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**6))
    monkeypatch.setattr("dpbandits.live.acknowledged_records._content", lambda path: mark_of(next(numbers), "0" * 16))
    with pytest.raises(dpb.JournalError, match="changed whenever it was read"):
        looked(journal)
