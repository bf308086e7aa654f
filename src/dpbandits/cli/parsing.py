"""Command-line values turned into numbers, levels and policies, and checks of the files that commands write."""

import ast
import os
import re
import tempfile
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from dpbandits import _validate
from dpbandits._extras import require_extras
from dpbandits._phrases import one_line
from dpbandits.cli.files import policy_class
from dpbandits.comparison import Contender
from dpbandits.errors import DPBanditsError, InvalidInput
from dpbandits.policies import POLICIES, NoiseAwareIMED, Policy, recommended
from dpbandits.policies.policy import EPSILONS

PLOTS = (".png", ".svg", ".pdf")
USUAL_DELTA = 1e-6
_PACKAGE_OF_ENDING = dict.fromkeys(PLOTS, "matplotlib") | {".parquet": "pyarrow"}
_USERS_OWN = re.compile(r"(.+?\.py:[^:]*)(.*)", re.DOTALL)


def parse_policy(text: str, epsilon: float, delta: float) -> Policy:
    """Return the policy that a text such as "dp-ucb-int:series=x", "recommended" or "mine.py:Name" describes."""
    if text == "recommended":
        return recommended(epsilon=epsilon, delta=delta)
    if text.startswith("recommended:"):
        setting = text.removeprefix("recommended:")
        same = "noise-aware-imed is the same policy and takes them"
        raise InvalidInput(f"Expected recommended without settings, not {setting!r}; {same}.")
    of_user = _USERS_OWN.fullmatch(text)
    if of_user:
        name, settings = of_user[1], [part for part in of_user[2].split(":") if part]
        kind = policy_class(name)
    else:
        name, *settings = text.split(":")
        if name not in POLICIES:
            raise InvalidInput(
                f"Expected policy {name!r} to be one of {', '.join(POLICIES)}, recommended, or a class of your own "
                "as FILE.py:NAME."
            )
        kind = POLICIES[name]
    setting_fields: dict[str, Any] = {field.name: field for field in fields(kind)} if is_dataclass(kind) else {}
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in setting_fields:
            if not setting_fields:
                raise InvalidInput(f"Expected {name} without settings, not {setting!r}: it has none.")
            allowed = ", ".join(setting_fields)
            raise InvalidInput(f"Expected setting {setting!r} of {name} as key=value, with a key among {allowed}.")
        values[key] = _of_type(setting_fields[key].type, key, _value(value)) if of_user else _value(value)
    defaults = {"epsilon": epsilon, "delta": delta}
    arguments = {key: value for key, value in defaults.items() if key in setting_fields} | values
    if not of_user:
        return kind(**arguments)
    try:
        return kind(**arguments)
    except DPBanditsError:
        raise
    except Exception as problem:  # noqa: BLE001  (a field without a default, or whatever its own checks say)
        reason = one_line(problem).rstrip(".") or type(problem).__name__
        raise InvalidInput(f"Expected settings that {name} can be made with: {reason}.") from None


def _of_type(declaration: Any, key: str, value: Any) -> Any:
    """Return a setting as its class declares it, if it declares something plain: 1e1 is a whole number."""
    kind = declaration if isinstance(declaration, str) else getattr(declaration, "__name__", "")
    if kind == "int":
        return _validate.integer("(-inf, inf)", **{key: value})
    if kind == "float":
        _validate.real("(-inf, inf)", **{key: value})
    if kind == "bool":
        _validate.flag(**{key: value})
    return str(value) if kind == "str" else value


def check_delta(delta: float | None, *policies: Policy) -> None:
    """Refuse a delta that none of these policies would use."""
    if delta is not None and not any(hasattr(policy, "delta") for policy in policies):
        names = " and ".join(dict.fromkeys(policy.name for policy in policies))
        raise InvalidInput(f"Expected delta={delta} only with a policy that uses one, unlike {names}.")


def contenders(text: str, delta: float | None) -> dict[str, Policy | Contender]:
    """Return the policies that a text describes: functions of epsilon, or plain policies if they set their own or none.

    A delta of None is the usual one.
    """
    texts = list(dict.fromkeys(split_commas(text)))
    if not texts:
        raise InvalidInput(f"Expected policies={text!r} to name at least one of {', '.join(POLICIES)}.")
    used_delta = USUAL_DELTA if delta is None else delta
    policies = {name: parse_policy(name, 1.0, used_delta) for name in texts}  # before anything is played
    check_delta(delta, *policies.values())
    return {
        _display_name(name): policy
        if repr(_policy_at(name, used_delta, 2.0)) == repr(policy)
        else partial(_policy_at, name, used_delta)
        for name, policy in policies.items()
    }


def _display_name(text: str) -> str:
    return NoiseAwareIMED.name if text == "recommended" else text


def _policy_at(text: str, delta: float, epsilon: float) -> Policy:
    return parse_policy(text, epsilon, delta)


def console() -> Console:
    """Return a console that is as wide as the terminal or COLUMNS say, and 160 columns wide in a file or a pipe."""
    return Console(width=None if Console().is_terminal or os.environ.get("COLUMNS", "").isdecimal() else 160)


def split_commas(text: str) -> list[str]:
    """Return the parts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def number(name: str, text: str) -> float:
    """Return a number; `name` is for the error."""
    for kind in (int, float):  # a float would round long integers
        try:
            return kind(text)
        except ValueError:
            continue
    raise InvalidInput(f"Expected {name}={text!r} to be a number.")


def parse_means(text: str) -> list[float]:
    """Return a success rate for every arm."""
    return [_validate.real("[0, 1]", means=number("means", mean)) for mean in split_commas(text)]


def parse_levels(text: str) -> list[float]:
    """Return privacy levels, each once."""
    levels = list(dict.fromkeys(number("epsilon", level) for level in split_commas(text)))
    if not levels:
        raise InvalidInput(f"Expected epsilon={text!r} to be a number, or several with commas.")
    return [_validate.real(EPSILONS, epsilon=level) for level in levels]


def whole(name: str, text: str) -> int:
    """Return a positive whole number; 1e5 is one."""
    return _validate.integer("[1, inf)", **{name: number(name, text)})


def check_different(**named: Path | None) -> None:
    """Refuse two results that would be written into one file."""
    names: dict[Path, str] = {}
    for name, path in named.items():
        if path is not None and names.setdefault(path.resolve(), name) != name:
            raise InvalidInput(f"Expected {name}={str(path)!r} to be a different file from {names[path.resolve()]}.")


def check_ending(allowed: tuple[str, ...], **named: Path | None) -> None:
    """Refuse a file whose ending is unknown or needs a package that is not installed, that has no folder or that cannot
    be written. Nothing is changed.
    """
    ((name, path),) = named.items()
    if path is None:
        return
    if path.suffix.lower() not in allowed:
        raise InvalidInput(f"Expected {name}={str(path)!r} to end in {', '.join(allowed)}.")
    if path.suffix.lower() in _PACKAGE_OF_ENDING:
        require_extras(_PACKAGE_OF_ENDING[path.suffix.lower()])
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(f"Expected {name}={str(path)!r} to be a file in a folder that exists.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InvalidInput(f"Expected {name}={str(path)!r} to be a file that can be written.")
    _check_writable(path.parent, f"{name}={str(path)!r} to be a file")


def check_folder(**named: Path) -> None:
    """Refuse a folder that is a file, or in which nothing can be written. Nothing is changed."""
    ((name, path),) = named.items()
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"Expected {name}={str(path)!r} to be a folder.")
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    _check_writable(existing, f"{name}={str(path)!r} to be a folder")


def _check_writable(folder: Path, what: str) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):  # a file without a name
            pass
    except OSError as problem:
        raise InvalidInput(f"Expected {what} that can be written: {problem.strerror}.") from None


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
