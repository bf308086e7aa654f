"""Declarations of states: what a kernel keeps, in which shape, and what of it is secret.

A State is a NamedTuple. A field is an array, annotated with `public(...)` or `secret(...)` and the names of its axes,
or the State of a part, such as a bank of counters; with `part()` it is left open until the policy is configured which
part that is. Whoever runs the kernel allocates it: float64 secrets in simulation, int64 on the live grid, objects for a
taint check, rows of device arrays on a GPU. Public fields are counts (int64) or released values (float64). Every state
starts as zeros.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import DTypeLike

from dpbandits.errors import InvalidInput

StateT = TypeVar("StateT", bound=tuple[Any, ...])  # a NamedTuple class
ONE = "one"  # the axis of a single number: it needs no size
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Field:
    """The declaration of one array: its axes by name, its dtype, and whether it holds secrets."""

    axes: tuple[str, ...]
    dtype: Any
    is_secret: bool


@dataclass(frozen=True)
class Part:
    """The declaration of a part whose State class is chosen when the policy is configured."""


def part() -> Part:
    """Declare a part of which `Setup.parts` names the State class, under the name of the field."""
    return Part()


def public(*axes: str, dtype: DTypeLike = np.float64) -> Field:
    """Declare an array that may be shown to anyone: counts and released values.

    Args:
        axes: what its lengths are called: "arms", "one" for a single number, or a name in `Setup.sizes`.
        dtype: float64 by default.
    """
    return Field(axes, np.dtype(dtype), is_secret=False)


def secret(*axes: str) -> Field:
    """Declare an array of secret numbers; its dtype is up to the noise source.

    Args:
        axes: what its lengths are called, as for `public`.
    """
    return Field(axes, None, is_secret=True)


def fields_of(state_class: type[StateT]) -> dict[str, Any]:
    """Return the declaration of every field, in order: a Field, a Part, or the State class of a part."""
    declarations = {}
    for name, hint in get_type_hints(state_class, include_extras=True).items():
        declarations[name] = get_args(hint)[1] if get_args(hint) else hint
        if not isinstance(declarations[name], Field | Part) and not hasattr(declarations[name], "_fields"):
            raise InvalidInput(
                f"Expected {name} of {state_class.__name__} as Annotated[Any, public(...)], secret(...) or part()."
            )
    return declarations


def allocate(
    state_class: type[StateT],
    sizes: Mapping[str, int],
    secret_dtype: DTypeLike,
    parts: Mapping[str, type] = NOTHING,
) -> StateT:
    """Return a state of zeros.

    Args:
        state_class: what declares it.
        sizes: the length of every named axis but "one", which has length 1.
        secret_dtype: of the secret arrays.
        parts: the State class of every field that is a `part()`, by the name of the field.
    """
    sizes = {ONE: 1, **sizes}
    fields: dict[str, Any] = {}
    for name, declaration in fields_of(state_class).items():
        if isinstance(declaration, Field):
            dtype = secret_dtype if declaration.is_secret else declaration.dtype
            for axis in declaration.axes:
                if axis not in sizes:
                    raise InvalidInput(f"Expected the axis {axis!r} of {name} to be one of {', '.join(sizes)}.")
            fields[name] = np.zeros([sizes[axis] for axis in declaration.axes], dtype)
        elif isinstance(declaration, Part):
            if name not in parts:
                raise InvalidInput(f"Expected `Setup.parts` to name the State class of the part {name}.")
            fields[name] = allocate(parts[name], sizes, secret_dtype, parts)
        else:
            fields[name] = allocate(declaration, sizes, secret_dtype, parts)
    return state_class(**fields)


def to_plain(state: Any) -> dict[str, Any]:
    """Return a state as nested lists that JSON keeps exactly. It holds secrets if the state does."""
    return {
        name: part.tolist() if isinstance(part, np.ndarray) else to_plain(part)
        for name, part in state._asdict().items()
    }


def restore(state: Any, plain: dict[str, Any]) -> None:
    """Put what `to_plain` returned back into an allocated state. Another shape is refused and changes nothing."""
    for array, values in _matched(state, plain):
        array[...] = values


def forget(state: Any) -> None:
    """Set everything secret in a state to zero."""
    for name, declaration in fields_of(type(state)).items():
        part = getattr(state, name)
        if not isinstance(declaration, Field):
            forget(part)
        elif declaration.is_secret:
            part[...] = 0


def _matched(state: Any, plain: Any, whole: str = "the state") -> list[tuple[Any, Any]]:
    fields = ", ".join(state._fields)
    if not isinstance(plain, dict):
        raise InvalidInput(f"Expected {whole} to be the fields {fields} in a saved state.")
    if plain.keys() != state._asdict().keys():
        raise InvalidInput(f"Expected the fields {fields} in a saved state, not {', '.join(map(str, plain))}.")
    pairs = []
    for name, part in state._asdict().items():
        if isinstance(part, np.ndarray):
            pairs.append((part, _values(name, part, plain[name])))
        else:
            pairs += _matched(part, plain[name], name)
    return pairs


def _values(name: str, array: Any, plain: Any) -> Any:
    try:
        values = np.array(plain)
    except ValueError:
        values = np.array(None)
    if values.dtype.kind not in "iuf":
        raise InvalidInput(f"Expected {name} to be numbers in a saved state.")
    if array.dtype.kind == "i" and values.dtype.kind == "f":
        raise InvalidInput(f"Expected {name} to be whole numbers in a saved state.")
    if values.shape != array.shape:
        raise InvalidInput(f"Expected {name} of shape {array.shape} in a saved state, not {values.shape}.")
    return values
