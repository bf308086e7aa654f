"""Files are there as a whole or not at all."""

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
    written: list[Path] = []
    replace_file(Path("/dev/null"), written.append)
    assert written == [Path("/dev/null")]
