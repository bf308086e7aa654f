"""Secret: a number that knows which rewards it is made of, and refuses to be read.

A Secret may be added, subtracted and scaled. Anything that would let its value out (a comparison, a float, an index, an
ordinary array) raises. Only a noise source opens it, in `release`.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

Form = dict[tuple[str, int], Fraction]  # a coefficient for ("reward", number) and ("noise", number)
ZERO = Fraction(0)


class Leak(BaseException):
    """A secret was about to become public without noise. No `except Exception` of a policy catches it."""


class Secret:
    """A number with its linear form over rewards and reserved noises."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, form: Mapping[tuple[str, int], Fraction]) -> None:
        self._value = value
        self._form = dict(form)

    def __add__(self, other: Any) -> "Secret":
        value, form = parts(other)
        longer, shorter = (self._form, form) if len(self._form) >= len(form) else (form, self._form)
        return Secret(self._value + value, longer | {k: longer.get(k, ZERO) + c for k, c in shorter.items()})

    __radd__ = __add__

    def __neg__(self) -> "Secret":
        return self * -1

    def __sub__(self, other: Any) -> "Secret":
        return self + -(other if isinstance(other, Secret) else Secret(other, {}))

    def __rsub__(self, other: Any) -> "Secret":
        difference: Secret = -self + other
        return difference

    def __mul__(self, factor: Any) -> "Secret":
        if isinstance(factor, Secret):
            raise Leak("a secret was multiplied by a secret: its loss cannot be told")
        exact = Fraction(float(factor))
        return Secret(self._value * float(factor), {k: c * exact for k, c in self._form.items() if c and exact})

    def __rmul__(self, factor: Any) -> "Secret":
        product: Secret = self * factor
        return product

    def __truediv__(self, factor: Any) -> "Secret":
        return self * (1 / float(factor))

    def _leak(self, *others: Any) -> NoReturn:
        raise Leak("a secret was read without noise")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _leak
    __float__ = __int__ = __index__ = __complex__ = __array__ = __round__ = __trunc__ = __floor__ = __ceil__ = _leak
    __abs__ = __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = _leak
    __rtruediv__ = __repr__ = __str__ = __format__ = __iter__ = _leak


def parts(number: Any) -> tuple[float, Form]:
    """Open a secret: its value and its form. For noise sources alone."""
    return (number._value, number._form) if isinstance(number, Secret) else (float(number), {})


def secret_reward(number: int, value: float) -> Secret:
    """Return the reward with this number."""
    return Secret(value, {("reward", number): Fraction(1)})
