"""Files that are there as a whole or not at all, whatever happens while they are written."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_UNFINISHED = ".unfinished-"


def write_file(path: Path, content: bytes) -> Path:
    """Write a file so that it is there as a whole or not at all."""
    replace_file(path, lambda part: part.write_bytes(content))
    return path


def replace_file(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` write a file beside the path, which then takes its place."""
    part = path.with_name(f"{path.name}{_UNFINISHED}{os.getpid()}")
    write(part)
    part.replace(path)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left: no file takes a minute to write."""
    for path in folder.glob(f"*{_UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > 60:
                path.unlink()
