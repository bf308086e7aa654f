"""Steps over a Unix socket: from the processes that answer requests to the one process that writes.

A line of JSON is a step with a number, and a line back has its answer: `[7, "Assign", "trial", "p-17", null]`, and
`[7, "assignment", "5f0c...-3", "A", true]`. Any number may be under way; answers come in any order. The socket is for
its owner alone.
"""

import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpbandits import errors
from dpbandits._validate import value_text
from dpbandits.errors import DatabaseError, DPBanditsError, InvalidInput, StepError
from dpbandits.live.assignments import Assignment
from dpbandits.service.database import UnknownOutcome
from dpbandits.service.steps import KINDS, Step, check_step
from dpbandits.service.writer import StepFuture, Writer

_STEPS: dict[str, type[Any]] = {kind.__name__: kind for kind in KINDS}
_BACKLOG = 64
_PAUSE = 0.1  # seconds
_LOST = "The process that writes has ended: whether this step was taken is not known. Ask again, with the same key."


class WriterServer:
    """Lets other processes of the same machine use a writer.

    Args:
        writer: which takes their steps.
        path: of the socket. One that was left behind by a process that is gone is made anew.

    Raises:
        DatabaseError: it cannot be made, somebody listens there, or something else is there.
    """

    def __init__(self, writer: Writer, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._writer = writer
        self._is_closed = False
        _check_free(self.path)
        self._socket = socket.socket(socket.AF_UNIX)
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
        self._is_closed = True
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
                if self._is_closed:
                    return
                time.sleep(_PAUSE)  # such as too many open files: somebody will close one
                continue
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
                    except (TypeError, LookupError):
                        sender.send(_refused(number, InvalidInput("Expected a step as this version knows it.")))
                    else:
                        future.add_done_callback(partial(_answer, sender, number))
        except (OSError, ValueError, TypeError, LookupError):
            pass  # the worker has gone, or is none of ours
        finally:
            sender.close()
            self._connections.discard(connection)


def _check_free(path: Path) -> None:
    """Remove a socket at which nobody listens; refuse anything else that is there."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise DatabaseError(f"The socket {path} cannot be made: something else is there.")
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(str(path))
    except FileNotFoundError:
        return
    except ConnectionRefusedError:
        path.unlink(missing_ok=True)
    except (OSError, ValueError) as problem:
        raise DatabaseError(f"The socket {path} cannot be made: {problem}.") from None
    else:
        raise DatabaseError(f"The socket {path} cannot be made: somebody listens there.")


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
            raise DatabaseError(
                f"The writer cannot be reached at {os.fspath(path)}: {problem.strerror or problem}."
            ) from None
        self._when_lost = when_lost
        self._lock = threading.Lock()
        self._under_way: dict[int, Future[Any]] = {}
        self._steps = 0
        self._is_lost = self._is_closed = False
        self._sender = _Sender(self._socket)
        self._thread = threading.Thread(target=self._receive, name="dpbandits answers", daemon=True)
        self._thread.start()

    def submit(self, step: Step) -> StepFuture:
        """Send a step, and return what will have its answer."""
        check_step(step)
        try:
            content = json.dumps([type(step).__name__, *astuple(step)], separators=(",", ":"), default=_plain)[1:]
        except ValueError:  # an integer with more digits than Python writes
            raise InvalidInput("Expected whole numbers of a step to have at most 4,300 digits.") from None
        future = StepFuture()
        with self._lock:
            if self._is_lost:
                who = "This client was closed" if self._is_closed else "The process that writes has ended"
                raise StepError(f"{who}: it takes no more steps.")
            self._steps += 1
            number = self._steps
            self._under_way[number] = future
        self._sender.send_line(f"[{number},{content}")
        return future

    def take(self, step: Step) -> Any:
        """Take a step and return its answer."""
        return self.submit(step).result()

    def close(self) -> None:
        """Let go of the writer."""
        self._when_lost = None
        self._is_closed = True
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
        try:
            with suppress(OSError, ValueError), self._socket.makefile("rb") as lines:
                for line in lines:
                    self._take_answer(*json.loads(line))
        finally:
            with self._lock:
                self._is_lost = True
                left, self._under_way = list(self._under_way.values()), {}
            for future in left:
                future.set_exception(UnknownOutcome(_LOST))
            if self._when_lost is not None:
                threading.Thread(target=self._when_lost, name="dpbandits lost", daemon=True).start()

    def _take_answer(self, number: int, kind: str, *rest: Any) -> None:
        with self._lock:
            future = self._under_way.pop(number)
        if kind == "assignment":
            future.set_result(Assignment(*rest))
        elif kind == "plain":
            future.set_result(rest[0])
        else:
            future.set_exception(_error(kind, rest[0]))


def _plain(value: Any) -> Any:
    """Return a number of NumPy as a plain one."""
    if isinstance(value, np.generic):
        return value.item()
    raise InvalidInput(f"Expected {value_text(value)} to be a number or text.")


class _Sender:
    """Sends lines in a thread of its own, all that have come in one call."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines: list[bytes] = []
        self._came = threading.Condition()
        self._is_over = False
        threading.Thread(target=self._send_all, name="dpbandits sender", daemon=True).start()

    def send(self, content: list[Any]) -> None:
        self.send_line(json.dumps(content, separators=(",", ":")))

    def send_line(self, text: str) -> None:
        line = text.encode("ascii") + b"\n"
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
