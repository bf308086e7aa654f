"""The command line: `dpbandits reproduce`, `simulate`, `policies`, `compare`, `plan`, `audit` and `ledger`."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from dpbandits import __version__
from dpbandits.cli import audit, compare, ledger, plan, reproduce, simulate  # noqa: F401  (they add their commands)
from dpbandits.cli.app import app
from dpbandits.errors import DPBanditsError

__all__ = ["main"]


def main() -> None:
    """Run the command line; bad input, or a file that cannot be written, ends with one sentence and status 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no ± shows something else
    try:
        app()
    except (DPBanditsError, OSError) as problem:
        Console(stderr=True, soft_wrap=True).print(f"dpbandits: {problem}", style="red", markup=False, highlight=False)
        raise SystemExit(2) from None


def _show_version(asked: bool) -> None:
    if asked:
        print(f"dpbandits {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...
