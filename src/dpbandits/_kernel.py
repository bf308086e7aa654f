"""Kernels: algorithms written once, as plain Python functions over explicit state.

Nothing here knows numba. `kernel` only records a function, `generic` makes a function whose implementation is
chosen by the type of its first argument. Live use calls both as they are; `dpbandits.engine` compiles the
recorded ones when something is played, and resolves a generic in the same way for every target: one more machine
needs one more noise class, and no algorithm is touched.

A kernel may use numbers, arrays, NamedTuples of these, other kernels and generics. It may not allocate. No field of
such a NamedTuple is called `count` or `index`: these are methods of a tuple, and CUDA code finds the method.
"""

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any, Protocol, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class GenericFunction(Protocol[Result_co]):
    """A function with one implementation per type of its first argument."""

    @property
    def registry(self) -> Mapping[Any, Callable[..., Any]]:
        """The implementations by type."""

    def dispatch(self, cls: type) -> Callable[..., Any]:
        """Return the implementation for a type, or the fallback that is registered for `object`."""

    def register(self, cls: type) -> Callable[[Function], Function]:
        """Return a decorator that makes a function the implementation for `cls`."""

    def __call__(self, *args: Any, **named: Any) -> Result_co: ...


KERNELS: list[Callable[..., Any]] = []
GENERICS: list[GenericFunction[Any]] = []


def kernel(function: Function) -> Function:
    """Record a function that must also run compiled. It stays an ordinary Python function.

    Args:
        function: what is recorded, and returned as it is.
    """
    KERNELS.append(function)
    return function


def generic(function: Callable[..., Result]) -> GenericFunction[Result]:
    """Make a function with one implementation per type of its first argument.

    Register implementations with `@name.register(Type)`; their parameters carry the same names.
    The body of `function` answers for every unregistered type.
    """
    dispatching = cast(GenericFunction[Result], singledispatch(function))
    GENERICS.append(dispatching)
    return dispatching
