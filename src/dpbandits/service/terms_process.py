"""Terms in a process of their own: what takes seconds to compute never holds up a writer, nor the program around it.

`computed_terms` is for an experiment that begins, `promise_problem_of` for one that began with another version. The
process ends when its parent does: it reads a pipe, of which the parent has the other end.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from dpbandits import errors
from dpbandits.errors import DPBanditsError, StepError
from dpbandits.live.checking.promise import TERMS
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.schedule_cost import promise_problem
from dpbandits.service.worker_processes import end_with_parent

Started = Callable[["subprocess.Popen[bytes]"], None]


def computed_terms(configuration: Configuration) -> Terms:
    """Return what follows from a configuration for privacy, computed in another process.

    Raises:
        InvalidInput: it cannot run live.
    """
    plain = _asked({"terms": configuration.to_dict()})
    return Terms.from_dict(configuration, plain)


def promise_problem_of(row_0: dict[str, Any], started: Started | None = None) -> str:
    """Return how much more an experiment costs than its row 0 promises, as this version sees it; "" if it does not."""
    return str(_asked({"promise": row_0}, started))


def configuration_of(row_0: dict[str, Any]) -> Configuration:
    """Return the configuration in row 0 of a ledger."""
    return Configuration.from_dict({name: row_0[name] for name in row_0.keys() - set(TERMS)})


def _asked(question: dict[str, Any], started: Started | None = None) -> Any:
    # -P: nothing that happens to be in the working directory is imported.
    command = [sys.executable, "-P", "-c", "from dpbandits.service.terms_process import main; main()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if started is not None:
            started(process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        process.stdin.flush()  # and stays open: when this process dies, that one sees its end
        text = process.stdout.read()
    if not text:
        raise StepError("The process that computes what a promise costs has ended before it was done.")
    answer = json.loads(text)
    if "error" in answer:
        kind, sentence = answer["error"]
        raise getattr(errors, kind, DPBanditsError)(sentence)
    return answer["answer"]


def _answered(question: dict[str, Any]) -> dict[str, Any]:
    try:
        if "terms" in question:
            configuration = Configuration.from_dict(question["terms"])
            return {"answer": Terms.computed(configuration).to_dict(configuration.file_format)}
        configuration = configuration_of(question["promise"])
        return {"answer": promise_problem(configuration, Terms.from_dict(configuration, question["promise"]))}
    except DPBanditsError as problem:
        return {"error": [type(problem).__name__, str(problem)]}


def main() -> None:
    """Answer the question on standard input."""
    question = json.loads(sys.stdin.buffer.readline())
    end_with_parent()
    print(json.dumps(_answered(question)), flush=True)
    os._exit(0)
