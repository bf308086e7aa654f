"""Files are there as a whole or not at all."""

from pathlib import Path

import pytest

from dpbandits._writing import write_file


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
