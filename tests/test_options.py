"""Options that are words: type checkers know exactly the words that are allowed when a program runs.

That a checker refuses another word is tested by mypy itself: tests of refused words need a `type: ignore`, and an
ignore that is not needed is an error.
"""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import pytest

import dpbandits

SOURCE = Path(dpbandits.__file__).parent


class Option(NamedTuple):
    name: str
    owner: str  # the class whose field it is, or the function that takes it
    allowed: tuple[str, ...]
    hint: Any


def options() -> Iterator[Option]:
    """Every call of `one_of`; the command line is not among them, it is given texts."""
    for path in sorted(SOURCE.rglob("*.py")):
        if "one_of(" in path.read_text("utf-8") and path.parent.name != "cli" and path.name != "_validate.py":
            name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
            yield from _options_in(name, ast.parse(path.read_text("utf-8")))


def _options_in(module_name: str, tree: ast.Module) -> Iterator[Option]:
    module = import_module(module_name)
    for top in tree.body:
        if not isinstance(top, ast.ClassDef | ast.FunctionDef):
            continue
        owner = getattr(module, top.name)
        for call in ast.walk(top):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("one_of"):
                allowed = getattr(module, ast.unparse(call.args[0]))
                (option,) = (keyword.arg for keyword in call.keywords)
                assert option is not None
                methods = [function for function in vars(owner).values() if inspect.isfunction(function)]
                hints = [get_type_hints(each) for each in (owner, *methods)]
                hint = next(found[option] for found in hints if option in found)
                yield Option(option, f"{module_name}.{top.name}", tuple(allowed), hint)


OPTIONS = list(options())


def test_there_are_options() -> None:
    assert {"variant", "counter", "relaxation", "series", "bonus", "accounting", "order", "view", "form"} <= {
        option.name for option in OPTIONS
    }


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: f"{option.owner}-{option.name}")
def test_a_type_checker_knows_the_words(option: Option) -> None:
    assert get_origin(option.hint) is Literal
    assert get_args(option.hint) == option.allowed
