"""The command line itself: one application, to which every other file of this room adds a command."""

import typer

app = typer.Typer(
    help="Differentially private bandits: plan an experiment, compare and simulate policies, audit their claims, "
    "check their ledgers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
