"""The command line itself: a table of commands, and the application that imports the one that runs."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple, ParamSpec, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from dpbandits._extras import require_extras

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class CommandEntry(NamedTuple):
    """A command that may not be imported yet: the module that adds it, and the first sentence of its help."""

    module: str
    summary: str


COMMANDS = {
    "plan": CommandEntry("plan", "Find out what privacy will cost, before an experiment begins."),
    "simulate": CommandEntry(
        "simulate", "Play policies many times against Bernoulli arms, or rewards of your own, and show their regret."
    ),
    "compare": CommandEntry("compare", "Rank policies over many bandits and privacy levels."),
    "policies": CommandEntry("simulate", "List the policies: names, guarantees, settings, where they come from."),
    "audit": CommandEntry("audit", "Try to break a privacy claim."),
    "show": CommandEntry(
        "show",
        "Show the state of a live experiment: which arm is best, estimates, the promise, the budget spent, releases.",
    ),
    "ledger": CommandEntry(
        "ledger_command", "Check or show the ledger of a live bandit, as exported by Ledger.to_jsonl."
    ),
    "restore": CommandEntry(
        "restore", "Show what a database that was put back from a copy has lost, and go on from it."
    ),
    "marks": CommandEntry("marks_command", "The marks that show whether a database is the newest."),
    "backup": CommandEntry(
        "backup_command", "Write a copy of a database, as it is at one moment, while a service goes on writing it."
    ),
    "upgrade": CommandEntry(
        "upgrade", "Bring the tables of a database up to date, after a new version of dpbandits was installed."
    ),
    "reproduce": CommandEntry(
        "reproduce", "Run the experiments of the 2016 paper again and test every claim it makes."
    ),
}


class LazyCommandGroup(TyperGroup):
    """A group that knows only names and summaries of its commands until one runs, or its options are completed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        imported = self.commands
        self.commands = {
            name: imported.get(name) or TyperCommand(name, short_help=entry.summary) for name, entry in COMMANDS.items()
        }

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command. If they fail, as for an unknown shell, the exit status is 2."""
        try:
            return super().parse_args(ctx, args)
        except typer.Exit as ended:
            raise typer.Exit(2 if ended.exit_code else 0) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that was called, and return it."""
        if args[0] in COMMANDS:
            import_module(f"dpbandits.cli.{COMMANDS[args[0]].module}")  # which adds it to the application
            self.commands = typer.main.get_group(app).commands
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyCommandGroup,
    help="Differentially private bandits: plan an experiment, compare and simulate policies, audit their claims, "
    "check their ledgers, keep their databases.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def needing(*packages: str) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Make a command report missing packages before it begins. Its help works without them."""

    def wrapped(command: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        @wraps(command)
        def checked(*args: Parameters.args, **named: Parameters.kwargs) -> Returned:
            require_extras(*packages)
            return command(*args, **named)

        return checked

    return wrapped
