"""Public names are listed, exist and are described; and what could be taken for a public name is listed."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import dpbandits as dpb
from dpbandits.cli.app import app
from dpbandits.policies import POLICIES, Policy, catalogue

PACKAGES = [
    "dpbandits",
    *(
        f"dpbandits.{room}"
        for room in (
            *("privacy", "mechanisms", "policies", "environments", "simulation", "live", "auditing"),
            *("comparison", "theory", "service"),
        )
    ),
]
MODULES = ["dpbandits.adapters.gymnasium", "dpbandits.adapters.river"]
SIMULATION_DOCS = (Path(__file__).parent.parent / "docs" / "simulation.md").read_text("utf-8")


@pytest.mark.parametrize("name", [*PACKAGES, *MODULES])
def test_what_is_listed_exists_and_is_described(name: str) -> None:
    room = import_module(name)
    assert len(set(room.__all__)) == len(room.__all__)
    for listed in room.__all__:
        value = getattr(room, listed)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):  # constants have comments
            description = value.__doc__ or ""
            # Dataclasses and named tuples without a docstring have their own signature for one.
            assert description.strip(), f"{name}.{listed}"
            assert not description.startswith(f"{listed}("), f"{name}.{listed}"


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_room_holds_is_listed(name: str) -> None:
    room = import_module(name)
    held = {each for each, value in vars(room).items() if not each.startswith("_") and not inspect.ismodule(value)}
    assert held <= set(room.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_what_an_adapter_defines_is_listed(name: str) -> None:
    module = import_module(name)
    own = {
        each
        for each, value in vars(module).items()
        if not each.startswith("_") and getattr(value, "__module__", "") == name
    }
    assert own == set(module.__all__)


def test_every_policy_is_in_the_one_list_and_exported() -> None:
    folder = Path(catalogue.__file__).parent
    modules = [import_module(f"dpbandits.policies.{path.stem}") for path in folder.glob("[!_]*.py")]
    defined = {kind for module in modules for kind in _policies_of(module)}
    assert defined == set(POLICIES.values())
    for room in (dpb, dpb.policies):
        assert {kind.__name__ for kind in defined} <= set(room.__all__)


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.name)
def test_every_policy_shows_a_game(kind: type[Policy]) -> None:
    assert ">>> count_plays(" in (kind.__doc__ or "")


def _policies_of(module: ModuleType) -> list[type[Policy]]:
    return [
        value
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, Policy)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
        and not name.startswith("_")
    ]


def test_the_documents_name_no_policy_that_is_not_there() -> None:
    """All are in `dpbandits policies`; the tables explain what is worth a comparison."""
    tables = [line.split("|")[1] for line in SIMULATION_DOCS.splitlines() if line.startswith("| `")]
    named = [name for cell in tables for name in re.findall(r"`(\w+)`", cell)]
    assert len(named) == len(set(named)) >= 20
    assert set(named) <= set(catalogue.__all__)


def test_the_command_line_names_every_policy_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    printed = CliRunner().invoke(app, ["policies"]).stdout
    cells = [line.split("│")[1].strip() for line in printed.splitlines() if line.startswith("│")]
    # A policy with variants has a second row, which says so in its next line.
    assert list(dict.fromkeys(name for name in cells if name and not name.startswith(":"))) == list(POLICIES)
