"""Makes kernels and generics callable from numba-compiled code. Importing this module is enough.

A kernel is registered as it is. A call of a generic is resolved, while compiling, by the type of its first
argument, to the very function that plain Python would dispatch to. CUDA code resolves the same way, so a GPU needs
a noise class of its own and nothing else.
"""

import inspect
from typing import Any

from numba.core import types
from numba.extending import overload, register_jitable

from dpbandits import (
    _kernel,
    mechanisms,  # noqa: F401  (its kernels must be recorded before they are registered)
)

_registered: set[Any] = set()


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


def _resolver(generic: Any) -> Any:
    def resolve(first: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(first, types.BaseNamedTuple) and first.instance_class in generic.registry:
            return generic.registry[first.instance_class]
        return None  # numba then reports that the generic has no implementation for this type

    # numba matches the arguments of a call against this signature, defaults included.
    resolve.__signature__ = inspect.signature(generic)  # type: ignore[attr-defined]
    return resolve


register_kernels()
