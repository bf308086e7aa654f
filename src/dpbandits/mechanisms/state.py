"""State is declared, not allocated: what a kernel keeps, in which shape, and what of it is secret.

A State is a NamedTuple whose fields are annotated with `public(...)` or `secret(...)` and the names of their axes.
Whoever runs the kernel allocates it: float64 secrets in simulation, int64 on the live grid, objects for a taint
check, local arrays on a GPU. Public fields are counts (int64) or released values (float64).
"""

from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import DTypeLike

StateT = TypeVar("StateT", bound=tuple[Any, ...])  # a NamedTuple class


@dataclass(frozen=True)
class Field:
    """The declaration of one array: its axes by name, its dtype, and whether it holds secrets."""

    axes: tuple[str, ...]
    dtype: Any
    is_secret: bool


def public(*axes: str, dtype: DTypeLike = np.float64) -> Field:
    """Declare an array that may be shown to anyone: counts and released values."""
    return Field(axes, np.dtype(dtype), is_secret=False)


def secret(*axes: str) -> Field:
    """Declare an array of secret numbers; its dtype is the noise source's business."""
    return Field(axes, None, is_secret=True)


def fields_of(state_class: type[StateT]) -> dict[str, Field]:
    """Return the declaration of every field, in order."""
    hints = get_type_hints(state_class, include_extras=True)
    return {name: get_args(hint)[1] for name, hint in hints.items()}


def allocate(state_class: type[StateT], sizes: dict[str, int], secret_dtype: DTypeLike) -> StateT:
    """Return a state of zeros, with the given size for every named axis."""
    arrays = {
        name: np.zeros([sizes[axis] for axis in field.axes], secret_dtype if field.is_secret else field.dtype)
        for name, field in fields_of(state_class).items()
    }
    return state_class(**arrays)
