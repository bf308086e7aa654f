"""Compiled loops on disk, one file for every stamp: an edit anywhere leads to another file, never to old code."""

import contextlib
import hashlib
import secrets
from pathlib import Path
from typing import Any

from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock


def symbol_number() -> int:
    """Return a number that no other process gives to a function it compiles."""
    return secrets.randbits(64)


class UniqueNames(Compiler):  # type: ignore[misc]
    """numba's compiler for loops that are kept on disk: what it compiles for one has a name that is found nowhere else.

    numba names machine code by function, names of types and a number, and counts from 1 in every process. Two policies
    whose Params look alike, or two kernels from one factory, would get one name in two processes, and a third that
    loads both would run one for the other. So functions that are compiled for a loop have numbers drawn at random. The
    counter is put back before anyone else compiles: numba compiles under one lock, which is held here.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a loop and the functions that it calls."""
        with global_compiler_lock:
            counter = FunctionIdentity._unique_ids
            FunctionIdentity._unique_ids = iter(symbol_number, None)
            try:
                return super().compile_extra(func)
            finally:
                FunctionIdentity._unique_ids = counter


def use_cache(dispatcher: Any, classes: tuple[type, ...], stamped: str) -> None:
    """Keep the dispatcher's code on disk, in files of its own, if its classes can be found again by name."""
    if any(cls.__module__ == "__main__" or "<locals>" in cls.__qualname__ for cls in classes):
        return
    # RuntimeError: no folder that can be written to, so that every process compiles anew
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _StampedCache(dispatcher.py_func, classes, stamped)


class _StampedCache(FunctionCache):  # type: ignore[misc]
    """numba's cache with our stamp in the file names. Damaged files, or a full disk, cost a compilation."""

    def __init__(self, function: Any, classes: tuple[type, ...], stamped: str) -> None:
        super().__init__(function)
        names = " ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
        unique = hashlib.sha256(f"{names} {stamped}".encode()).hexdigest()[:32]
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{unique}",
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
        with contextlib.suppress(OSError):
            Path(self._cache_file._index_path).unlink(missing_ok=True)
