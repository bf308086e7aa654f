"""Steps over a Unix socket: the answers and errors of the writer itself, and an end when it ends."""

import os
import socket
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.service.database import UnknownOutcome
from dpbandits.service.steps import Assign, ChangeState, Forget, ReleaseDue, Reward
from dpbandits.service.store import Store
from dpbandits.service.writer import Writer
from dpbandits.service.writer_socket import WriterClient, WriterServer
from service_stores import begun

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Writer, Path]]:
    with Store(tmp_path / "x.db") as store:
        begun(store, "trial")
        with Writer(store, most_waiting=50) as writer:
            server = WriterServer(writer, tmp_path / "socket")
            yield writer, server.path
            server.close()


def test_answers_and_errors_are_those_of_the_writer(served: tuple[Writer, Path]) -> None:
    writer, path = served
    assert os.stat(path).st_mode & 0o777 == 0o600
    with WriterClient(path) as client:
        first = client.take(Assign("trial", "p-1"))
        assert (first.arm, first.is_new) == ("A", True)
        assert writer.take(Assign("trial", "p-1")) == first
        assert client.take(Reward(first.id, 0.1 + 0.2, "key")) is None
        assert client.take(Reward(first.id, None, "key")) is None
        assert client.take(ReleaseDue("trial")) == 0
        assert client.take(Forget("p-1")) is None
        assert client.take(Assign("trial", "p-1")).id == ""
        assert client.take(Assign("trial", 7)) == client.take(Assign("trial", "7"))
        for step, kind, text in [
            (Reward(first.id, 0.5), dpb.AlreadyClosed, "closed before"),
            (Reward(first.id, 7.5), dpb.InvalidInput, r"reward=7.5 in \[0.0, 1.0\]"),
            (Reward(first.id, float("nan")), dpb.InvalidInput, "reward=nan"),
            (Reward("x-1", 0.5), dpb.NotFound, "no assignment='x-1'"),
            (Assign("none", 1), dpb.NotFound, "no experiment='none'"),
            (ChangeState("trial", "draft"), dpb.NotRunning, "which is running"),
        ]:
            with pytest.raises(kind, match=text) as caught:
                client.take(step)  # type: ignore[arg-type]
            assert type(caught.value) is kind


def test_many_steps_are_under_way_at_once_and_find_their_answers(served: tuple[Writer, Path]) -> None:
    _, path = served
    with WriterClient(path) as one, WriterClient(path) as other:
        for _ in range(10):
            futures = [(n, client.submit(Assign("trial", n))) for n in range(20) for client in (one, other)]
            ids: dict[int, set[str]] = {}
            for number, future in futures:
                ids.setdefault(number, set()).add(future.result().id)
            assert all(len(names) == 1 for names in ids.values())
            assert len(set().union(*ids.values())) == 20


def test_a_full_queue_is_told(served: tuple[Writer, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = served

    def full(self: Writer, step: object) -> None:
        raise dpb.QueueFull("More than 50 steps are waiting to be written. Ask again.")

    monkeypatch.setattr(Writer, "submit", full)
    with WriterClient(path) as client, pytest.raises(dpb.QueueFull, match="Ask again"):
        client.take(Assign("trial", 1))


def test_a_worker_that_sends_nonsense_or_leaves_disturbs_nobody(served: tuple[Writer, Path]) -> None:
    _, path = served
    with WriterClient(path) as client:
        for nonsense in (
            b"nothing\n",
            b'[1, "Assign"]\n',
            b'[1, "Nothing", 2]\n',
            b"[]\n",
            b'{"a": 1}\n',
            b"\xff\n",
            b"[1",
        ):
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(str(path))
                other.sendall(nonsense)
        assert client.take(Assign("trial", 1)).is_new


def test_when_the_writer_has_gone_what_was_under_way_is_not_known(tmp_path: Path) -> None:
    """A process that writes and is killed: here its end of the connection is closed."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        lost = threading.Event()
        client = WriterClient(tmp_path / "socket", when_lost=lost.set)
        connection, _ = listener.accept()
        future = client.submit(Assign("trial", 1))
        connection.recv(10)
        connection.close()
        with pytest.raises(UnknownOutcome, match="Ask again, with the same key"):
            future.result()
        lost.wait()
        with pytest.raises(dpb.StepError, match="has ended"):
            client.take(Assign("trial", 2))
        client.close()


def test_nothing_but_a_socket_that_was_left_behind_is_removed(served: tuple[Writer, Path], tmp_path: Path) -> None:
    writer, path = served
    precious = tmp_path / "precious"
    precious.write_text("kept")
    for taken, text in ((precious, "something else is there"), (path, "somebody listens there")):
        with pytest.raises(dpb.DatabaseError, match=text):
            WriterServer(writer, taken)
    assert precious.read_text() == "kept"
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(left))
    WriterServer(writer, left).close()


def test_what_no_line_can_hold_is_refused_before_it_is_sent(served: tuple[Writer, Path]) -> None:
    _, path = served
    with WriterClient(path) as client:
        first = client.take(Assign("trial", 1))
        for wrong in (Reward(first.id, b"x"), Assign("trial", 10**5000), Reward(first.id, Decimal("0.5"))):  # type: ignore[arg-type]
            with pytest.raises(dpb.InvalidInput):
                client.take(wrong)
        with pytest.raises(dpb.WrongKind, match="to be one of Assign"):
            client.take(None)  # type: ignore[arg-type]
        assert client.take(Reward(first.id, np.float32(0.5))) is None  # type: ignore[arg-type]


def test_where_nobody_listens_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(dpb.DatabaseError, match="cannot be reached"):
        WriterClient(tmp_path / "nothing")
