"""What takes seconds is computed in a process of its own: the same numbers and errors, and it ends with its parent."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import dpbandits as dpb
from dpbandits.live.configuration import Terms
from dpbandits.service.terms_process import computed_terms, promise_problem_of
from processes import children_of, environment, is_running
from service_stores import configured

pytestmark = pytest.mark.slow


def test_terms_are_those_that_are_computed_here() -> None:
    configuration = configured(dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=5000))
    assert computed_terms(configuration) == Terms.computed(configuration)


def test_a_configuration_that_cannot_run_is_refused_in_the_same_words() -> None:
    configuration = configured(dpb.DPUCB(epsilon=1.0))
    with pytest.raises(dpb.InvalidInput) as here:
        Terms.computed(configuration)
    with pytest.raises(dpb.InvalidInput) as there:
        computed_terms(configuration)
    assert str(there.value) == str(here.value)


def test_a_promise_that_costs_more_is_found() -> None:
    configuration = configured(dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=500))
    row_0 = {**configuration.to_dict(), **Terms.computed(configuration).to_dict(configuration.file_format)}
    assert promise_problem_of(row_0) == ""
    row_0["reward_guarantee"] = {**row_0["reward_guarantee"], "epsilon": 0.5}
    assert "to be at most 0.5, as in the beginning" in promise_problem_of(row_0)


PARENT = """
from dpbandits.policies import DPUCBInt
from dpbandits.service.terms_process import computed_terms
from service_stores import configured
computed_terms(configured(DPUCBInt(epsilon=0.05, delta=1e-9, horizon=10**8)))
"""


def test_it_ends_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], env=environment()) as parent:
        found: list[int] = []
        while not found:
            found = children_of(parent.pid)
            threading.Event().wait(0.01)
        assert all(map(is_running, found))
        os.kill(parent.pid, signal.SIGKILL)
    while any(map(is_running, found)):
        threading.Event().wait(0.01)
