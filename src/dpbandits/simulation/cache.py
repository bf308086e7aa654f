"""Compiled loops on disk, renewed whenever the code that they were made from has changed.

numba keeps machine code beside the file of the compiled function and looks at that file alone. Our loop calls policies
from other files, also from a user's: after an edit there numba would run the old code. So the stamp of an entry is a
hash of everything that is reached from the loop and from the functions of the policy and the environment, as it is in
memory: code, closures, defaults, constants, and all that is in a module which a function names.
"""

import hashlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from dpbandits import _kernel
from dpbandits.mechanisms.seeded import SeededNoise

_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))


def classes_in(*values: Any) -> tuple[type, ...]:
    """Return the NamedTuple classes of the values, parts included."""

    def walk(value: Any) -> Iterator[type]:
        if isinstance(value, tuple):
            yield type(value)
            for part in value:
                yield from walk(part)

    return tuple(found for value in values for found in walk(value))


def use_cache(dispatcher: Any, classes: tuple[type, ...], stamped: str) -> None:
    """Keep the dispatcher's code on disk, in an index of its own, if its classes can be found again by name."""
    if any(cls.__module__ == "__main__" or "<locals>" in cls.__qualname__ for cls in classes):
        return
    try:
        dispatcher._cache = _StampedCache(dispatcher.py_func, classes, stamped)
    except RuntimeError:  # no folder that can be written to: compile anew in every process
        return


class _StampedCache(FunctionCache):  # type: ignore[misc]
    """numba's cache with our stamp. Damaged files, or a disk that is full, cost a compilation and nothing else."""

    def __init__(self, function: Any, classes: tuple[type, ...], stamped: str) -> None:
        super().__init__(function)
        names = " ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{hashlib.sha256(names.encode()).hexdigest()[:16]}",
            source_stamp=stamped,
        )

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception:  # noqa: BLE001  (a damaged pickle can raise anything)
            self._forget()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            super().save_overload(signature, compiled)
        except Exception:  # noqa: BLE001
            self._forget()

    def _forget(self) -> None:
        Path(self._cache_file._index_path).unlink(missing_ok=True)


def stamp(classes: tuple[type, ...], *modules: types.ModuleType) -> str:
    """Return a hash of everything that the code of these classes and modules was made from, as it is in memory."""
    reached = _Reached()
    for module in modules:
        for name, value in vars(module).items():
            if callable(value):
                reached.visit(value, name)
    for cls in (*classes, SeededNoise):
        for generic in _kernel.GENERICS:
            implementation = generic.dispatch(cls)
            if implementation is not generic.registry[object]:
                reached.visit(implementation)
    digest = hashlib.sha256()
    for text in sorted(reached.texts):
        digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()


class _Reached:
    """The code and the constants that functions lead to."""

    def __init__(self) -> None:
        self.texts: set[bytes] = set()
        self._seen: dict[int, Any] = {}  # holds what was seen, so that no id is given away again

    def visit(self, value: Any, name: str = "") -> None:
        module = sys.modules.get(str(getattr(value, "__module__", "")))
        if id(value) in self._seen or (callable(value) and module is not None and _is_library(module)):
            return
        self._seen[id(value)] = value
        if isinstance(value, type) or any(value is generic for generic in _kernel.GENERICS):
            return  # of a generic only the implementations for the classes at hand matter
        if isinstance(value, types.FunctionType):
            self._visit_function(value)
        elif isinstance(value, types.ModuleType):
            self._visit_module(value)
        elif hasattr(value, "py_func"):  # compiled by the user
            self.visit(value.py_func)
        elif hasattr(value, "__wrapped__"):
            self.visit(value.__wrapped__)
        elif hasattr(value, "tobytes"):
            self._add(name, repr(getattr(value, "dtype", "")).encode() + value.tobytes())
        elif isinstance(value, _CONSTANTS):
            self._seen.pop(id(value))  # the same number may stand under several names
            self._add(name, _text(value))

    def _visit_function(self, function: types.FunctionType) -> None:
        self._visit_code(function.__qualname__, function.__code__)
        for cell in function.__closure__ or ():
            self.visit(cell.cell_contents, f"{function.__qualname__} closure")
        for default in function.__defaults__ or ():
            self.visit(default, f"{function.__qualname__} default")
        for name in _names(function.__code__):
            if name in function.__globals__:
                self.visit(function.__globals__[name], f"{function.__module__}.{name}")

    def _visit_code(self, name: str, code: types.CodeType) -> None:
        plain = [constant for constant in code.co_consts if not isinstance(constant, types.CodeType)]
        self._add(name, code.co_code + _text((*plain, code.co_names, code.co_varnames)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._visit_code(name, constant)

    def _visit_module(self, module: types.ModuleType) -> None:
        """Visit everything in a module, since any attribute may be what a function reads."""
        if not _is_library(module):
            for name, value in vars(module).copy().items():
                if not name.startswith("__"):
                    self.visit(value, f"{module.__name__}.{name}")

    def _add(self, name: str, content: bytes) -> None:
        self.texts.add(name.encode() + b"\0" + content)


def _text(constant: Any) -> bytes:
    """Return a constant as text that is the same in every process: sets have an order of their own in each."""
    if isinstance(constant, frozenset):
        return b"{" + b",".join(sorted(map(_text, constant))) + b"}"
    if isinstance(constant, tuple):
        return b"(" + b",".join(map(_text, constant)) + b")"
    return f"{type(constant).__name__} {constant!r}".encode()


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def _is_library(module: types.ModuleType) -> bool:
    """Tell whether a module is Python's or installed from elsewhere: nobody edits it between two runs."""
    name = module.__name__.split(".")[0]
    if name in ("__main__", "dpbandits"):
        return False
    path = getattr(module, "__file__", None) or ""
    return name in sys.stdlib_module_names or "site-packages" in path or "dist-packages" in path
