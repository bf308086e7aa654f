"""Files that are written completely or not at all, even if the program dies while it writes."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

_UNFINISHED = ".unfinished-"


def write_file(path: Path, content: bytes) -> Path:
    """Write a file completely or not at all."""
    replace_file(path, lambda part: part.write_bytes(content))
    return path


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays completely or not at all, as a compressed NumPy archive without pickles."""

    def write(part: Path) -> None:
        with open(part, "wb") as file:  # to a path NumPy would add an ending
            np.savez_compressed(file, **arrays)

    replace_file(Path(path), write)


def replace_file(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` write a file beside the path, which then takes its place; a pipe or a device is written to."""
    if path.exists() and not path.is_file():
        write(path)
        return
    path = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    part = path.with_name(f"{_UNFINISHED}{secrets.token_hex(8)}")  # a long name would become too long
    try:
        write(part)
        with open(part, "r+b") as file:  # Windows syncs only what may be written to
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    except OSError as problem:
        if problem.filename == str(part):
            problem.filename = str(path)  # nobody knows the other name
        raise
    finally:
        part.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of killed processes: no file takes a minute to write."""
    for path in folder.glob(f"{_UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > 60:
                path.unlink()
