"""Workers: one that dies is started again, and none outlives its parent, however that ends."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from dpbandits.service.worker_processes import WorkerProcesses
from processes import children_of, environment, is_running

pytestmark = pytest.mark.slow

WORKER = """
import time
from dpbandits.service.worker_processes import end_with_parent
end_with_parent()
print("ready", flush=True)
while True:
    time.sleep(60)
"""
PARENT = """
import sys, time
from dpbandits.service.worker_processes import WorkerProcesses
from processes import children_of, environment, is_running
WorkerProcesses([sys.executable, "-c", sys.argv[1]], 2)
while True:
    time.sleep(60)
"""


def pause() -> None:
    threading.Event().wait(0.01)


def test_a_worker_that_dies_is_started_again() -> None:
    workers = WorkerProcesses([sys.executable, "-c", "import time; time.sleep(600)"], 2)
    while len(workers.pids) < 2:
        pause()
    first, second = workers.pids
    os.kill(first, signal.SIGKILL)
    while first in workers.pids:
        pause()
    assert second in workers.pids
    assert len(workers.pids) == 2
    left = workers.pids
    workers.close()
    assert not any(map(is_running, left))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(how: signal.Signals) -> None:
    command = [sys.executable, "-c", PARENT, WORKER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as parent:
        assert parent.stdout is not None
        for _ in range(2):
            assert parent.stdout.readline() == b"ready\n"
        workers = children_of(parent.pid)
        assert len(workers) == 2
        parent.send_signal(how)
    while any(map(is_running, workers)):
        pause()
