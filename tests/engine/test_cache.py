"""Compiled code on disk: found again by the next process, never after an edit, and never in the way of others.

What an edit is, tests of stamps say (test_stamp.py). Most of this is tried with a function that compiles at once, and a
new dispatcher in the place of a new process; what only processes can show, with as few of them as will do.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import njit
from numba.core import event

import dpbandits as dpb
from dpbandits.engine import cache
from dpbandits.engine.cache import UniqueNames, use_cache
from dpbandits.policies import ucb

pytestmark = pytest.mark.slow

SUM = 12


def compiled_sum(x: int) -> int:
    """A loop in miniature."""
    return x + SUM


class Compilations(event.Listener):  # type: ignore[misc]
    """Counts them."""

    found = 0

    def on_start(self, event: Any) -> None:
        self.found += 1

    def on_end(self, event: Any) -> None:
        pass


@pytest.fixture
def compilations() -> Iterator[Compilations]:
    listener = Compilations()
    with event.install_listener("numba:compile", listener):
        yield listener


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where compiled code is kept."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    return tmp_path


def in_another_process(stamped: str, classes: tuple[type, ...] = (ucb.Params,)) -> int:
    """Load or compile as a new process would, and return what comes out."""
    dispatcher = njit(pipeline_class=UniqueNames)(compiled_sum)
    use_cache(dispatcher, classes, stamped)
    return int(dispatcher(30))


def test_another_stamp_or_class_is_other_code(files: Path, compilations: Compilations) -> None:
    for stamped, classes, compiled in (
        ("a", (ucb.Params,), 1),
        ("a", (ucb.Params,), 0),
        ("b", (ucb.Params,), 1),
        ("a", (ucb.Params, ucb.State), 1),
        ("a", (ucb.Params,), 0),
        ("a", (ucb.Params, ucb.State), 0),
    ):
        compilations.found = 0
        assert in_another_process(stamped, classes) == 42
        assert compilations.found == compiled
    assert len(list(files.rglob("*.nbi"))) == 3


def test_damaged_files_cost_a_compilation(files: Path, compilations: Compilations) -> None:
    """Empty, nonsense, truncated: each is compiled anew, once, and what is written then is whole."""
    in_another_process("a")
    for ending in ("nbi", "nbc"):
        for content in (b"", b"nonsense", None):
            (damaged,) = files.rglob(f"*.{ending}")
            damaged.write_bytes(damaged.read_bytes()[:-20] if content is None else content)
            for expected in (1, 0):
                compilations.found = 0
                assert in_another_process("a") == 42
                assert compilations.found == expected, (ending, content)


def test_a_folder_that_cannot_be_written_costs_compilations(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert in_another_process("a") == in_another_process("a") == 42
    assert not list(files.rglob("*.nbi"))


def test_what_others_cannot_import_is_not_kept(files: Path) -> None:
    class Local(tuple):  # type: ignore[type-arg]
        __slots__ = ()

    main = type("Main", (tuple,), {"__module__": "__main__"})
    for kind in (Local, main):
        assert in_another_process("a", (kind,)) == 42
    assert not list(files.rglob("*.nb*"))


def test_functions_get_names_that_no_other_process_gives(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba counts from 1 in every process; here the numbers are drawn, and others count on as if nothing had been."""
    from numba.core.bytecode import FunctionIdentity

    given = iter([2**63, 2**63 + 5])
    monkeypatch.setattr(cache, "symbol_number", lambda: next(given))
    counter = FunctionIdentity._unique_ids
    dispatcher = njit(pipeline_class=UniqueNames)(lambda x: x + 1)
    dispatcher(1)
    assert FunctionIdentity._unique_ids is counter
    (name,) = (found.fndesc.mangled_name for found in dispatcher.overloads.values())
    assert str(2**63) in name
    assert cache.symbol_number() == 2**63 + 5  # one name each


# ---- processes

MINE = """
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
import dpbandits as dpb
from dpbandits import kernel
from dpbandits.mechanisms import public
from dpbandits.policies import FOREVER, Policy, Setup, hold, select, update
from {module} import chosen

class Params(NamedTuple):
    unused: int

class State(NamedTuple):
    counts: Annotated[Any, public("arms")]

@select.register(Params)
@kernel
def _select(params, state, t):
    return chosen(t)

@hold.register(Params)
@kernel
def _hold(params, state, arm, t):
    return FOREVER

@update.register(Params)
@kernel
def _update(params, state, arm, plays, reward, t, noise):
    state.counts[arm] += plays

@dataclass(frozen=True)
class Mine(Policy):
    name = "mine"
    source = "a test"
    def setup(self, arms, horizon):
        return Setup(Params(0), State)
    def guarantee(self, horizon=float("inf")):
        return None

def regret():
    return dpb.simulate(Mine(), dpb.Bernoulli([0.9, 0.6]), horizon=10, runs=1, seed=1).final_regret("mine")[0]
"""
HELPER = """
import math
from dpbandits import kernel

def favourite(arm):
    @kernel
    def chosen(t):
        x = float(t)
{long}
        return arm if x < 2.0 else 2
    return chosen

chosen = favourite({arm})
"""
ASK = """
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
for name in {names}:
    compiled.clear()
    regret = __import__(name).regret()
    print(name, round(float(regret), 6), "compiled" if compiled else "loaded")
"""


UNTOUCHED = """
import sys
import numba
import numpy as np
numba.njit(lambda x: np.sqrt(x))(1.0)  # what numba prepares for itself, once

def attributes():
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "numba"]
    for module in modules:
        for name, value in list(vars(module).items()):
            yield (module.__name__, name), value
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield from (((module.__name__, value.__qualname__, key), part) for key, part in vars(value).items())

before = dict(attributes())
{ask}
after = dict(attributes())
print([key for key, value in before.items() if after[key] is not value])
"""


def write_policy(folder: Path, name: str, arm: int) -> None:
    """A policy in a module, with a kernel that a factory made; too long to become a part of its caller, where it would
    have no name that could be mistaken."""
    long = "\n".join(20 * ["        x = math.sin(x) + math.cos(x)"])
    (folder / f"{name}_helper.py").write_text(HELPER.format(long=long, arm=arm))
    (folder / f"{name}.py").write_text(MINE.format(module=f"{name}_helper"))


def run(code: str, folder: Path, **more: str) -> list[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **more}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_processes_share_what_is_the_same_program_and_nothing_else(tmp_path: Path) -> None:
    """Both policies say `Params` and `State`, and each plays the arm of a kernel that one factory made.

    One process compiles the first, another the second, after which both are loaded together; an edit of a helper in
    another file compiles one of them anew. Other users of numba in a process find every attribute of its modules and
    classes as it was, and a process that can import only one of them uses the same files.
    """
    write_policy(tmp_path, "first", 0)
    write_policy(tmp_path, "second", 1)
    assert run(ASK.format(names=["first"]), tmp_path) == ["first 0.0 compiled"]
    assert run(ASK.format(names=["second"]), tmp_path) == ["second 3.0 compiled"]
    assert run(ASK.format(names=["second", "first"]), tmp_path) == ["second 3.0 loaded", "first 0.0 loaded"]
    write_policy(tmp_path, "first", 1)
    watched = UNTOUCHED.format(ask=ASK.format(names=["first", "second"]))
    assert run(watched, tmp_path) == ["first 3.0 compiled", "second 3.0 loaded", "[]"]
    (tmp_path / "first.py").unlink()
    assert run(ASK.format(names=["second"]), tmp_path) == ["second 3.0 loaded"]


def test_without_numba_jit_the_same_numbers_come_out(tmp_path: Path) -> None:
    code = (
        "import dpbandits as dpb;"
        "r = dpb.simulate(dpb.UCB(), dpb.Bernoulli([0.9, 0.6]), horizon=100, runs=2, seed=1);"
        "print(r.final_regret('ucb').tolist())"
    )
    compiled = dpb.simulate(dpb.UCB(), dpb.Bernoulli([0.9, 0.6]), horizon=100, runs=2, seed=1).final_regret("ucb")
    assert run(code, tmp_path, NUMBA_DISABLE_JIT="1") == [str(compiled.tolist())]
