"""Policies and environments in Python files of users, named as FILE.py:NAME."""

import hashlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

from dpbandits._phrases import one_line
from dpbandits.environments import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies import Policy


def policy_class(text: str) -> type[Policy]:
    """Return the policy class that a text such as "mine.py:ExploreThenCommit" names. The file is run."""
    file, name, module = _named_module(text, policy="mine.py:ExploreThenCommit")
    kind = getattr(module, name, None)
    if inspect.isclass(kind) and issubclass(kind, Policy) and kind is not Policy and inspect.isabstract(kind):
        lacking = " and ".join(f"`{method}`" for method in sorted(kind.__abstractmethods__))
        raise InvalidInput(f"Expected {name!r} in {file!r} to be a complete policy. It lacks {lacking}.")
    if not (inspect.isclass(kind) and issubclass(kind, Policy)) or inspect.isabstract(kind):
        names = ", ".join(_policies_in(module)) or "none"
        raise InvalidInput(f"Expected {name!r} to be the class of a policy in {file!r}, which has: {names}.")
    return kind


def environment_from(text: str) -> Environment:
    """Return the environment that a text such as "mine.py:stars" names, or that its class or function makes."""
    file, name, module = _named_module(text, environment="mine.py:stars")
    environment = getattr(module, name, None)
    if not isinstance(environment, Environment) and callable(environment):
        try:
            environment = environment()
        except Exception as problem:  # noqa: BLE001  (it may do anything)
            failure = f"It fails with {type(problem).__name__}: {one_line(problem)}"
            raise InvalidInput(f"Expected {name}() in {file!r} to make an environment. {failure}") from None
    if not isinstance(environment, Environment):
        what = "an Environment, or a class or function that makes one"
        raise InvalidInput(f"Expected {name!r} in {file!r} to be {what}.")
    return environment


def _named_module(text: str, **example: str) -> tuple[str, str, ModuleType]:
    """Return file, name and module of a text."""
    ((what, such_as),) = example.items()
    file, _, name = text.rpartition(":")
    if not file.endswith(".py") or not name:
        raise InvalidInput(f"Expected {what}={text!r} as FILE.py:NAME, such as {such_as}.")
    return file, name, _load_module(Path(file))


def _load_module(path: Path) -> ModuleType:
    """Return the module of a file, run once for every version of it.

    Its name follows from path and content: the same in every process, so that compiled kernels are found on disk
    again, and different for two files that are both called mine.py.
    """
    try:
        source = path.read_bytes()
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise InvalidInput(f"Expected file={str(path)!r} to be one that can be read: {reason}.") from None
    unique = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape") + b"\0" + source).hexdigest()[:16]
    name = re.sub(r"\W", "_", f"{path.stem}_{unique}")  # a dot would be a package
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"Expected file={str(path)!r} to be a Python file.")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # what it imports from beside itself
    sys.modules[name] = module  # before it runs: dataclasses and pickles look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # noqa: BLE001  (it may do anything, and must not end this program)
        del sys.modules[name]
        failure = f"It fails with {type(problem).__name__}: {problem}"
        raise InvalidInput(f"Expected file={str(path)!r} to be a Python file that runs. {failure}") from None
    return module


def _policies_in(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Policy) and value.__module__ == module.__name__
    ]
