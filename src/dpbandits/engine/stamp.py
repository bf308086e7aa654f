"""Stamps: one hash for the program that something was made by, the same in every process.

numba looks at the file of a compiled function alone, but ours calls policies from other files, also from a user's, with
helpers and constants from yet others. `stamp` follows every name that a function reads, as it is bound in memory: code,
closures, defaults, constants, attributes of modules, and for a class the implementations of all generics. Equal stamps
mean the same kernels.

A hash of all source files would be shorter. But an edit of one policy would compile all others anew, and a constant
that a file takes from elsewhere, such as the environment, would be seen by nobody. Only for results, which every line
of the package may have had a part in, `program_stamp` hashes all files of it.
"""

import enum
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dpbandits import _kernel
from dpbandits.errors import InvalidInput

# Installed from elsewhere and not compiled into the loop from source that anyone edits: their names are enough.
_LIBRARIES = ("llvmlite", "numba", "numpy", "scipy")
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))
_PACKAGE = Path(_kernel.__file__).parent
_COMPUTED_WITH = ("numpy", "scipy", "numba", "dp-accounting")
_first_stamps: dict[type, str] = {}


def stamp(*values: Any) -> str:
    """Return the hash of functions and classes, and of everything that they lead to."""
    stamper = _Stamper()
    return hashlib.sha256(b"".join(stamper.digest(value) for value in values)).hexdigest()


def classes_in(*values: Any) -> tuple[type, ...]:
    """Return the NamedTuple classes of the values, parts included."""

    def walk(value: Any) -> Iterator[type]:
        if isinstance(value, tuple):
            yield type(value)
            for part in value:
                yield from walk(part)

    return tuple(cls for value in values for cls in walk(value))


def check_kernels(classes: tuple[type, ...]) -> None:
    """Refuse classes that have other kernels by now: numba keeps what it compiled for one while the process lives."""
    for cls in classes:
        stamped = stamp(cls)
        if _first_stamps.setdefault(cls, stamped) != stamped:
            raise InvalidInput(
                f"Expected the kernels of {cls.__module__}.{cls.__qualname__} as they were when first played. "
                "To use new ones, define the class again as well, or start Python again."
            )


def stamp_of_constants(*values: Any) -> str:
    """Return the hash of numbers, texts and arrays, in tuples or not, whatever the classes of these are called."""

    def plain(value: Any) -> Any:
        return tuple(map(plain, value)) if isinstance(value, tuple) else value

    return stamp(plain(values))


@cache
def program_stamp() -> str:
    """Return the hash of this package: any edit gives another, and any other version of what it computes with."""
    files = sorted(_PACKAGE.rglob("*.py"))
    sources = (f"{path.relative_to(_PACKAGE)}\0{path.read_text('utf-8')}" for path in files)
    return stamp(*sources, *(f"{name} {_version(name)}" for name in _COMPUTED_WITH))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # not all of them are needed by everybody
        return "absent"


class _Stamper:
    def __init__(self) -> None:
        self._digests: dict[tuple[int, frozenset[str] | None], bytes] = {}
        self._values: list[Any] = []  # so that no id is given away again

    def digest(self, value: Any, reads: frozenset[str] = frozenset()) -> bytes:
        """Return a hash of a value. `reads` are the attribute names that a function reads: a module has too many."""
        if type(value) in _CONSTANTS:
            return self._hash(type(value).__name__, repr(value))
        is_module = isinstance(value, types.ModuleType)
        key = (id(value), reads if is_module else None)
        if key not in self._digests:
            self._values.append(value)
            self._digests[key] = self._hash("recursion", getattr(value, "__qualname__", ""))
            self._digests[key] = self._describe_module(value, reads) if is_module else self._describe(value)
        return self._digests[key]

    def _describe(self, value: Any) -> bytes:
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
        if isinstance(value, type):
            return self._describe_class(value, name)
        if isinstance(value, enum.Enum):
            return self._hash("member", name, self.digest(type(value)), self.digest(value.value))
        if isinstance(value, tuple):
            return self._hash("tuple", self.digest(type(value)), *map(self.digest, value))
        if isinstance(value, frozenset):
            return self._hash("set", *sorted(map(self.digest, value)))
        if isinstance(value, dict):  # of options: no kernel can use one
            return self._hash("dict", *(self.digest(part) for item in value.items() for part in item))
        if hasattr(value, "tobytes") and hasattr(value, "dtype"):
            return self._hash("array", str(value.dtype), repr((value.shape, value.strides)), value.tobytes())
        if hasattr(value, "py_func"):  # compiled by the user
            options = sorted(map(repr, value.targetoptions.items()))
            return self._hash("compiled", self.digest(value.py_func), *options)
        if any(value is generic for generic in _kernel.GENERICS):
            return self._hash("generic", name)  # its implementations belong to the classes at hand
        if hasattr(value, "__wrapped__"):
            return self._hash("wrapped", name, self.digest(value.__wrapped__))
        if isinstance(value, types.FunctionType) and not _is_library(value):
            return self._describe_function(value, name)
        return self._hash("other", type(value).__name__, name)

    def _describe_class(self, cls: type, name: str) -> bytes:
        parts: list[bytes | str] = [repr(getattr(cls, "_fields", ()))]
        if issubclass(cls, enum.Enum):
            parts += [repr([(member.name, member.value) for member in cls])]
        for generic in _kernel.GENERICS:
            implementation = generic.dispatch(cls)
            if implementation is not generic.registry[object]:
                parts += [getattr(generic, "__qualname__", ""), self.digest(implementation)]
        return self._hash("class", name, *parts)

    def _describe_function(self, function: types.FunctionType, name: str) -> bytes:
        reads = _names(function.__code__)
        parts = [self._code(function.__code__)]
        parts += [self.digest(default) for default in function.__defaults__ or ()]
        parts += [self.digest(cell.cell_contents, reads) for cell in function.__closure__ or ()]
        for read in sorted(reads & function.__globals__.keys()):
            parts += [self._hash(read), self.digest(function.__globals__[read], reads)]
        return self._hash("function", name, *parts)

    def _describe_module(self, module: types.ModuleType, reads: frozenset[str]) -> bytes:
        parts = []
        for read in sorted(reads & vars(module).keys()):
            parts += [self._hash(read), self.digest(getattr(module, read), reads)]
        return self._hash("module", module.__name__, *parts)

    def _code(self, code: types.CodeType) -> bytes:
        constants = [self._code(c) if isinstance(c, types.CodeType) else self.digest(c) for c in code.co_consts]
        return self._hash(code.co_code, repr((code.co_names, code.co_varnames, code.co_freevars)), *constants)

    @staticmethod
    def _hash(*parts: bytes | str) -> bytes:
        digest = hashlib.sha256()
        for part in parts:
            data = part if isinstance(part, bytes) else part.encode()
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.digest()


def _names(code: types.CodeType) -> frozenset[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return frozenset(code.co_names).union(*inner)


def _is_library(function: types.FunctionType) -> bool:
    module = sys.modules.get(function.__module__ or "")
    path = getattr(module, "__file__", None) or ""
    is_python = path.startswith(sysconfig.get_paths()["stdlib"]) and "site-packages" not in path
    return is_python or (function.__module__ or "").split(".")[0] in _LIBRARIES
