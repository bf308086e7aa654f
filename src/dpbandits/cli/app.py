"""The command line itself: one application, to which every other file of this room adds a command."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import typer

from dpbandits._extras import require_extras

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

app = typer.Typer(
    help="Differentially private bandits: plan an experiment, compare and simulate policies, audit their claims, "
    "check their ledgers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def needing(*packages: str) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Make a command say what is not installed before it begins. Its help is shown all the same."""

    def wrapped(command: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        @wraps(command)
        def checked(*args: Parameters.args, **named: Parameters.kwargs) -> Returned:
            require_extras(*packages)
            return command(*args, **named)

        return checked

    return wrapped
