"""Loops compiled for the types at hand, one dispatcher for every combination of them, kept on disk."""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

from dpbandits.engine import bits, kernels
from dpbandits.engine.cache import UniqueNames, symbol_number, use_cache
from dpbandits.engine.stamp import classes_in, stamp
from dpbandits.errors import InvalidInput

_stamps: dict[type, str] = {}
_one_at_a_time = Lock()  # threads that begin together share one dispatcher, and one compilation


def compiled_loop(function: Callable[..., Any], *values: Any) -> Any:
    """Return a loop compiled for the types of these values, which are among its arguments."""
    classes = classes_in(*values)
    with _one_at_a_time:
        return _made_once(function, classes)


def _made_once(function: Callable[..., Any], classes: tuple[type, ...]) -> Any:
    for cls in classes:  # numba keeps what it compiled for a class as long as the process lives
        stamped = stamp(cls)
        if _stamps.setdefault(cls, stamped) != stamped:
            raise InvalidInput(
                f"Expected the kernels of {cls.__module__}.{cls.__qualname__} as they were when first simulated. "
                "To use new ones, define the class anew as well, or start Python again."
            )
    return _compiled(function, classes)


@cache
def _compiled(function: Callable[..., Any], classes: tuple[type, ...]) -> Any:
    kernels.register_kernels()
    # A dispatcher of its own for every combination: numba's index of one dispatcher names all the types it was ever
    # used with, and a process that cannot import one of them could load none.
    dispatcher = njit(nogil=True, pipeline_class=UniqueNames)(function)
    if isinstance(dispatcher, Dispatcher):  # NUMBA_DISABLE_JIT leaves plain Python
        # What stands for a function in compiled code is not found by following names.
        stand_ins = [part for module in (bits, kernels) for part in vars(module).values() if callable(part)]
        use_cache(dispatcher, classes, stamp(function, *stand_ins, *classes, symbol_number))
    return dispatcher
