"""Loops compiled for the types at hand, one dispatcher for every combination of them, kept on disk."""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

from dpbandits.engine import compiled_bits, kernels
from dpbandits.engine.cache import UniqueNames, symbol_number, use_cache
from dpbandits.engine.stamp import check_kernels, classes_in, stamp

_one_at_a_time = Lock()  # threads that begin together share one dispatcher, and one compilation


def compiled_loop(function: Callable[..., Any], *values: Any) -> Any:
    """Return a loop compiled for the types of these values, which are among its arguments."""
    classes = classes_in(*values)
    with _one_at_a_time:
        check_kernels(classes)
        return _compiled(function, classes)


@cache
def _compiled(function: Callable[..., Any], classes: tuple[type, ...]) -> Any:
    kernels.register_kernels()
    # A dispatcher of its own for every combination: numba's index of one dispatcher names all the types it was ever
    # used with, and a process that cannot import one of them could load none.
    dispatcher = njit(nogil=True, pipeline_class=UniqueNames)(function)
    if isinstance(dispatcher, Dispatcher):  # NUMBA_DISABLE_JIT leaves plain Python
        # What stands for a function in compiled code is not found by following names.
        stand_ins = [part for module in (compiled_bits, kernels) for part in vars(module).values() if callable(part)]
        use_cache(dispatcher, classes, stamp(function, *stand_ins, *classes, symbol_number))
    return dispatcher
