"""Processes that tests start: whether they run, and which ones they have started themselves."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def environment() -> dict[str, str]:
    """Return the environment of a program that imports what tests do."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started, in any of its threads."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted({int(child) for task in tasks for child in task.read_text("ascii").split()})


def is_running(pid: int) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def killed(pid: int) -> None:
    """Kill a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
