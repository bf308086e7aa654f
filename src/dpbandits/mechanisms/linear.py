"""Secret: a number that knows which rewards it is made of, and refuses to be read.

A Secret may be added, subtracted and scaled. Anything that would let its value out (a comparison, a float, an index, an
ordinary array) raises: a Reading if it is made of rewards alone. If it carries noise as well, reading it may be private
(AboveThreshold, the largest of noisy sums), and how private is more than linear forms can tell: Unknown. Where nothing
is left in its form, as in a number less itself, it is a constant, and may be read. Only a noise source opens others, in
`release`.
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

Factor = int | Fraction  # exact, and whole numbers are quicker
_LONGEST = 4096  # bits of a denominator; they grow by some 50 with every factor that is no power of two
Form = dict[tuple[str, int], Factor]  # a coefficient, not 0, for ("reward", number), ("noise", number) and the like


class Leak(BaseException):
    """A secret was about to become public without noise. No `except Exception` of a policy catches it."""


class Reading(Leak):
    """A secret was read. Whether that becomes public is another question."""


class Unknown(BaseException):
    """Something whose loss this account cannot tell, such as reading the number with this form. Nor is this caught."""

    def __init__(self, what: str, form: Form | None = None) -> None:
        super().__init__(what)
        self.form: Form = {} if form is None else form


def _reading(operation: Callable[..., Any]) -> Any:
    def read(*numbers: Any) -> Any:
        return operation(*(number._open() if isinstance(number, Secret) else number for number in numbers))

    return read


def _comparing(operation: Callable[[float, float], bool]) -> Any:
    """Compare by the difference, in which what is on both sides cancels."""

    def compare(number: "Secret", other: Any) -> bool:
        if isinstance(other, Secret):
            return operation((number - other)._open(), 0.0)
        return operation(number._open(), other)

    return compare


class Secret:
    """A number with its linear form over rewards and reserved noises."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, form: Form) -> None:
        self._value = value
        self._form = form

    def __add__(self, other: Any) -> "Secret":
        value, form = value_and_form(other)
        longer, shorter = (self._form, form) if len(self._form) >= len(form) else (form, self._form)
        total = dict(longer)
        for key, factor in shorter.items():
            both = total.get(key, 0) + factor
            if both:
                total[key] = both
            else:
                del total[key]
        return Secret(self._value + value, total)

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
            raise Unknown("a secret was multiplied by a secret")
        exact = exact_factor(float(factor))
        form = {k: c * exact for k, c in self._form.items()} if exact else {}
        if any(c.denominator.bit_length() > _LONGEST for c in form.values()):
            raise Unknown("a reward was scaled so often that its coefficient is too long to be kept exactly")
        return Secret(self._value * float(factor), form)

    def __rmul__(self, factor: Any) -> "Secret":
        product: Secret = self * factor
        return product

    def __truediv__(self, factor: Any) -> "Secret":
        return self * (1 / float(factor))

    def _open(self) -> float:
        """Return the value, if nothing secret is in it: a constant, or a number less itself."""
        kinds = {kind for kind, _ in self._form}
        if "noise" in kinds:
            raise Unknown("a number that carries noise was read before its release", self._form)
        if kinds:
            raise Reading("a secret was read without noise")
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._open(), dtype)

    __eq__ = _comparing(operator.eq)
    __ne__ = _comparing(operator.ne)
    __lt__, __le__ = _comparing(operator.lt), _comparing(operator.le)
    __gt__, __ge__ = _comparing(operator.gt), _comparing(operator.ge)
    __bool__, __float__, __int__, __complex__ = _reading(bool), _reading(float), _reading(int), _reading(complex)
    __index__, __round__, __abs__ = _reading(operator.index), _reading(round), _reading(abs)
    __trunc__, __floor__, __ceil__ = _reading(math.trunc), _reading(math.floor), _reading(math.ceil)
    __pow__, __mod__, __floordiv__ = _reading(operator.pow), _reading(operator.mod), _reading(operator.floordiv)
    __rpow__ = _reading(lambda number, other: other**number)
    __rmod__ = _reading(lambda number, other: other % number)
    __rfloordiv__ = _reading(lambda number, other: other // number)
    __rtruediv__ = _reading(lambda number, other: other / number)
    __divmod__, __iter__ = _reading(divmod), _reading(iter)
    __repr__, __str__, __format__ = _reading(repr), _reading(str), _reading(format)


def exact_factor(factor: float) -> Factor:
    """Return a factor as it is, without rounding."""
    return int(factor) if factor.is_integer() else Fraction(factor)


def size(factor: Factor) -> Factor:
    """Return a factor without its sign."""
    return factor if factor > 0 else -factor


def value_and_form(number: Any) -> tuple[float, Form]:
    """Open a secret: its value and its form. For noise sources alone."""
    return (number._value, number._form) if isinstance(number, Secret) else (float(number), {})


def secret_reward(number: int, value: float) -> Secret:
    """Return the reward with this number."""
    return Secret(value, {("reward", number): 1})
