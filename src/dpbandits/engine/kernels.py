"""Makes kernels and generics callable from numba-compiled code. Importing this module is enough.

A kernel is registered as it is. A call of a generic is resolved, while compiling, by the type of its first
argument, to the very function that plain Python would dispatch to. CUDA code resolves the same way, so a GPU needs
a noise class of its own and nothing else.
"""

import inspect
from typing import Any

from numba.core.types import Array
from numba.core.types.containers import BaseTuple
from numba.extending import overload, register_jitable

from dpbandits import (  # noqa: F401  (their kernels must be recorded before they are registered)
    _kernel,
    environments,
    mechanisms,
    policies,
)
from dpbandits.engine import compiled_bits  # noqa: F401  (replaces popcount and floor_log2)
from dpbandits.engine.loop import clear, note_plays, note_start, note_switch, play

# numba's private option: without reference counting, which would take longer than the rest of a step. Such code may
# not allocate, and kernels do not.
_UNCOUNTED = {"_nrt": False}
# A trace has many arrays. If it were handed over at every step, that would take longer than the rest, too.
_INLINED = {"forceinline": True}
_registered: set[object] = set()


def register_kernels() -> None:
    """Register every kernel and generic recorded so far. Call it again after new ones were defined."""
    for function in _kernel.KERNELS:
        if function not in _registered:
            _registered.add(function)
            register = register_jitable(**_UNCOUNTED) if function is play else register_jitable
            register(function)
    for generic in _kernel.GENERICS:
        if generic not in _registered:
            _registered.add(generic)
            # strict would compare annotations too; tests compare the parameters' names instead.
            options = _INLINED if generic in (note_start, note_switch, note_plays) else {}
            overload(generic, options, strict=False)(_resolver(generic))


def _resolver(generic: _kernel.GenericFunction[Any]) -> Any:
    def resolve(first: Any, *rest: Any, **named: Any) -> Any:
        # Params and noise sources are NamedTuples; numba reports any type that has no implementation.
        implementation = generic.dispatch(getattr(first, "instance_class", object))
        return None if implementation is generic.registry[object] else implementation

    # numba matches the arguments of a call against this signature, defaults included.
    resolve.__signature__ = inspect.signature(generic)  # type: ignore[attr-defined]
    return resolve


@overload(clear, strict=False)
def compiled_clear(part: Any) -> Any:
    """Return what `clear` does with a part of this type; CUDA code has no `fill`."""
    if isinstance(part, Array):
        return _clear_rows if part.ndim > 1 else _clear_numbers
    if isinstance(part, BaseTuple):
        return _clear_nothing if len(part) == 0 else _clear_tuple
    return None


def _clear_nothing(part: Any) -> None:
    pass


def _clear_numbers(part: Any) -> None:
    for i in range(len(part)):
        part[i] = 0


def _clear_rows(part: Any) -> None:
    for i in range(len(part)):
        clear(part[i])


def _clear_tuple(part: Any) -> None:
    clear(part[0])
    clear(part[1:])


register_kernels()
