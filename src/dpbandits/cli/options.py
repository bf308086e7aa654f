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
