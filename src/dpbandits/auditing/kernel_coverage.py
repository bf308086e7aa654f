"""KernelCoverage: which parts of a policy's kernels were executed, down to the branch of a line.

What no run has executed, no run has examined: an audit that says which lines these are says how far it goes.
"""

import sys
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from dpbandits import _kernel, engine, theory
from dpbandits.mechanisms import forwarding, response, seeded
from dpbandits.policies import exploration, hold, select, update

Place = tuple[int, int, int]  # a line, and the columns of an expression in it

# What plays a policy and what draws its noise is no part of it; formulas of public numbers are tested elsewhere, at all
# their ends.
_NOT_COVERED = tuple(part.__name__ for part in (engine, forwarding, response, seeded, exploration, theory))


class KernelCoverage:
    """Watches the kernels of a policy while it plays (`with`), and knows what is missing."""

    def __init__(self, params: type) -> None:
        steps = {generic.dispatch(params).__code__ for generic in (select, hold, update)}
        modules = ((function, function.__module__ or "") for function in _kernel.KERNELS)  # a doctest has none
        kernels = {function.__code__ for function, module in modules if not module.startswith(_NOT_COVERED)}
        self._kernels: set[CodeType] = steps | kernels
        self._places: dict[CodeType, list[Place | None]] = {}
        self._missing: dict[CodeType, set[Place]] = {}
        self._before: Any = None

    @property
    def is_complete(self) -> bool:
        """Whether everything was executed, of all kernels that were ever called."""
        return not any(self._missing.values())

    @property
    def missing(self) -> tuple[str, ...]:
        """The lines of which something was never executed, as file:line."""
        lines = {(code.co_filename, line) for code, places in self._missing.items() for line, _, _ in places}
        return tuple(f"{Path(file).name}:{line}" for file, line in sorted(lines))

    def __enter__(self) -> "KernelCoverage":
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if code not in self._kernels:
            return None
        if code not in self._missing:
            self._places[code] = _places(code)
            self._missing[code] = {place for place in self._places[code] if place is not None}
        if not self._missing[code]:
            return None
        return self._step

    def _step(self, frame: FrameType, event: str, argument: object) -> Any:
        missing = self._missing[frame.f_code]
        if event == "line":  # instructions only where one is missing: they take long to watch
            frame.f_trace_opcodes = any(line == frame.f_lineno for line, _, _ in missing)
        elif event == "opcode":
            missing.discard(self._places[frame.f_code][frame.f_lasti // 2])
        return self._step


def _places(code: CodeType) -> list[Place | None]:
    """Return the place of every instruction; those before the body have none."""
    return [
        None if line is None or column is None or end is None or line <= code.co_firstlineno else (line, column, end)
        for line, _, column, end in code.co_positions()
    ]
