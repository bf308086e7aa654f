"""Options that several commands have, in the same words."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON document and nothing else; numbers that are infinite or undefined are null."
    ),
]
OwnEnvironment = Annotated[
    str | None,
    typer.Option(
        help="Your own rewards, as mine.py:NAME: an Environment, or a class or function without arguments that makes "
        "one. The file is run.",
        show_default=False,
    ),
]
StoredIn = Annotated[
    str,
    typer.Option(
        "--database", help="Where the experiments are: a file of SQLite, or postgresql://USER@HOST/NAME.", metavar="URL"
    ),
]
StateFolder = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the marks, which show whether the database is the newest; all hosts that write it share "
        "one. Default: beside a file of SQLite.",
        show_default=False,
    ),
]
Means = Annotated[
    str | None, typer.Option(help="Bernoulli arms: a success rate per arm, such as 0.9,0.6.", show_default=False)
]
Workers = Annotated[int | None, typer.Option(help="Cores to use. Default: all. The numbers do not depend on it.")]
Keep = Annotated[
    Path | None,
    typer.Option(
        help="A folder for finished runs. If the command is stopped, the same command continues where it "
        "stopped; one with more runs starts from them.",
        show_default=False,
    ),
]
