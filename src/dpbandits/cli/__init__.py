"""The command line: `dpbandits`, a command a file (cli/app.py lists them)."""

import os
import re
import sys
import traceback
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console

from dpbandits import __version__
from dpbandits.cli.app import app
from dpbandits.errors import DPBanditsError

__all__ = ["main"]

_CALLING = re.compile(r"[\\/](typer|click)[\\/]")
_CRASHED = 70  # EX_SOFTWARE of sysexits.h
_INTERRUPTED = 130  # 128 and the number of SIGINT
_PIPE_CLOSED = 141  # 128 and the number of SIGPIPE


def main() -> None:
    """Run the command line. Exit status 1 is a verdict and never anything else.

    Bad input, or a file that cannot be read or written, gives one sentence and 2. A closed pipe, as in `| head`, gives
    141, as for every tool that is stopped by one. A mistake in the program, or in a user's policy, gives 70.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no ± shows something else
    try:
        try:
            app(prog_name="dpbandits")  # also as python -m dpbandits, and in what completes it
        except SystemExit as ended:
            # typer and rich both end with 1 when they write to a closed pipe.
            if isinstance(ended.__context__, BrokenPipeError):
                raise ended.__context__ from None
            if ended.code == _INTERRUPTED and not isinstance(ended.__context__, KeyboardInterrupt):
                print("Stopped.", file=sys.stderr)  # typer says nothing, nor did the command
            if sys.stdout is not None:  # somebody closed it
                sys.stdout.flush()
            raise
    except BrokenPipeError:
        _be_quiet()
        raise SystemExit(_PIPE_CLOSED) from None
    except (DPBanditsError, OSError) as problem:
        text = _in_words(problem) if isinstance(problem, OSError) else str(problem)
        Console(stderr=True, soft_wrap=True).print(f"dpbandits: {text}", style="red", markup=False, highlight=False)
        raise SystemExit(2) from None
    except Exception as problem:  # noqa: BLE001  (whatever it is)
        _print_trace(problem)
        raise SystemExit(_CRASHED) from None


def _in_words(problem: OSError) -> str:
    """Return which file it was and why, without the error numbers of the operating system."""
    reason = problem.strerror or str(problem) or type(problem).__name__
    if problem.filename is None:
        return f"Expected to be able to read and write: {reason}."
    return f"Expected {os.fsdecode(problem.filename)!r} to be a file that can be read or written: {reason}."


def _print_trace(problem: Exception) -> None:
    """Print where a mistake was made, without the dozens of lines that only say how the command was called."""
    trace = traceback.TracebackException.from_exception(problem)
    trace.stack = traceback.StackSummary.from_list(
        [frame for frame in trace.stack if not _CALLING.search(frame.filename) and frame.filename != __file__]
    )
    print("".join(trace.format()), end="", file=sys.stderr)


def _be_quiet() -> None:
    """Discard what is still to be written, so that the interpreter's own last attempt does not complain."""
    with suppress(OSError):  # there is no such file in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"dpbandits {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...
