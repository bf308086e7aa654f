"""Marks: one slot for every experiment, only ever raised, and damage is noticed."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dpbandits as dpb
from dpbandits.service.marks import Mark, Marks, check_mark

HEAD = "ab" * 32


def mark(version: int, rows: int = 3, identity: str = "0123456789abcdef", head: str = HEAD) -> Mark:
    return Mark(identity, version, rows, head)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def test_a_mark_is_there_again_when_the_file_is_opened_again(path: Path) -> None:
    marks = Marks(path)
    marks.raise_to({1: mark(5), 300: mark(7)}, durable=True)
    marks.close()
    again = Marks(path)
    assert again.identity == marks.identity
    assert again.all() == {1: mark(5), 300: mark(7)}
    assert (again.mark(2), again.mark(10_000), again.slots) == (None, None, 300)


def test_a_slot_is_only_ever_raised(path: Path) -> None:
    """Two hosts write: the one that has committed first may come last."""
    one, other = Marks(path), Marks(path)
    other.raise_to({1: mark(6, rows=4)}, durable=True)
    assert one.raise_to({1: mark(5)}, durable=True) == [1]
    assert one.mark(1) == mark(6, rows=4)


def test_threads_of_one_process_never_lower_a_slot(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks, write = Marks(path), Marks._write

    def slow(self: Marks, experiment: int, mark: Mark) -> None:
        time.sleep(0.0001)  # so that another thread runs
        write(self, experiment, mark)

    monkeypatch.setattr(Marks, "_write", slow)
    versions = list(range(1, 301))
    random.Random(1).shuffle(versions)  # noqa: S311

    def raise_some(own: list[int]) -> None:
        for version in own:
            marks.raise_to({1: mark(version)}, durable=False)
            known = marks.mark(1)
            assert known is not None
            assert known.version >= version

    with ThreadPoolExecutor(6) as executor:
        for future in [executor.submit(raise_some, versions[place::6]) for place in range(6)]:
            future.result()
    assert marks.mark(1) == mark(300)


def test_another_history_is_refused(path: Path) -> None:
    marks = Marks(path)
    marks.raise_to({1: mark(5)}, durable=False)
    for other in (mark(5, head="cd" * 32), mark(9, identity="f" * 16), mark(9, rows=2)):
        with pytest.raises(dpb.DatabaseError, match="cannot go on"):
            marks.raise_to({1: other}, durable=False)
    assert marks.mark(1) == mark(5)


@pytest.mark.parametrize("place", [256, 300, 400, 500, 510])
def test_a_damaged_slot_is_noticed(path: Path, place: int) -> None:
    marks = Marks(path)
    marks.raise_to({1: mark(5)}, durable=True)
    with open(path, "r+b") as file:
        file.seek(place)
        old = file.read(1)
        file.seek(place)
        file.write(b"x" if old != b"x" else b"y")
    with pytest.raises(dpb.DatabaseError, match="damaged at experiment 1"):
        marks.mark(1)


@pytest.mark.parametrize("content", [b"something else", b"x" * 256, b"dpbandits marks 1 0123"])
def test_a_file_that_is_something_else_is_refused_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(dpb.DatabaseError, match="is not a file of marks"):
        Marks(path)
    assert path.read_bytes() == content


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    Marks(path)
    assert os.stat(path).st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("stored", "known", "is_refused"),
    [
        (mark(5), mark(5), False),
        (mark(6), mark(5), False),
        (mark(6, rows=4), mark(5), False),
        (mark(5), mark(6), True),
        (mark(5, rows=2), mark(5), True),
        (mark(5, head="cd" * 32), mark(5), True),
        (mark(9, identity="f" * 16), mark(5), True),
        (mark(9), mark(5)._replace(is_closed=True), True),
        (mark(1, rows=1), None, False),
        (mark(9, rows=2), None, True),
        (mark(9, rows=1), None, True),
    ],
)
def test_a_database_may_be_ahead_of_its_mark_and_never_behind(
    stored: Mark, known: Mark | None, is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(dpb.DatabaseError, match="'trial' cannot go on"):
            check_mark(stored, known, "trial")
    else:
        check_mark(stored, known, "trial")
