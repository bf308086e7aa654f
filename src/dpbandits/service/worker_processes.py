"""WorkerProcesses: the processes that use a writer. One that dies is started again; all end when their parent does."""

import logging
import os
import subprocess
import threading
from collections.abc import Sequence

_LOG = logging.getLogger(__name__)
_GRACE = 5.0  # seconds that one has to end by itself
_PAUSE = 0.2  # seconds before one is started again, so that one that cannot start does no harm


class WorkerProcesses:
    """So many processes of one program, each with a standard input that ends when this process does.

    Args:
        command: the program and its arguments. It calls `end_with_parent` first.
        count: how many.
    """

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._command = list(command)
        self._is_over = threading.Event()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._keep_one, args=(place,), name=f"dpbandits worker {place}", daemon=True)
            for place in range(count)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that run now."""
        with self._lock:
            return [process.pid for process in self._processes.values()]

    def close(self) -> None:
        """End all of them."""
        self._is_over.set()
        with self._lock:
            for process in self._processes.values():
                process.terminate()
        for thread in self._threads:
            thread.join(_GRACE)
        with self._lock:
            for process in self._processes.values():
                process.kill()  # it did not want to
        for thread in self._threads:
            thread.join()

    def _keep_one(self, place: int) -> None:
        while not self._is_over.is_set():
            with self._lock:
                if self._is_over.is_set():
                    return
                process: subprocess.Popen[bytes] | None = None
                try:
                    process = subprocess.Popen(self._command, stdin=subprocess.PIPE)
                except OSError as problem:
                    _LOG.warning("The worker %s could not be started: %s", self._command[0], problem.strerror)
                else:
                    self._processes[place] = process
            if process is not None:
                process.wait()
                assert process.stdin is not None
                process.stdin.close()
            self._is_over.wait(_PAUSE)


def end_with_parent() -> None:
    """End this process as soon as the one that has started it is gone, however that has ended."""
    threading.Thread(target=_wait_for_the_end, name="dpbandits parent", daemon=True).start()


def _wait_for_the_end() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)
