"""Secret rewards: numbers that know which rewards they are made of, and a noise source that keeps the account.

A Secret may be added, subtracted and scaled. Anything that would let its value out (a comparison, a float, an index, an
ordinary array) raises. Only `release` opens it, and remembers what was in it: the run ends with the exact loss of every
single reward, from the code itself and not from what its documentation says.
"""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import linprog

from dpbandits.mechanisms import CARRIED, LAPLACE, SeededNoise, release, reserve
from dpbandits.mechanisms.draws import beta, normal, uniform

Form = dict[tuple[str, int], Fraction]
ZERO = Fraction(0)


class Leak(AssertionError):
    """A secret was about to become public without noise."""


class Secret:
    """A number with its linear form over rewards and reserved noises."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, form: Mapping[tuple[str, int], Fraction]) -> None:
        self._value = value
        self._form = dict(form)

    def __add__(self, other: Any) -> "Secret":
        value, form = _parts(other)
        return Secret(self._value + value, {k: self._form.get(k, ZERO) + form.get(k, ZERO) for k in self._form | form})

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
        raise Leak("a secret was read")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _leak
    __float__ = __int__ = __index__ = __array__ = __round__ = __abs__ = __pow__ = __repr__ = _leak


def _parts(other: Any) -> tuple[float, Form]:
    return (other._value, other._form) if isinstance(other, Secret) else (float(other), {})


def secret_reward(number: int, value: float) -> Secret:
    """Return the reward with this number."""
    return Secret(value, {("reward", number): Fraction(1)})


class TaintNoise:
    """A noise source that opens secrets in `release`, adds real noise, and remembers the form of every release."""

    def __init__(self, seed: int) -> None:
        self.seeded = SeededNoise(seed)
        self.scales: list[float] = []
        self.releases: list[Form] = []

    def fresh(self, scale: float) -> Secret:
        self.scales.append(scale)
        return Secret(reserve(self.seeded, scale), {("noise", len(self.scales) - 1): Fraction(1)})

    def open(self, secret: Any) -> float:
        value, form = _parts(secret)
        self.releases.append({key: factor for key, factor in form.items() if factor})
        return value

    def losses(self) -> dict[int, float]:
        """Return, for every reward, the loss of changing it by 1: the cheapest shift of the noises that hides it."""
        drawn_alone = all(sum(kind == "noise" for kind, _ in form) == 1 for form in self.releases)
        return self._direct_losses() if drawn_alone else self._least_losses()

    def _direct_losses(self) -> dict[int, float]:
        """One noise in each release: it must make up for the change by itself."""
        losses: defaultdict[int, Fraction] = defaultdict(Fraction)
        seen = set()
        for form in self.releases:
            ((noise, factor),) = ((number, factor) for (kind, number), factor in form.items() if kind == "noise")
            assert noise not in seen, "a noise was used twice"
            seen.add(noise)
            for (kind, number), coefficient in form.items():
                if kind == "reward":
                    losses[number] += abs(coefficient / factor) / Fraction(self.scales[noise])
        return {number: float(loss) for number, loss in losses.items()}

    def _least_losses(self) -> dict[int, float]:
        """Noises in several releases: the smallest Σ |shift| / scale under which none changes, a linear program."""
        noises = len(self.scales)
        matrix = np.zeros((len(self.releases), noises))
        rewards: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for row, form in enumerate(self.releases):
            for (kind, number), factor in form.items():
                if kind == "noise":
                    matrix[row, number] = float(factor)
                else:
                    rewards[number][row] = float(factor)
        costs = np.tile(1 / np.array(self.scales), 2)
        losses = {}
        for number, rows in rewards.items():
            change = np.zeros(len(self.releases))
            change[list(rows)] = list(rows.values())
            solution = linprog(costs, A_eq=np.hstack([matrix, -matrix]), b_eq=-change, method="highs")
            if not solution.success:
                raise Leak(f"no shift of the noises hides reward {number}")
            losses[number] = float(solution["fun"])
        return losses


@release.register(TaintNoise)
def _release(noise: TaintNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    assert mechanism == LAPLACE
    return noise.open(secret if scale == CARRIED else noise.fresh(scale) + secret)


@reserve.register(TaintNoise)
def _reserve(noise: TaintNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Secret:
    assert mechanism == LAPLACE
    return noise.fresh(scale)


@uniform.register(TaintNoise)
def _uniform(noise: TaintNoise) -> float:
    return uniform(noise.seeded)


@normal.register(TaintNoise)
def _normal(noise: TaintNoise) -> float:
    return normal(noise.seeded)


@beta.register(TaintNoise)
def _beta(noise: TaintNoise, a: float, b: float) -> float:
    return beta(noise.seeded, a, b)
