"""Makes kernels and generics callable from numba-compiled code. Importing this module is enough.

A kernel is registered as it is. A call of a generic is resolved, while compiling, by the type of its first
argument, to the very function that plain Python would dispatch to. CUDA code resolves the same way, so a GPU needs
a noise class of its own and nothing else.
"""

import inspect
from typing import Any

from numba.extending import overload, register_jitable

from dpbandits import (
    _kernel,
    mechanisms,  # noqa: F401  (its kernels must be recorded before they are registered)
)
from dpbandits.engine import bits  # noqa: F401  (replaces popcount and floor_log2)

_registered: set[object] = set()


def register_kernels() -> None:
    """Register every kernel and generic recorded so far. Call it again after new ones were defined."""
    for function in _kernel.KERNELS:
        if function not in _registered:
            _registered.add(function)
            register_jitable(function)
    for generic in _kernel.GENERICS:
        if generic not in _registered:
            _registered.add(generic)
            # strict would compare annotations too; tests compare the parameters' names instead.
            overload(generic, strict=False)(_resolver(generic))


def _resolver(generic: _kernel.GenericFunction[Any]) -> Any:
    def resolve(first: Any, *rest: Any, **named: Any) -> Any:
        # Params and noise sources are NamedTuples; numba reports any type that has no implementation.
        implementation = generic.dispatch(getattr(first, "instance_class", object))
        return None if implementation is generic.registry[object] else implementation

    # numba matches the arguments of a call against this signature, defaults included.
    resolve.__signature__ = inspect.signature(generic)  # type: ignore[attr-defined]
    return resolve


register_kernels()
