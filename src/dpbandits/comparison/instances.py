"""Instances: bandits to compare policies on, built in or drawn at random by a seed.

    paper        the two of Tossou & Dimitrakakis 2016
    five-arms    the four of Sajed & Sheffet 2019, used again by Azize & Basu 2022 and Azize et al. 2025
    close        gaps of 0.02 and 0.05, where privacy is nearly free and time is short
    many-arms    20 and 50 arms
    random       2 to 20 arms, means uniform on [0, 1] or on [0, 0.3], epsilon log-uniform on [0.05, 2]

A case is an instance together with a privacy level. Random ones bring their own. The order in which arms are written
down does not matter: `compare` plays them in another random order in every run.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits.environments import Bernoulli
from dpbandits.errors import InvalidInput


class Case(NamedTuple):
    """Bernoulli arms, and the epsilon that a private policy gets."""

    name: str
    means: tuple[float, ...]
    epsilon: float

    @property
    def environment(self) -> Bernoulli:
        """What is played against."""
        return Bernoulli(self.means)


INSTANCES: dict[str, dict[str, tuple[float, ...]]] = {
    "paper": {
        "2 arms": (0.9, 0.6),
        "10 arms": (0.55, 0.2, *[0.1] * 8),
    },
    "five-arms": {
        "one better": (0.75, 0.7, 0.7, 0.7, 0.7),
        "even steps": (0.75, 0.625, 0.5, 0.375, 0.25),
        "best apart": (0.75, 0.53125, 0.375, 0.28125, 0.25),
        "best close": (0.75, 0.71875, 0.625, 0.46875, 0.25),
    },
    "close": {
        "gap 0.02": (0.52, 0.5),
        "gap 0.05, 3 arms": (0.55, 0.5, 0.5),
        "gap 0.02, rare": (0.05, 0.03),
    },
    "many-arms": {
        "20 arms": (0.6, *[0.5] * 19),
        "50 arms": tuple(np.linspace(0.9, 0.1, 50).round(4).tolist()),
    },
}
SETS = (*INSTANCES, "random")


def cases(sets: Iterable[str], epsilons: Sequence[float]) -> list[Case]:
    """Return the cases of the named sets: every instance at every epsilon, and random ones at their own.

    "random:N" are N instances, "random:N:S" those of seed S.

    >>> [case.name for case in cases(["paper"], [0.1, 1.0])]
    ['2 arms, ε = 0.1', '2 arms, ε = 1', '10 arms, ε = 0.1', '10 arms, ε = 1']
    """
    levels = [_validate.real("[1e-06, inf)", epsilon=epsilon) for epsilon in epsilons]
    found: list[Case] = []
    for text in sets:
        name, *numbers = text.split(":")
        if name == "random" and len(numbers) <= 2 and all(number.isdecimal() for number in numbers):
            number, seed = [*map(int, numbers), *(20, 0)[len(numbers) :]]
            found += random_cases(number, seed=seed)
        elif name in INSTANCES and not numbers:
            found += [
                Case(f"{instance}, ε = {epsilon:.12g}", means, epsilon)
                for instance, means in INSTANCES[name].items()
                for epsilon in levels
            ]
        else:
            known = f"{', '.join(INSTANCES)}, random:NUMBER or random:NUMBER:SEED"
            raise InvalidInput(f"Expected instances={text!r} to be one of {known}.")
    if not found:
        raise InvalidInput(f"Expected at least one instance, of {', '.join(SETS)}.")
    return list(dict.fromkeys(found))  # none twice, however often it was named


def random_cases(number: int, *, seed: int = 0, arms: Sequence[int] = range(2, 21)) -> list[Case]:
    """Return so many random cases, each with one of these numbers of arms, all equally likely.

    The first ones of a seed are the same whatever the number.
    """
    number = _validate.integer("[1, 1000000]", number=number)
    generator = np.random.default_rng([_validate.integer("[0, inf)", seed=seed), 2016])
    drawn = []
    for i in range(number):
        size = int(generator.choice(np.array(arms)))
        epsilon = float(np.exp(generator.uniform(np.log(0.05), np.log(2.0))))
        means = generator.uniform(0.0, generator.choice([0.3, 1.0]), size)
        drawn.append(Case(f"random {seed}.{i + 1}: {size} arms, ε = {epsilon:.3g}", tuple(means.tolist()), epsilon))
    return drawn
