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

from dpbandits.auditing.hidden import OTHERS
from dpbandits.auditing.secret import Factor, Form, Leak, Secret, Unknown, parts, size
from dpbandits.auditing.steering import Draw, Steering
from dpbandits.mechanisms import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, SeededNoise, release, reserve
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.privacy import Event, GaussianEvent, LaplaceEvent, RandomizedResponseEvent

_PATIENCE = 256  # noises in one step, after which no adversary chooses them any more
_MOST = 2**16  # and after which nobody waits for the end of the step


class TaintNoise:
    """A noise source that keeps the account of every release; `steer` chooses the noise, without it is as drawn."""

    def __init__(self, seed: int, steer: Steering | None = None) -> None:
        self.seeded = SeededNoise(seed)
        self.steer = steer
        self.scales: list[float] = []
        self.mechanisms: list[int] = []  # of every noise, like its scale
        self.releases: list[Form] = []
        self.noises: list[list[tuple[int, Factor]]] = []  # of every release, with their coefficients
        self.plays_in: Callable[[int], int] = lambda number: 1  # how many rewards a term of a form means
        self._in_step = 0  # noises that were drawn in this step

    def begin_step(self) -> None:
        """Tell that another step begins."""
        self._in_step = 0

    def fresh(self, scale: float, mechanism: int, arm: int, secret: Any = 0.0) -> Secret:
        """Return a new noise; it is for this secret."""
        form = self._drawn(scale, mechanism)
        value = reserve(self.seeded, scale, mechanism)
        if self.steer is not None and self._in_step <= _PATIENCE:
            total, terms = parts(secret)
            value = self.steer(Draw(value, scale, arm, total, lambda: self._plays(terms)))
        return Secret(value, form)

    def _plays(self, form: Form) -> float:
        return float(sum(size(factor) * self.plays_in(n) for (kind, n), factor in form.items() if kind == "reward"))

    def respond(self, secret: Any, scale: float, arm: int) -> float:
        """Release one random bit of one whole reward; nothing is known of the response of anything else."""
        value, form = parts(secret)
        kinds = [kind for (kind, _), factor in form.items() if factor == 1]
        if kinds != ["reward"] or len(form) != 1:
            raise Unknown("a response of something that is not one whole reward")
        self._note({**form, **self._drawn(scale, RESPONSE)})
        bit = release(self.seeded, value, scale, RESPONSE)
        is_steered = self.steer is not None and self._in_step <= _PATIENCE
        return float(self.steer(Draw(2 * bit - 1, 1.0, arm)) > 0) if is_steered and self.steer else bit

    def _drawn(self, scale: float, mechanism: int) -> Form:
        if not 0 < scale < math.inf:
            raise Leak(f"a noise of scale {scale} protects nobody")
        self._in_step += 1
        if self._in_step > _MOST:
            raise Unknown("a step draws noise without an end")
        self.scales.append(scale)
        self.mechanisms.append(mechanism)
        return {("noise", len(self.scales) - 1): 1}

    def open(self, secret: Any) -> float:
        """Return the value of a secret that carries its noise."""
        value, form = parts(secret)
        self._note(form)
        return value

    def _note(self, form: Form) -> None:
        self.releases.append(form)
        self.noises.append(_noises(form))

    def losses(self) -> dict[int, float]:
        """Return, for every reward, the loss of changing it by 1: the cheapest shift of the noises that hides it.

        It is infinite where no shift does.
        """
        if GAUSSIAN in self.mechanisms:
            raise Unknown("Gaussian noise has no pure loss")
        if self.has_noise_for_each():
            return {number: math.fsum(shifts) for number, shifts in self._shifts().items()}
        return self._least_losses()

    def rhos(self) -> dict[int, float]:
        """Return the zCDP of every reward: Σ (shift / σ)² / 2 over its releases, Gaussian ones with a noise each."""
        if set(self.mechanisms) != {GAUSSIAN} or not self.has_noise_for_each():
            raise Unknown("zCDP is for Gaussian releases with a noise each")
        return {number: math.fsum(shift**2 for shift in shifts) / 2 for number, shifts in self._shifts().items()}

    def events(self) -> dict[int, list[Event]]:
        """Return, for every reward, what its releases are to the accountant; each must have a noise of its own."""
        if not self.has_noise_for_each():
            raise Unknown("a noise is in several releases")
        events: defaultdict[int, list[Event]] = defaultdict(list)
        for form, ((noise, factor), *_) in zip(self.releases, self.noises, strict=True):
            scale = Fraction(self.scales[noise]) * size(factor)
            made: dict[Factor, Event] = {}  # most rewards of a release have the same coefficient
            for (kind, number), coefficient in form.items():
                if kind == "reward":
                    if coefficient not in made:
                        made[coefficient] = _event(float(scale / size(coefficient)), self.mechanisms[noise])
                    events[number].append(made[coefficient])
        return events

    def has_noise_for_each(self) -> bool:
        """Tell whether every release has one noise, that is in no other."""
        numbers = [found[0][0] for found in self.noises if len(found) == 1]
        return len(numbers) == len(self.noises) == len(set(numbers))

    def releases_once(self) -> bool:
        """Tell whether every released reward is in one release alone, as it is."""
        found = [
            (number, factor) for form in self.releases for (kind, number), factor in form.items() if kind == "reward"
        ]
        return len(found) == len({number for number, _ in found}) and all(factor == 1 for _, factor in found)

    def takes_noise_out_of(self, form: Form) -> bool:
        """Tell whether what was released is enough to take the noise out of a number, and leaves rewards in it.

        Then whoever reads the number reads rewards. By elimination, the last noise of every release first.
        """
        known: dict[int, Form] = {}
        for released in self.releases:
            rest = _reduced(released, known)
            if noises := _noises(rest):
                known[max(noises)[0]] = rest
        rest = _reduced(form, known)
        return not _noises(rest) and any(rest.values())

    def _shifts(self) -> dict[int, list[float]]:
        """Return how far the noise of each release must move to hide a reward, in its own scale, reward by reward."""
        shifts: defaultdict[int, list[float]] = defaultdict(list)
        for form, ((noise, factor), *_) in zip(self.releases, self.noises, strict=True):
            unit = 1 / (size(factor) * Fraction(self.scales[noise]))
            whole = float(unit)
            for (kind, number), coefficient in form.items():
                if kind == "reward":
                    shifts[number].append(whole if coefficient == 1 else float(size(coefficient) * unit))
        return shifts

    def _least_losses(self) -> dict[int, float]:
        """Noises in several releases: the smallest Σ |shift| / scale under which none changes, a linear program."""
        if not set(self.mechanisms) <= {LAPLACE}:
            raise Unknown("noise that is not Laplace noise is in several releases")
        rewards: defaultdict[int, list[tuple[int, Factor]]] = defaultdict(list)
        for row, form in enumerate(self.releases):
            for (kind, number), factor in form.items():
                if kind == "reward" and number != OTHERS:
                    rewards[number].append((row, factor))
        groups = _groups(self.noises)
        known: dict[tuple[tuple[int, Factor], ...], float] = {}
        for rows in rewards.values():
            if tuple(rows) not in known:
                known[tuple(rows)] = self._least_loss(dict(rows), groups)
        return {number: known[tuple(rows)] for number, rows in rewards.items()}

    def _least_loss(self, rows: dict[int, Factor], groups: list[int]) -> float:
        """Return the loss of a reward with these coefficients; only noises that its releases share, however far."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        if not all(self.noises[row] for row in rows):
            return math.inf  # it left without any noise
        own = {groups[row] for row in rows}
        concerned = [row for row, group in enumerate(groups) if group in own]
        noises = sorted({noise for row in concerned for noise, _ in self.noises[row]})
        place = {noise: column for column, noise in enumerate(noises)}
        # In units of the largest change, so that a small one is not lost in the solver's tolerance.
        sizes = {row: max(Fraction(size(factor)) for _, factor in self.noises[row]) for row in concerned}
        unit = max(abs(factor / sizes[row]) for row, factor in rows.items())
        change = [float(-rows.get(row, 0) / sizes[row] / unit) for row in concerned]
        entries = [
            (float(factor / sizes[row]), at, place[noise])
            for at, row in enumerate(concerned)
            for noise, factor in self.noises[row]
        ]
        values, ats, columns = zip(*entries, strict=True)
        matrix: Any = csr_array((values, (ats, columns)), shape=(len(concerned), len(noises)))
        costs = np.tile([1 / self.scales[noise] for noise in noises], 2)
        both: Any = hstack([matrix, -matrix])
        solution = linprog(costs, A_eq=both, b_eq=change, method="highs")
        return float(unit) * float(solution["fun"]) if solution.success else math.inf


def _event(scale: float, mechanism: int) -> Event:
    if mechanism == RESPONSE:
        return RandomizedResponseEvent(1 / scale)
    return GaussianEvent(scale) if mechanism == GAUSSIAN else LaplaceEvent(scale)


def _groups(noises: list[list[tuple[int, Factor]]]) -> list[int]:
    """Return a number for every release; those that share noises, through whichever others, have the same."""
    groups = list(range(len(noises)))

    def root(row: int) -> int:
        while groups[row] != row:
            groups[row] = groups[groups[row]]
            row = groups[row]
        return row

    first: dict[int, int] = {}
    for row, found in enumerate(noises):
        for noise, _ in found:
            groups[root(row)] = root(first.setdefault(noise, row))
    return [root(row) for row in range(len(noises))]


def _reduced(form: Form, known: dict[int, Form]) -> Form:
    """Return a form less such multiples of known ones that its last noises go, as far as they do."""
    rest = dict(form)
    while (noises := _noises(rest)) and max(noises)[0] in known:
        noise, factor = max(noises)
        other = known[noise]
        ratio = Fraction(factor) / other["noise", noise]
        rest = {key: rest.get(key, 0) - ratio * other.get(key, 0) for key in rest | other}
        rest = {key: factor for key, factor in rest.items() if factor}
    return rest


def _noises(form: Form) -> list[tuple[int, Factor]]:
    return [(number, factor) for (kind, number), factor in form.items() if kind == "noise"]


@release.register(TaintNoise)
def _release(noise: TaintNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if mechanism == RESPONSE:
        return noise.respond(secret, scale, arm)
    return noise.open(secret if scale == CARRIED else noise.fresh(scale, mechanism, arm, secret) + secret)


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
