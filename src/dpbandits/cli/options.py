"""Options that several commands have, in the same words."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document and nothing else; what is infinite or no number is null."),
]
OwnEnvironment = Annotated[
    str | None,
    typer.Option(
        help="Rewards of your own: mine.py:NAME, an Environment or a class or function without arguments that makes "
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
        help="The folder for what was played: stopped at any time, the same command goes on where it was, and one with "
        "more runs begins with those that are there.",
        show_default=False,
    ),
]
