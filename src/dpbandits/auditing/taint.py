"""TaintNoise: opens secrets in `release`, and remembers what was in them: the run's exact account.

A run ends with the exact loss of every single reward, from the code itself and not from what its documentation says. A
randomised response counts as a release with one noise, of scale 1/epsilon: its loss is the same.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpbandits.auditing.hidden_rewards import OTHERS
from dpbandits.auditing.shifts import groups_of, least_losses
from dpbandits.auditing.steering import Draw, Steering
from dpbandits.mechanisms import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, SeededNoise, release, reserve
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.linear import Factor, Form, Leak, Secret, Unknown, size, value_and_form
from dpbandits.privacy import Event, GaussianEvent, LaplaceEvent, RandomizedResponseEvent

_PATIENCE = 256  # noises in one step, after which no adversary chooses them any more
_WIDEST = Fraction(10) ** 100  # scale of noise: a reward that was forgotten, as good as
_MOST = 2**16  # and after which nobody waits for the end of the step


class TaintNoise:
    """A noise source that keeps the account of every release; `steer` chooses the noise, without it is as drawn."""

    def __init__(self, seed: int, steer: Steering | None = None) -> None:
        self.seeded = SeededNoise(seed)
        self.steer = steer
        self.scales: list[float] = []
        self.mechanisms: list[int] = []  # of every noise, like its scale
        self.values: list[float] = []  # too; of a response, its answer less the reward
        self.totals: list[float] = []  # and the sum that it was drawn for, 0 if it was reserved
        self.releases: list[Form] = []
        self.noises: list[list[tuple[int, Factor]]] = []  # of every release, with their coefficients
        self.rewards: list[list[tuple[int, Factor]]] = []  # like them, those that are followed
        self.steps: list[int] = []  # in which step each release was
        self.draws = 0  # random numbers for exploration
        self._step = 0
        self.plays_in: Callable[[int], int] = lambda number: 1  # how many rewards a term of a form means
        self._in_step = 0  # noises that were drawn in this step

    def begin_step(self) -> None:
        """Count another step, with no noise drawn in it yet."""
        self._in_step = 0
        self._step += 1

    def fresh(self, scale: float, mechanism: int, arm: int, secret: Any = 0.0) -> Secret:
        """Return a new noise; it is for this secret."""
        form = self._noise_form(scale, mechanism)
        value = reserve(self.seeded, scale, mechanism)
        total, terms = value_and_form(secret)
        if self.steer is not None and self._in_step <= _PATIENCE:
            value = self.steer(Draw(value, scale, arm, total, lambda: self._plays(terms), len(self.values)))
        self.values.append(value)
        self.totals.append(total)
        return Secret(value, form)

    def _plays(self, form: Form) -> float:
        return float(sum(size(factor) * self.plays_in(n) for (kind, n), factor in form.items() if kind == "reward"))

    def respond(self, secret: Any, scale: float, arm: int) -> float:
        """Release one random bit of one whole reward; nothing is known about the response of anything else."""
        value, form = value_and_form(secret)
        rewards = [factor for (kind, _), factor in form.items() if kind == "reward"]
        if rewards != [1] or _noises(form) or self._plays(form) != 1:
            raise Unknown("a response of something that is not one whole reward")
        self._note({**form, **self._noise_form(scale, RESPONSE)})
        bit = release(self.seeded, value, scale, RESPONSE)
        if self.steer is not None and self._in_step <= _PATIENCE:
            bit = float(self.steer(Draw(2 * bit - 1, 1.0, arm, value, number=len(self.values))) > 0)
        self.values.append(bit - value)
        self.totals.append(value)
        return bit

    def _noise_form(self, scale: float, mechanism: int) -> Form:
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
        value, form = value_and_form(secret)
        self._note(form)
        return value

    def _note(self, form: Form) -> None:
        self.releases.append(form)
        self.noises.append(_noises(form))
        self.rewards.append([(n, factor) for (kind, n), factor in form.items() if kind == "reward" and n != OTHERS])
        self.steps.append(self._step)

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
        for rewards, ((noise, factor), *_) in zip(self.rewards, self.noises, strict=True):
            scale = Fraction(self.scales[noise]) * size(factor)
            events_by_coefficient: dict[Factor, Event] = {}  # most rewards of a release have the same coefficient
            for number, coefficient in rewards:
                if coefficient not in events_by_coefficient:
                    events_by_coefficient[coefficient] = event_of(
                        _scale(scale / size(coefficient)), self.mechanisms[noise]
                    )
                events[number].append(events_by_coefficient[coefficient])
        return events

    def beginnings(self, until: int) -> dict[int, tuple[tuple[float, int], ...]]:
        """Return, for every reward up to this, its first releases: how much noise and of which kind.

        They end with the first in which its noise is not alone, or is in another release as well.
        """
        beginnings: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        uses = Counter(noise for noises in self.noises for noise, _ in noises)
        over: set[int] = set()
        for rewards, noises in zip(self.rewards, self.noises, strict=True):
            concerned = [(number, factor) for number, factor in rewards if number <= until and number not in over]
            if len(noises) != 1 or uses[noises[0][0]] != 1:
                over |= {number for number, _ in concerned}
                continue
            ((noise, factor),) = noises
            scale = Fraction(self.scales[noise]) * size(factor)
            noise_by_coefficient: dict[Factor, tuple[float, int]] = {}
            for number, coefficient in concerned:
                if coefficient not in noise_by_coefficient:
                    noise_by_coefficient[coefficient] = (_scale(scale / size(coefficient)), self.mechanisms[noise])
                beginnings[number].append(noise_by_coefficient[coefficient])
        return {number: tuple(events) for number, events in beginnings.items()}

    def has_noise_for_each(self) -> bool:
        """Tell whether every release has one noise, that is in no other."""
        numbers = [noises[0][0] for noises in self.noises if len(noises) == 1]
        return len(numbers) == len(self.noises) == len(set(numbers))

    def releases_once(self) -> bool:
        """Tell whether every released reward is in one release alone, as it is."""
        coefficients = [(number, factor) for rewards in self.rewards for number, factor in rewards]
        return len(coefficients) == len({number for number, _ in coefficients}) and all(
            factor == 1 for _, factor in coefficients
        )

    def takes_noise_out_of(self, form: Form) -> bool:
        """Tell whether what was released is enough to take the noise out of a number, and leaves rewards in it.

        Then reading the number means reading rewards. By elimination, the last noise of every release first.
        """
        pivots: dict[int, Form] = {}
        for released in self.releases:
            rest = _reduced(released, pivots)
            if noises := _noises(rest):
                pivots[max(noises)[0]] = rest
        rest = _reduced(form, pivots)
        return not _noises(rest) and any(rest.values())

    def _shifts(self) -> dict[int, list[float]]:
        """Return how far the noise of each release must move to hide a reward, in its own scale, reward by reward."""
        shifts: defaultdict[int, list[float]] = defaultdict(list)
        for rewards, ((noise, factor), *_) in zip(self.rewards, self.noises, strict=True):
            unit = 1 / (size(factor) * Fraction(self.scales[noise]))
            whole = float(unit)
            for number, coefficient in rewards:
                shifts[number].append(whole if coefficient == 1 else float(size(coefficient) * unit))
        return shifts

    def _least_losses(self) -> dict[int, float]:
        """Noises in several releases: the smallest Σ |shift| / scale under which none changes (shifts.py)."""
        if not set(self.mechanisms) <= {LAPLACE}:
            raise Unknown("noise that is not Laplace noise is in several releases")
        losses: defaultdict[int, list[float]] = defaultdict(list)
        for rows in groups_of(self.noises):  # noises of different groups move by themselves
            columns: defaultdict[int, list[tuple[int, Factor]]] = defaultdict(list)
            for row in rows:
                for number, factor in self.rewards[row]:
                    columns[number].append((row, factor))
            changes = list({tuple(column): None for column in columns.values()})
            losses_of_changes = least_losses([(row, self.noises[row]) for row in rows], self.scales, changes)
            loss_of_change = dict(zip(changes, losses_of_changes, strict=True))
            for number, column in columns.items():
                losses[number].append(loss_of_change[tuple(column)])
        return {number: math.fsum(each) for number, each in losses.items()}


def _scale(exact: Fraction) -> float:
    """Return the scale of noise, for a whole reward; more noise than can be written down counts as a little less."""
    return float(min(exact, _WIDEST))


def event_of(scale: float, mechanism: int) -> Event:
    """Return a release of a reward with noise of this scale, as the accountant knows it."""
    if mechanism == RESPONSE:
        return RandomizedResponseEvent(1 / scale)
    return GaussianEvent(scale) if mechanism == GAUSSIAN else LaplaceEvent(scale)


def _reduced(form: Form, pivots: dict[int, Form]) -> Form:
    """Return a form less such multiples of known ones that its last noises go, as far as they do."""
    rest = dict(form)
    while (noises := _noises(rest)) and max(noises)[0] in pivots:
        noise, factor = max(noises)
        other = pivots[noise]
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
    noise.draws += 1
    return uniform(noise.seeded)


@normal.register(TaintNoise)
def _normal(noise: TaintNoise) -> float:
    noise.draws += 1
    return normal(noise.seeded)


@beta.register(TaintNoise)
def _beta(noise: TaintNoise, a: float, b: float) -> float:
    noise.draws += 1
    return beta(noise.seeded, a, b)
