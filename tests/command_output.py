"""The command line, run in the process of the test."""

from typing import Any

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
