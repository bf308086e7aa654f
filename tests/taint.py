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

from dpbandits.mechanisms import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, SeededNoise, release, reserve
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
        raise Leak("a secret was read")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _leak
    __float__ = __int__ = __index__ = __array__ = __round__ = __abs__ = __pow__ = __repr__ = _leak


def _parts(other: Any) -> tuple[float, Form]:
    return (other._value, other._form) if isinstance(other, Secret) else (float(other), {})


def secret_reward(number: int, value: float) -> Secret:
    """Return the reward with this number."""
    return Secret(value, {("reward", number): Fraction(1)})


class TaintNoise:
    """A noise source that opens secrets in `release`, adds real noise, and remembers the form of every release.

    A randomised response counts as a release with one noise, of scale 1/epsilon: its loss is the same. A silent source
    keeps the same account and adds 0, so that equal arms stay equal.
    """

    def __init__(self, seed: int, *, silent: bool = False) -> None:
        self.seeded = SeededNoise(seed)
        self.silent = silent
        self.scales: list[float] = []
        self.mechanisms: list[int] = []  # of every noise, like its scale
        self.releases: list[Form] = []

    def fresh(self, scale: float, mechanism: int = LAPLACE) -> Secret:
        value = 0.0 if self.silent else reserve(self.seeded, scale, mechanism)
        return Secret(value, self._drawn(scale, mechanism))

    def respond(self, secret: Any, scale: float) -> float:
        """Release one random bit of one whole reward; nothing is known of the response of anything else."""
        value, form = _parts(secret)
        kinds = [kind for (kind, _), factor in form.items() if factor == 1]
        if kinds != ["reward"] or len(form) != 1:
            raise Leak("a response of something that is not one whole reward: its loss cannot be told")
        self.releases.append({**form, **self._drawn(scale, RESPONSE)})
        return release(self.seeded, value, scale, RESPONSE)

    def _drawn(self, scale: float, mechanism: int) -> Form:
        self.scales.append(scale)
        self.mechanisms.append(mechanism)
        return {("noise", len(self.scales) - 1): Fraction(1)}

    def open(self, secret: Any) -> float:
        value, form = _parts(secret)
        self.releases.append({key: factor for key, factor in form.items() if factor})
        return value

    def losses(self) -> dict[int, float]:
        """Return, for every reward, the loss of changing it by 1: the cheapest shift of the noises that hides it."""
        if GAUSSIAN in self.mechanisms:
            raise Leak("Gaussian noise has no pure loss")
        drawn_alone = all(sum(kind == "noise" for kind, _ in form) == 1 for form in self.releases)
        return self._direct_losses() if drawn_alone else self._least_losses()

    def rhos(self) -> dict[int, float]:
        """Return the zCDP of every reward: Σ (shift / σ)² / 2 over its releases, Gaussian ones with a noise each."""
        assert set(self.mechanisms) == {GAUSSIAN}
        return {number: float(sum(shift**2 for shift in shifts)) / 2 for number, shifts in self._shifts().items()}

    def _direct_losses(self) -> dict[int, float]:
        """One noise in each release: it must make up for the change by itself."""
        return {number: float(sum(shifts)) for number, shifts in self._shifts().items()}

    def _shifts(self) -> dict[int, list[Fraction]]:
        """Return how far the noise of each release must move to hide a reward, in its own scale, reward by reward."""
        shifts: defaultdict[int, list[Fraction]] = defaultdict(list)
        seen = set()
        for form in self.releases:
            ((noise, factor),) = ((number, factor) for (kind, number), factor in form.items() if kind == "noise")
            assert noise not in seen, "a noise was used twice"
            seen.add(noise)
            for (kind, number), coefficient in form.items():
                if kind == "reward":
                    shifts[number].append(abs(coefficient / factor) / Fraction(self.scales[noise]))
        return shifts

    def releases_once(self) -> bool:
        """Tell whether every released reward is in one release alone, as it is."""
        found = [
            (number, factor) for form in self.releases for (kind, number), factor in form.items() if kind == "reward"
        ]
        return len(found) == len({number for number, _ in found}) and all(factor == 1 for _, factor in found)

    def _least_losses(self) -> dict[int, float]:
        """Noises in several releases: the smallest Σ |shift| / scale under which none changes, a linear program."""
        assert set(self.mechanisms) == {LAPLACE}
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
    if mechanism == RESPONSE:
        return noise.respond(secret, scale)
    return noise.open(secret if scale == CARRIED else noise.fresh(scale, mechanism) + secret)


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
