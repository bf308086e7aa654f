"""The paper's experiments as data: two scenarios, two privacy levels, five algorithms, in two forms each.

*As published* is what the paper describes, with the privacy it claims. *As proved* is the same algorithm with the
claimed privacy proved: split counters, the error bound of their noise, each release drawn once and accounted tightly.
"""

import math
from dataclasses import dataclass
from functools import cache

from dpbandits.environments import Bernoulli
from dpbandits.policies import DPUCB, UCB, Bonus, DPUCBBound, DPUCBInt, Policy, PrivateUCB, Series, Variant
from dpbandits.privacy import Budget, Guarantee

HORIZON = 100_000
RUNS = 100
V = 1.1
DELTA = math.exp(-10)
EPSILONS = (1.0, 0.1)
FORMS = ("published", "proved")


def privacy_text(level: Budget | Guarantee) -> str:
    """Return a privacy level in few letters, with the paper's delta as it is written there.

    >>> privacy_text(Budget(2.0)), privacy_text(Budget(0.4467, DELTA)), privacy_text(Budget(1.0, 1e-6))
    ('2', '(0.447, e⁻¹⁰)', '(1, 1e-06)')
    """
    if level.delta == 0:
        return f"{level.epsilon:.3g}"
    return f"({level.epsilon:.3g}, {'e⁻¹⁰' if level.delta == DELTA else f'{level.delta:.2g}'})"


@dataclass(frozen=True)
class Scenario:
    """Bernoulli arms with these means."""

    name: str
    means: tuple[float, ...]

    @property
    def environment(self) -> Bernoulli:
        """Where the rewards come from."""
        return Bernoulli(self.means)

    @property
    def gaps(self) -> list[float]:
        """How much less than the best arm each arm gives."""
        return [max(self.means) - mean for mean in self.means]


TWO_ARMS = Scenario("2 arms", (0.9, 0.6))
TEN_ARMS = Scenario("10 arms", (*[0.1] * 8, 0.2, 0.55))
SCENARIOS = (TWO_ARMS, TEN_ARMS)


@dataclass(frozen=True)
class Line:
    """One curve of a panel."""

    algorithm: str  # as the paper calls it
    policy: Policy

    def guarantee(self, horizon: int) -> Guarantee | None:
        """What is proved for it up to the horizon; None for UCB."""
        return _guarantee(self.policy, horizon)

    def input_privacy(self) -> Budget | None:
        """The privacy that the algorithm was asked for; None for UCB."""
        epsilon, delta = getattr(self.policy, "epsilon", None), getattr(self.policy, "delta", 0.0)
        return None if epsilon is None else Budget(epsilon, delta)

    def opening(self, arms: int) -> int:
        """How many steps its initial phase has, in which arms take turns whatever happens."""
        return arms * (first_interval(self.policy) if isinstance(self.policy, DPUCBInt) else 1)


@cache
def _guarantee(policy: Policy, horizon: int) -> Guarantee | None:
    return policy.guarantee(horizon)


def published_interval(epsilon: float, series: Series = "y", bonus: Bonus = "frozen") -> DPUCBInt:
    """Return DP-UCB-Int as the experiments use it, with noise that is drawn once."""
    return DPUCBInt(epsilon=epsilon, delta=DELTA, v=V, series=series, bonus=bonus, accounting="corollary")


@cache
def first_interval(policy: DPUCBInt) -> int:
    """Return f_0 = W_1: how often an arm is played before its first release."""
    return next(policy.blocks(10**6)).last


@dataclass(frozen=True)
class Panel:
    """One of the four plots."""

    scenario: Scenario
    epsilon: float

    @property
    def name(self) -> str:
        """Such as "2 arms, ε = 0.1"."""
        return f"{self.scenario.name}, ε = {self.epsilon:g}"

    @property
    def slug(self) -> str:
        """Such as "2-arms-epsilon-0.1", for file names."""
        return f"{self.scenario.name.replace(' ', '-')}-epsilon-{self.epsilon:g}"

    def lines(self, form: str) -> tuple[Line, ...]:
        """Return its curves, as published or as proved."""
        variant: Variant = "published" if form == "published" else "proved"
        interval = (
            published_interval(self.epsilon)
            if form == "published"
            else DPUCBInt(epsilon=self.epsilon, delta=DELTA, v=V)
        )
        return (
            Line("UCB", UCB()),
            Line("Private-UCB", PrivateUCB(epsilon=self.epsilon)),
            Line("DP-UCB", DPUCB(epsilon=self.epsilon, variant=variant)),
            Line("DP-UCB-Bound", DPUCBBound(epsilon=self.epsilon, variant=variant)),
            Line("DP-UCB-Int", interval),
        )

    def published(self, algorithm: str) -> Policy:
        """Return one algorithm as published."""
        (policy,) = (line.policy for line in self.lines("published") if line.algorithm == algorithm)
        return policy


PANELS = tuple(Panel(scenario, epsilon) for scenario in SCENARIOS for epsilon in EPSILONS)
