"""What commands print: one JSON document for a program, or tables for a person that fit the terminal."""

import json
import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from textwrap import fill
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from dpbandits.cli.parsing import console

_ROOM_FOR_TEXT = 140  # columns: with less, columns of sentences are a few letters wide


def print_json(document: Any) -> None:
    """Print one JSON document. Numbers that are infinite or undefined are null."""
    print(json.dumps(json_form(document), indent=2, allow_nan=False))


def json_form(value: Any) -> Any:
    """Return what JSON can hold: named tuples and dataclasses by their fields, NaN and infinity as None.

    >>> json_form({"mean": math.nan, "runs": np.int64(3), "levels": (0.1, math.inf)})
    {'mean': None, 'runs': 3, 'levels': [0.1, None]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): json_form(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_form(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int) else str(value)


def print_rows(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", *, is_text: bool = False
) -> None:
    """Print a table whose first column has names, which never break; if it does not fit, print a paragraph per row."""
    screen = console()
    table = Table(title=escape(title), caption=escape(caption))
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        justify: Any = "left" if is_text else "right"
        table.add_column(column, justify=justify, no_wrap=not is_text, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    if screen.width >= (_ROOM_FOR_TEXT if is_text else _natural_width(table)):
        screen.print(table)
        return
    print(fill(title, screen.width))
    for name, *values in rows:
        paragraphs = [f"{column}: {value}" for column, value in zip(columns[1:], values, strict=True) if value]
        print(name.replace("\n", ""))
        for paragraph in paragraphs if is_text else ["; ".join(paragraphs)]:
            print(_indented(" ".join(paragraph.split()), screen.width))
    if caption:
        print(fill(caption, screen.width))


def _natural_width(table: Table) -> int:
    wide = Console(width=10_000)
    return Measurement.get(wide, wide.options, table).maximum


def _indented(text: str, width: int) -> str:
    return fill(
        text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
