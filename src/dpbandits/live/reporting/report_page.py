"""The page of a live experiment: one file that needs nothing else."""

import os
from collections.abc import Iterable
from pathlib import Path

from dpbandits._validate import value_text
from dpbandits._writing import write_file
from dpbandits.document import to_html
from dpbandits.errors import InvalidInput
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.reporting.findings import Findings
from dpbandits.live.reporting.report_contents import TITLE, contents

_ARMS, _RELEASES = 100, 10  # on a page that stays readable


def overview_page(overview: Overview) -> bytes:
    """Return the page of what may be shown."""
    return to_html(contents(Findings(overview), _ARMS, _RELEASES), TITLE).encode("utf-8", "replace")


def write_page(path: object, overview: Overview, protected: Iterable[Path]) -> Path:
    """Write the page to a file, unless that is one of the protected ones."""
    target = page_path(path, protected)
    try:
        return write_file(target, overview_page(overview))
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise InvalidInput(
            f"Expected path={value_text(str(target))} to be one that can be written: {reason}."
        ) from None


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other) or one.samefile(other)
    except (OSError, ValueError):  # one of them is not there
        return False


def page_path(path: object, protected: Iterable[Path]) -> Path:
    """Return the path of a page; that of a journal or its mark is refused, which the page would overwrite."""
    if not isinstance(path, str | os.PathLike) or Path(path).suffix.lower() != ".html":
        raise InvalidInput(f"Expected path={value_text(path)} to be that of a file that ends in .html.")
    target = Path(path)
    for file in protected:
        if _is_same(target, file):
            raise InvalidInput(f"Expected path={value_text(str(target))} to be neither the journal nor its mark.")
    return target
