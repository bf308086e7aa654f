"""Which process this is. A forked child can tell that it is one even if its pid is the same, as in a new namespace.

What must not live on in a child (noise that was drawn and not used, an open journal) is dropped there by `in_child`.
"""

import os
from collections.abc import Callable

_forks = 0  # between the first process of this program and this one


def this_process() -> tuple[int, int]:
    """Return what is equal as long as the process is the same. The pid notices forks that run no hooks."""
    return _forks, os.getpid()


def in_child(action: Callable[[], None]) -> None:
    """Run an action in every forked child, before anything else runs there."""
    if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
        os.register_at_fork(after_in_child=action)


def _count() -> None:
    global _forks
    _forks += 1


in_child(_count)
