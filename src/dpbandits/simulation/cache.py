"""Compiled loops on disk, renewed whenever the code that they were made from has changed.

numba keeps machine code beside the file of the compiled function and looks at that file alone. Our loop calls policies
from other files, also from a user's: after an edit there numba would run the old code. So the stamp of an entry is a
hash of our sources and of all code that is reached from the policy's and the environment's own functions.
"""

import hashlib
import inspect
import types
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from dpbandits import _kernel

_PACKAGE = Path(__file__).parents[1]
_ROOMS = ("environments", "mechanisms", "policies", "privacy", "simulation")


def classes_in(*values: Any) -> tuple[type, ...]:
    """Return the NamedTuple classes of the values, parts included."""

    def walk(value: Any) -> Iterator[type]:
        if isinstance(value, tuple):
            yield type(value)
            for part in value:
                yield from walk(part)

    return tuple(found for value in values for found in walk(value))


def use_cache(dispatcher: Any, classes: tuple[type, ...]) -> None:
    """Keep the dispatcher's code on disk, in an index of its own, if its classes can be found again by name."""
    if any(cls.__module__ == "__main__" or "<locals>" in cls.__qualname__ for cls in classes):
        return
    try:
        dispatcher._cache = _StampedCache(dispatcher.py_func, classes)
    except RuntimeError:  # no folder that can be written to: compile anew in every process
        return


class _StampedCache(FunctionCache):  # type: ignore[misc]
    def __init__(self, function: Any, classes: tuple[type, ...]) -> None:
        super().__init__(function)
        names = " ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{hashlib.sha256(names.encode()).hexdigest()[:16]}",
            source_stamp=stamp(classes),
        )


def stamp(classes: tuple[type, ...]) -> str:
    """Return a hash of everything that the compiled code of these classes was made from."""
    digest = hashlib.sha256(_own_sources())
    reached = _Reached()
    for cls in classes:
        for generic in _kernel.GENERICS:
            reached.visit(generic.dispatch(cls))
    for text in sorted(reached.texts):
        digest.update(text)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _own_sources() -> bytes:
    digest = hashlib.sha256()
    files = [_PACKAGE / "_kernel.py", *(path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py"))]
    for path in sorted(files):
        digest.update(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes())
    return digest.digest()


class _Reached:
    """The code and the constants that functions outside this package lead to, through their globals."""

    def __init__(self) -> None:
        self.texts: set[bytes] = set()
        self._seen: set[int] = set()

    def visit(self, value: Any) -> None:
        if id(value) in self._seen or _is_ours(value):
            return
        self._seen.add(id(value))
        if isinstance(value, types.FunctionType):
            self._add(value.__qualname__, _file_of(value) or value.__code__.co_code)
            self._follow(value, value.__code__)
        elif isinstance(value, types.ModuleType):
            self._add(value.__name__, _file_of(value) or b"")
        elif hasattr(value, "registry") and hasattr(value, "dispatch"):  # a generic of the user's own
            for implementation in value.registry.values():
                self.visit(implementation)
        elif hasattr(value, "py_func"):  # compiled by the user
            self.visit(value.py_func)
        elif hasattr(value, "tobytes"):
            self._add(type(value).__name__, value.tobytes())
        elif isinstance(value, int | float | str | bytes | tuple | frozenset | type(None)):
            self._add("constant", repr(value).encode())

    def _follow(self, function: types.FunctionType, code: types.CodeType) -> None:
        for name in code.co_names:
            if name in function.__globals__:
                self._add(name, b"")
                self.visit(function.__globals__[name])
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._follow(function, constant)

    def _add(self, name: str, content: bytes) -> None:
        self.texts.add(name.encode() + b"\0" + content)


def _is_ours(value: Any) -> bool:
    module = inspect.getmodule(value) if callable(value) else value
    name = getattr(module, "__name__", "") if isinstance(module, types.ModuleType) else ""
    return name.split(".")[0] in {"dpbandits", "numpy", "numba", "math", "typing"}


def _file_of(value: Any) -> bytes | None:
    try:
        path = inspect.getsourcefile(value)
        return Path(path).read_bytes() if path else None
    except (TypeError, OSError):
        return None
