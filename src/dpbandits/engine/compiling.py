"""Loops compiled for the policy at hand, one dispatcher for every combination of types, kept on disk."""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

from dpbandits.engine import bits
from dpbandits.engine.cache import UniqueNames, symbol_number, use_cache
from dpbandits.engine.kernels import register_kernels
from dpbandits.engine.stamp import classes_in, stamp
from dpbandits.errors import InvalidInput

_stamps: dict[type, str] = {}


def compiled_loop(function: Callable[..., Any], parts: tuple[Any, ...], *values: Any) -> Any:
    """Return a loop compiled for the types of these values. `parts` are the functions and classes it is made of."""
    classes = classes_in(*values)
    for cls in classes:  # numba keeps what it compiled for a class as long as the process lives
        stamped = stamp(cls)
        if _stamps.setdefault(cls, stamped) != stamped:
            raise InvalidInput(
                f"Expected the kernels of {cls.__module__}.{cls.__qualname__} as they were when first simulated. "
                "To use new ones, define the class anew as well, or start Python again."
            )
    return _compiled(function, parts, classes)


@cache
def _compiled(function: Callable[..., Any], parts: tuple[Any, ...], classes: tuple[type, ...]) -> Any:
    register_kernels()
    # A dispatcher of its own for every combination: numba's index of one dispatcher names all the types it was ever
    # used with, and a process that cannot import one of them could load none.
    dispatcher = njit(nogil=True, pipeline_class=UniqueNames)(function)
    if isinstance(dispatcher, Dispatcher):  # NUMBA_DISABLE_JIT leaves plain Python
        helpers = (helper for helper in vars(bits).values() if callable(helper))
        use_cache(dispatcher, classes, stamp(function, *parts, *helpers, *classes, symbol_number))
    return dispatcher
