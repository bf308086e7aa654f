"""`help` describes every setting: an `Args:` section names each parameter of what users call, inherited ones too."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import pytest

from dpbandits._kernel import GENERICS, KERNELS
from dpbandits.environments import Environment
from dpbandits.live import Bandit
from dpbandits.mechanisms import ContinualCounter
from dpbandits.policies import POLICIES

ROOMS = [
    "",
    ".comparison",
    ".privacy",
    ".mechanisms",
    ".policies",
    ".environments",
    ".simulation",
    ".live",
    ".auditing",
    ".theory",
]


def functions() -> Iterator[Any]:
    """Public functions of several parameters. Kernels all take the same ones (policy.py, environment.py)."""
    for room in ROOMS:
        module = import_module(f"dpbandits{room}")
        for name in module.__all__:
            value = getattr(module, name)
            is_described_elsewhere = value in KERNELS or value in GENERICS
            if inspect.isfunction(value) and len(settings_of(value)) > 1 and not is_described_elsewhere:
                yield value


def classes() -> Iterator[type]:
    yield Bandit
    yield from POLICIES.values()
    for room, kind in ((".environments", Environment), (".mechanisms", ContinualCounter)):
        module = import_module(f"dpbandits{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, kind) and not inspect.isabstract(value):
                yield value


def settings_of(described: Any) -> list[str]:
    if is_dataclass(described):
        return [field.name for field in fields(described) if field.init]
    return [name for name in inspect.signature(described).parameters if name != "self"]


def described_in(text: str) -> set[str]:
    """The names in an `Args:` section: "epsilon, delta: the budget" describes two."""
    section = re.search(r"^ *Args:\n((?: {4,}.*\n|\n(?= {8}))*)", inspect.cleandoc(text) + "\n", re.MULTILINE)
    lines = [] if section is None else section[1].splitlines()
    heads = [match[1] for line in lines if (match := re.match(r" {4}([\w, ]+):", line))]
    return {name.strip() for head in heads for name in head.split(",")}


EVERYTHING = list(dict.fromkeys([*functions(), *classes()]))


@pytest.mark.parametrize("described", EVERYTHING, ids=lambda described: described.__name__)
def test_every_setting_is_described(described: Any) -> None:
    assert described_in(described.__doc__) == set(settings_of(described))
