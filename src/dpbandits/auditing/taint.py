"""TaintNoise: opens secrets in `release`, and remembers what was in them: the run's exact account.

A run ends with the exact loss of every single reward, from the code itself and not from what its documentation says. A
randomised response counts as a release with one noise, of scale 1/epsilon: its loss is the same.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpbandits.auditing.secret import Form, Leak, Secret, parts
from dpbandits.errors import DPBanditsError
from dpbandits.mechanisms import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, SeededNoise, release, reserve
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.privacy import Event, GaussianEvent, LaplaceEvent, RandomizedResponseEvent

# What becomes of a noise, from what was drawn, its scale and its arm. Any value has positive density, so a run with
# noise of somebody's choice is a run that can happen.
Steering = Callable[[float, float, int], float]


class Unknown(DPBanditsError):
    """A loss that this account cannot tell."""


class TaintNoise:
    """A noise source that keeps the account of every release; `steer` chooses the noise, without it is as drawn."""

    def __init__(self, seed: int, steer: Steering | None = None) -> None:
        self.seeded = SeededNoise(seed)
        self.steer = steer
        self.scales: list[float] = []
        self.mechanisms: list[int] = []  # of every noise, like its scale
        self.releases: list[Form] = []

    def fresh(self, scale: float, mechanism: int, arm: int) -> Secret:
        """Return a new noise."""
        form = self._drawn(scale, mechanism)
        value = reserve(self.seeded, scale, mechanism)
        return Secret(value if self.steer is None else self.steer(value, scale, arm), form)

    def respond(self, secret: Any, scale: float, arm: int) -> float:
        """Release one random bit of one whole reward; nothing is known of the response of anything else."""
        value, form = parts(secret)
        kinds = [kind for (kind, _), factor in form.items() if factor == 1]
        if kinds != ["reward"] or len(form) != 1:
            raise Unknown("a response of something that is not one whole reward")
        self.releases.append({**form, **self._drawn(scale, RESPONSE)})
        bit = release(self.seeded, value, scale, RESPONSE)
        return bit if self.steer is None else float(self.steer(2 * bit - 1, 1.0, arm) > 0)

    def _drawn(self, scale: float, mechanism: int) -> Form:
        if not 0 < scale < math.inf:
            raise Leak(f"a noise of scale {scale} protects nobody")
        self.scales.append(scale)
        self.mechanisms.append(mechanism)
        return {("noise", len(self.scales) - 1): Fraction(1)}

    def open(self, secret: Any) -> float:
        """Return the value of a secret that carries its noise."""
        value, form = parts(secret)
        self.releases.append({key: factor for key, factor in form.items() if factor})
        return value

    def losses(self) -> dict[int, float]:
        """Return, for every reward, the loss of changing it by 1: the cheapest shift of the noises that hides it.

        It is infinite where no shift does.
        """
        if GAUSSIAN in self.mechanisms:
            raise Unknown("Gaussian noise has no pure loss")
        if self.has_noise_for_each():
            return {number: float(sum(shifts)) for number, shifts in self._shifts().items()}
        return self._least_losses()

    def rhos(self) -> dict[int, float]:
        """Return the zCDP of every reward: Σ (shift / σ)² / 2 over its releases, Gaussian ones with a noise each."""
        if set(self.mechanisms) != {GAUSSIAN} or not self.has_noise_for_each():
            raise Unknown("zCDP is for Gaussian releases with a noise each")
        return {number: float(sum(shift**2 for shift in shifts)) / 2 for number, shifts in self._shifts().items()}

    def events(self) -> dict[int, list[Event]]:
        """Return, for every reward, what its releases are to the accountant; each must have a noise of its own."""
        if not self.has_noise_for_each():
            raise Unknown("a noise is in several releases")
        events: defaultdict[int, list[Event]] = defaultdict(list)
        for form in self.releases:
            noise, factor = _noises(form)[0]
            scale = Fraction(self.scales[noise]) * abs(factor)
            for (kind, number), coefficient in form.items():
                if kind == "reward":
                    size = float(scale / abs(coefficient))
                    mechanism = self.mechanisms[noise]
                    if mechanism == RESPONSE:
                        events[number].append(RandomizedResponseEvent(1 / size))
                    else:
                        events[number].append(GaussianEvent(size) if mechanism == GAUSSIAN else LaplaceEvent(size))
        return events

    def has_noise_for_each(self) -> bool:
        """Tell whether every release has one noise, that is in no other."""
        noises = [_noises(form) for form in self.releases]
        return all(len(found) == 1 for found in noises) and len({found[0][0] for found in noises}) == len(noises)

    def releases_once(self) -> bool:
        """Tell whether every released reward is in one release alone, as it is."""
        found = [
            (number, factor) for form in self.releases for (kind, number), factor in form.items() if kind == "reward"
        ]
        return len(found) == len({number for number, _ in found}) and all(factor == 1 for _, factor in found)

    def _shifts(self) -> dict[int, list[Fraction]]:
        """Return how far the noise of each release must move to hide a reward, in its own scale, reward by reward."""
        shifts: defaultdict[int, list[Fraction]] = defaultdict(list)
        for form in self.releases:
            noise, factor = _noises(form)[0]
            for (kind, number), coefficient in form.items():
                if kind == "reward":
                    shifts[number].append(abs(coefficient / factor) / Fraction(self.scales[noise]))
        return shifts

    def _least_losses(self) -> dict[int, float]:
        """Noises in several releases: the smallest Σ |shift| / scale under which none changes, a linear program."""
        from scipy.optimize import linprog

        if not set(self.mechanisms) <= {LAPLACE}:
            raise Unknown("noise that is not Laplace noise is in several releases")
        matrix = np.zeros((len(self.releases), len(self.scales)))
        rewards: defaultdict[int, dict[int, Fraction]] = defaultdict(dict)
        bare = set()  # rewards that left without any noise
        for row, form in enumerate(self.releases):
            noises = _noises(form)
            largest = max((abs(factor) for _, factor in noises), default=Fraction(1))
            for noise, factor in noises:
                matrix[row, noise] = float(factor / largest)
            for (kind, number), factor in form.items():
                if kind == "reward":
                    rewards[number][row] = factor / largest
                    if not noises:
                        bare.add(number)
        costs = np.tile(1 / np.array(self.scales), 2)
        losses = {}
        for number, rows in rewards.items():
            # In units of the largest change, so that a small one is not lost in the solver's tolerance.
            unit = max(map(abs, rows.values()))
            change = np.zeros(len(self.releases))
            change[list(rows)] = [float(factor / unit) for factor in rows.values()]
            losses[number] = math.inf
            if number not in bare:
                solution = linprog(costs, A_eq=np.hstack([matrix, -matrix]), b_eq=-change, method="highs")
                losses[number] = float(unit) * float(solution["fun"]) if solution.success else math.inf
        return losses


def _noises(form: Form) -> list[tuple[int, Fraction]]:
    return [(number, factor) for (kind, number), factor in form.items() if kind == "noise"]


@release.register(TaintNoise)
def _release(noise: TaintNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if mechanism == RESPONSE:
        return noise.respond(secret, scale, arm)
    return noise.open(secret if scale == CARRIED else noise.fresh(scale, mechanism, arm) + secret)


@reserve.register(TaintNoise)
def _reserve(noise: TaintNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Secret:
    return noise.fresh(scale, mechanism, arm)


@uniform.register(TaintNoise)
def _uniform(noise: TaintNoise) -> float:
    return uniform(noise.seeded)


@normal.register(TaintNoise)
def _normal(noise: TaintNoise) -> float:
    return normal(noise.seeded)


@beta.register(TaintNoise)
def _beta(noise: TaintNoise, a: float, b: float) -> float:
    return beta(noise.seeded, a, b)
