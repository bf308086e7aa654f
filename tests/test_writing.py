"""Files are there as a whole or not at all."""

import os
from pathlib import Path

import numpy as np
import pytest

from dpbandits._writing import replace_file, write_arrays, write_file


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_file(path, b"before")

    def broken(self: Path, content: bytes) -> int:
        with open(self, "wb") as file:
            file.write(content[:3])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", broken)
    with pytest.raises(OSError, match="no space"):
        write_file(path, b"afterwards")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_one_file_do_not_share_an_unfinished_one(tmp_path: Path) -> None:
    parts: list[Path] = []

    def write(part: Path) -> None:
        part.write_bytes(b"outer")
        parts.append(part)
        if len(parts) == 1:
            replace_file(tmp_path / "file", write)
            assert (tmp_path / "file").read_bytes() == b"outer"

    replace_file(tmp_path / "file", write)
    assert len(set(parts)) == 2
    assert (tmp_path / "file").read_bytes() == b"outer"


def test_arrays_keep_the_name_that_was_asked_for(tmp_path: Path) -> None:
    write_arrays(tmp_path / "numbers", {"a": np.arange(3)})
    assert np.load(tmp_path / "numbers")["a"].tolist() == [0, 1, 2]


def test_what_a_link_points_to_is_replaced_and_a_device_is_written_to(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"before")
    link.symlink_to(file)
    write_file(link, b"after")
    assert link.is_symlink()
    assert file.read_bytes() == b"after"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    descriptor = Path(f"/proc/self/fd/{end}")  # as /dev/stdout is one: a link to something without a name
    written: list[Path] = []
    replace_file(descriptor, written.append)
    write_file(pipe, b"through it")
    assert os.read(end, 100) == b"through it"
    os.close(end)
    assert written == [descriptor]
    assert pipe.is_fifo()
    written = []
    replace_file(Path("/dev/null"), written.append)
    assert written == [Path("/dev/null")]


def test_a_file_keeps_its_permissions_and_its_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250)
    write_file(path, b"before")
    path.chmod(0o600)
    write_file(path, b"after")
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_is_called_by_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as refused:
        write_file(tmp_path / "nowhere" / "file", b"")
    assert refused.value.filename == str(tmp_path / "nowhere" / "file")
