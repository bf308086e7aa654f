"""Where measurements go: benchmarks/results.md, a section per script, each replaced when its script runs again."""

import math
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.md")
HEAD = "# Measurements\n\nRatios matter, absolute times depend on the machine.\n"


def write_section(title: str, script: str, text: str, *, path: Path = RESULTS, head: str = HEAD) -> None:
    """Replace the section of this title, or add it at the end, and print it."""
    made = f"Written by `make bench` (benchmarks/{script}) with Python {platform.python_version()}."
    section = f"## {title}\n\n{made}\n\n{text.strip()}\n"
    sections = re.split(r"(?m)^(?=## )", path.read_text())[1:] if path.exists() else []
    found = [i for i, old in enumerate(sections) if old.startswith(f"## {title}\n")]
    if found:
        sections[found[0]] = section
    else:
        sections.append(section)
    path.write_text("\n".join([head, *(old.strip() + "\n" for old in sections)]))
    print(section)


def seconds(action: Callable[[], Any], repeat: int = 3) -> float:
    """Return the best wall-clock time of several repetitions."""
    best = math.inf
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def table(header: list[str], rows: list[Any]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"
