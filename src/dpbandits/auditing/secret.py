"""Secret: a number that knows which rewards it is made of, and refuses to be read.

A Secret may be added, subtracted and scaled. Anything that would let its value out (a comparison, a float, an index, an
ordinary array) raises: a Leak if it is made of rewards alone. If it carries noise as well, reading it may be private
(AboveThreshold, the largest of noisy sums), and how private is more than linear forms can tell: Unknown. Only a noise
source opens it, in `release`.
"""

from fractions import Fraction
from typing import Any, NoReturn

Factor = int | Fraction  # exact, and whole numbers are quicker
Form = dict[tuple[str, int], Factor]  # a coefficient, not 0, for ("reward", number) and ("noise", number)


class Leak(BaseException):
    """A secret was about to become public without noise. No `except Exception` of a policy catches it."""


class Unknown(BaseException):
    """Something whose loss this account cannot tell, such as reading the number with this form. Nor is this caught."""

    def __init__(self, what: str, form: Form | None = None) -> None:
        super().__init__(what)
        self.form: Form = {} if form is None else form


class Secret:
    """A number with its linear form over rewards and reserved noises."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, form: Form) -> None:
        self._value = value
        self._form = form

    def __add__(self, other: Any) -> "Secret":
        value, form = parts(other)
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
        return Secret(self._value * float(factor), {k: c * exact for k, c in self._form.items()} if exact else {})

    def __rmul__(self, factor: Any) -> "Secret":
        product: Secret = self * factor
        return product

    def __truediv__(self, factor: Any) -> "Secret":
        return self * (1 / float(factor))

    def _read(self, *others: Any) -> NoReturn:
        if any(kind == "noise" for kind, _ in self._form):
            raise Unknown("a number that carries noise was read before its release", self._form)
        raise Leak("a secret was read without noise")

    def _compare(self, other: Any) -> NoReturn:
        (self - other if isinstance(other, Secret) else self)._read()

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compare
    __bool__ = __float__ = __int__ = __index__ = __complex__ = __array__ = __round__ = __trunc__ = _read
    __floor__ = __ceil__ = __abs__ = __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _read
    __divmod__ = __rtruediv__ = __repr__ = __str__ = __format__ = __iter__ = _read


def exact_factor(factor: float) -> Factor:
    """Return a factor as it is, without rounding."""
    return int(factor) if factor.is_integer() else Fraction(factor)


def size(factor: Factor) -> Factor:
    """Return a factor without its sign."""
    return factor if factor > 0 else -factor


def parts(number: Any) -> tuple[float, Form]:
    """Open a secret: its value and its form. For noise sources alone."""
    return (number._value, number._form) if isinstance(number, Secret) else (float(number), {})


def secret_reward(number: int, value: float) -> Secret:
    """Return the reward with this number."""
    return Secret(value, {("reward", number): 1})
