"""The command line, run in the process of the test."""

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest

from dpbandits import cli


def command_output(monkeypatch: Any, capsys: Any, *words: object) -> tuple[int, str, str]:
    """The exit status of a command, what it printed, and its errors."""
    monkeypatch.setattr("sys.argv", ["dpbandits", *map(str, words)])
    status = 0
    try:
        cli.main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


def output_of(*words: object) -> tuple[int, str]:
    """The exit status of a command, and all that it printed, errors as well."""
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", ["dpbandits", *map(str, words)])
        try:
            cli.main()
        except SystemExit as ended:
            status = int(ended.code or 0)
    return status, out.getvalue() + err.getvalue()
