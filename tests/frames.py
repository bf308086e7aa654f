"""What whoever logs an exception could print of it: the frames of the library that it keeps, and their variables."""

from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import dpbandits

LIBRARY = str(Path(dpbandits.__file__).parent)


def library_frames(problem: BaseException | None, seen: set[int] | None = None) -> Iterator[FrameType]:
    """Yield the library's frames that an exception keeps, with those of its context and of its cause."""
    seen = set() if seen is None else seen
    if problem is None or id(problem) in seen:
        return
    seen.add(id(problem))
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(LIBRARY):
            yield trace.tb_frame
        trace = trace.tb_next
    yield from library_frames(problem.__context__, seen)
    yield from library_frames(problem.__cause__, seen)


def found_in_frames(problem: BaseException, *secrets: str) -> list[str]:
    """Return where one of these texts can be read: function and variable, or the text of the exception."""
    found = [
        f"{frame.f_code.co_qualname}: {name}"
        for frame in library_frames(problem)
        for name, value in frame.f_locals.items()
        for secret in secrets
        if secret in repr(value)
    ]
    return found + [f"{type(problem).__name__}: {problem}" for secret in secrets if secret in repr(problem)]
