"""Instances: bandits to compare policies on, built in or drawn at random by a seed.

    paper        the two of Tossou & Dimitrakakis 2016
    five-arms    the four of Sajed & Sheffet 2019, used again by Azize & Basu 2022 and Azize et al. 2025
    close        gaps of 0.02 and 0.05, where privacy is nearly free and time is short
    many-arms    20 and 50 arms
    random       2 to 20 arms, means uniform on [0, 1] or on [0, 0.3], epsilon log-uniform on [0.05, 2]

A case is an instance together with a privacy level. Random ones bring their own. The order in which arms are written
down does not matter: `compare` plays them in another random order in every run.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dpbandits import _validate
from dpbandits._phrases import one_line
from dpbandits._validate import value_text
from dpbandits.environments import Bernoulli, Environment
from dpbandits.errors import InvalidInput


class Case(NamedTuple):
    """An environment, and the epsilon that a private policy gets in it.

    Args:
        name: what it is called in tables.
        environment: where rewards come from.
        epsilon: the privacy level; infinite if none is asked for.
    """

    name: str
    environment: Environment
    epsilon: float


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
_LONGEST_NAME = 60


def cases(sets: Iterable[str], epsilons: Sequence[float]) -> list[Case]:
    """Return the cases of the named sets: every instance at every epsilon, and random ones at their own.

    Args:
        sets: their names. "random:N" are N instances, "random:N:S" those of seed S.
        epsilons: the privacy levels.

    >>> [case.name for case in cases(["paper"], [0.1, 1.0])]
    ['2 arms, ε = 0.1', '2 arms, ε = 1', '10 arms, ε = 0.1', '10 arms, ε = 1']
    """
    levels = _levels(epsilons)
    case_list: list[Case] = []
    for text in sets:
        name, *numbers = text.split(":")
        if name == "random" and len(numbers) <= 2 and all(number.isdecimal() for number in numbers):
            number, seed = [*map(int, numbers), *(20, 0)[len(numbers) :]]
            case_list += random_cases(number, seed=seed)
        elif name in INSTANCES and not numbers:
            for instance, means in INSTANCES[name].items():
                case_list += cases_at_levels(instance, Bernoulli(means), levels)
        else:
            names = f"{', '.join(INSTANCES)}, random:NUMBER or random:NUMBER:SEED"
            raise InvalidInput(f"Expected instances={text!r} to be one of {names}.")
    if not case_list:
        raise InvalidInput(f"Expected at least one instance, of {', '.join(SETS)}.")
    return list(
        {(case.name, case.epsilon): case for case in case_list}.values()
    )  # none twice, however often it was named


def requested_cases(
    requests: Case | Environment | Iterable[Case | Environment], epsilons: Sequence[float] | None
) -> list[Case]:
    """Return the cases that are asked for, all with different names: environments come at every epsilon."""
    request_list = [requests] if isinstance(requests, Case | Environment) else list(requests)
    levels = [math.inf] if epsilons is None else _levels(epsilons)
    if epsilons is not None and not any(isinstance(each, Environment) for each in request_list):
        raise InvalidInput(f"Expected epsilons={list(epsilons)} only with environments: a Case brings its own.")
    case_list: list[Case] = []
    texts: list[str] = []
    for each in request_list:
        if isinstance(each, Environment):
            texts.append(one_line(repr(each), _LONGEST_NAME))
            copy = texts.count(texts[-1])
            name = texts[-1] + (f" #{copy}" if copy > 1 else "")
            case_list += cases_at_levels(name, each, levels)
        elif isinstance(each, Case) and isinstance(each.environment, Environment):
            case_list.append(each)
        else:
            raise InvalidInput(
                f"Expected {value_text(each)} to be a Case or an Environment, such as Bernoulli([0.9, 0.6])."
            )
    if not case_list:
        raise InvalidInput("Expected at least one case, or an environment and one epsilon.")
    names = Counter(case.name for case in case_list)
    if doubled := [name for name, times in names.items() if times > 1]:
        raise InvalidInput(f"Expected cases with different names: {value_text(doubled[0])} is there more than once.")
    return case_list


def _levels(epsilons: Iterable[float]) -> list[float]:
    return list(dict.fromkeys(_validate.real("[1e-06, inf)", epsilon=epsilon) for epsilon in epsilons))


def cases_at_levels(name: str, environment: Environment, epsilons: Iterable[float]) -> list[Case]:
    """Return an environment at every epsilon, as cases; infinity asks for none."""
    return [
        Case(name if math.isinf(epsilon) else f"{name}, ε = {epsilon:.12g}", environment, epsilon)
        for epsilon in epsilons
    ]


def random_cases(number: int, *, seed: int = 0, arms: Sequence[int] = range(2, 21)) -> list[Case]:
    """Return random cases.

    Args:
        number: how many. The first ones of a seed are the same whatever the number.
        seed: the same seed gives the same cases.
        arms: the numbers of arms that a case may have, all equally likely.
    """
    number = _validate.integer("[1, 1000000]", number=number)
    generator = np.random.default_rng([_validate.integer("[0, inf)", seed=seed), 2016])
    case_list = []
    for i in range(number):
        size = int(generator.choice(np.array(arms)))
        epsilon = float(np.exp(generator.uniform(np.log(0.05), np.log(2.0))))
        means = generator.uniform(0.0, generator.choice([0.3, 1.0]), size)
        case_list.append(Case(f"random {seed}.{i + 1}: {size} arms, ε = {epsilon:.3g}", Bernoulli(means), epsilon))
    return case_list
