"""Steps over a Unix socket: from the processes that answer requests to the one process that writes.

A line of JSON is a step with a number, and a line back has its answer: `[7, "Assign", "trial", "p-17", null]`, and
`[7, "assignment", "5f0c...-3", "A", true]`. Any number may be under way; answers come in any order. The socket is for
its owner alone.
"""

import json
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

from dpbandits import errors
from dpbandits.errors import DatabaseError, DPBanditsError, StepError
from dpbandits.live.assignments import Assignment
from dpbandits.service.database import UnknownOutcome
from dpbandits.service.steps import Assign, ChangeState, Forget, ReleaseDue, Reward, Step
from dpbandits.service.writer import StepFuture, Writer

_STEPS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Assign, Reward, ReleaseDue, Forget, ChangeState)}
_BACKLOG = 64
_LOST = "The process that writes has ended: whether this step was taken is not known. Ask again, with the same key."


class WriterServer:
    """Lets other processes of the same machine use a writer.

    Args:
        writer: which takes their steps.
        path: of the socket, which is made anew.
    """

    def __init__(self, writer: Writer, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._writer = writer
        self._socket = socket.socket(socket.AF_UNIX)
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        os.fchmod(self._socket.fileno(), 0o600)  # which its name will have
        try:
            self._socket.bind(str(self.path))
            self._socket.listen(_BACKLOG)
        except OSError as problem:
            self._socket.close()
            raise DatabaseError(f"The socket {self.path} cannot be made: {problem.strerror or problem}.") from None
        self._connections: set[socket.socket] = set()
        threading.Thread(target=self._accept, name="dpbandits socket", daemon=True).start()

    def close(self) -> None:
        """Take no more steps."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with suppress(FileNotFoundError):
            os.unlink(self.path)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="dpbandits worker", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        sender = _Sender(connection)
        try:
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    number, kind, *fields = json.loads(line)
                    try:
                        future = self._writer.submit(_STEPS[kind](*fields))
                    except DPBanditsError as problem:
                        sender.send(_refused(number, problem))
                    else:
                        future.add_done_callback(partial(_answer, sender, number))
        except (OSError, ValueError, TypeError, LookupError):
            pass  # the worker has gone, or is none of ours
        finally:
            sender.close()
            self._connections.discard(connection)


class WriterClient:
    """A writer in another process: `submit` and `take` as there.

    Args:
        path: of its socket.
        when_lost: called once, in a thread of its own, when the writer has gone.

    Raises:
        DatabaseError: nobody listens there.
    """

    def __init__(self, path: str | os.PathLike[str], when_lost: Callable[[], None] | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(os.fspath(path))
        except OSError as problem:
            self._socket.close()
            raise DatabaseError(f"The writer cannot be reached at {os.fspath(path)}: {problem.strerror}.") from None
        self._when_lost = when_lost
        self._lock = threading.Lock()
        self._under_way: dict[int, Future[Any]] = {}
        self._steps = 0
        self._is_lost = False
        self._sender = _Sender(self._socket)
        self._thread = threading.Thread(target=self._receive, name="dpbandits answers", daemon=True)
        self._thread.start()

    def submit(self, step: Step) -> "Future[Any]":
        """Send a step, and return what will have its answer."""
        future = StepFuture()
        with self._lock:
            if self._is_lost:
                raise StepError("The process that writes has ended: it takes no more steps.")
            self._steps += 1
            number = self._steps
            self._under_way[number] = future
        self._sender.send([number, type(step).__name__, *astuple(step)])
        return future

    def take(self, step: Step) -> Any:
        """Take a step and return its answer."""
        return self.submit(step).result()

    def close(self) -> None:
        """Let go of the writer."""
        self._when_lost = None
        self._sender.close()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> "WriterClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _receive(self) -> None:
        with suppress(OSError, ValueError), self._socket.makefile("rb") as lines:
            for line in lines:
                number, kind, *rest = json.loads(line)
                with self._lock:
                    future = self._under_way.pop(number)
                if kind == "assignment":
                    future.set_result(Assignment(*rest))
                elif kind == "plain":
                    future.set_result(rest[0])
                else:
                    future.set_exception(_error(kind, rest[0]))
        with self._lock:
            self._is_lost = True
            left, self._under_way = list(self._under_way.values()), {}
        for future in left:
            future.set_exception(UnknownOutcome(_LOST))
        if self._when_lost is not None:
            self._when_lost()


class _Sender:
    """Sends lines in a thread of its own, all that have come in one call."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines: list[bytes] = []
        self._came = threading.Condition()
        self._is_over = False
        threading.Thread(target=self._send_all, name="dpbandits sender", daemon=True).start()

    def send(self, content: list[Any]) -> None:
        line = json.dumps(content, separators=(",", ":")).encode("ascii") + b"\n"
        with self._came:
            self._lines.append(line)
            self._came.notify()

    def close(self) -> None:
        with self._came:
            self._is_over = True
            self._came.notify()

    def _send_all(self) -> None:
        while True:
            with self._came:
                while not self._lines and not self._is_over:
                    self._came.wait()
                lines, self._lines = self._lines, []
                if not lines:
                    return
            try:
                self._connection.sendall(b"".join(lines))
            except OSError:
                return  # who reads has gone, which the other thread sees


def _answer(sender: _Sender, number: int, future: "Future[Any]") -> None:
    problem = future.exception()
    if problem is not None:
        sender.send(_refused(number, problem))
        return
    answer = future.result()
    if isinstance(answer, Assignment):
        sender.send([number, "assignment", answer.id, answer.arm, answer.is_new])
    else:
        sender.send([number, "plain", answer])


def _refused(number: int, problem: BaseException) -> list[Any]:
    kind = "UnknownOutcome" if isinstance(problem, UnknownOutcome) else type(problem).__name__
    return [number, kind, str(problem)]


def _error(kind: str, text: str) -> DPBanditsError:
    found = UnknownOutcome if kind == "UnknownOutcome" else getattr(errors, kind, DatabaseError)
    error: DPBanditsError = found(text)
    return error
