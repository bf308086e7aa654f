"""Compiled code on disk: found again by the next process, never after an edit, and never in the way of others."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpbandits

PACKAGE = Path(dpbandits.__file__).parent
MINE = """
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
import dpbandits as dpb
from dpbandits import kernel
from dpbandits.mechanisms import public
from dpbandits.policies import FOREVER, Policy, Setup, hold, select, update
from helpers import FAVOURITE, chosen

class Params(NamedTuple):
    unused: int

class State(NamedTuple):
    counts: Annotated[Any, public("arms")]

@select.register(Params)
@kernel
def _select(params, state, t):
    return chosen(FAVOURITE)

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
    def configure(self, arms, horizon):
        return Setup(Params(0), State, {"arms": arms})
    def guarantee(self, horizon=float("inf")):
        return None

def regret():
    return dpb.simulate(Mine(), dpb.Bernoulli([0.9, 0.6]), horizon=10, runs=1, seed=1).final_regret("mine")[0]
"""
HELPERS = """
from dpbandits import kernel
FAVOURITE = {favourite}

@kernel
def chosen(arm):
    return {expression}
"""
ASK = """
import sys
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
import mine
print(round(float(mine.regret()), 6), "compiled" if compiled else "loaded")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    write_helpers(tmp_path)
    return tmp_path


DEEPER = {
    "an attribute of a module": "import deeper\n@kernel\ndef chosen(arm):\n    return deeper.ARM",
    "a function of a module": "import deeper\n@kernel\ndef chosen(arm):\n    return deeper.arm()",
    "a constant from another file": "from deeper import ARM\n@kernel\ndef chosen(arm):\n    return ARM",
    "a default": "from deeper import ARM\n@kernel\ndef chosen(arm, c=ARM):\n    return c",
    "a closure": "from deeper import made\nchosen = made()",
    "a choice": "from deeper import ARM\nif ARM:\n    @kernel\n    def chosen(arm):\n        return 1\n"
    "else:\n    @kernel\n    def chosen(arm):\n        return 0",
}


@pytest.mark.parametrize("helper", DEEPER.values(), ids=list(DEEPER))
def test_an_edit_further_away_is_seen(folder: Path, helper: str) -> None:
    (folder / "helpers.py").write_text("from dpbandits import kernel\nFAVOURITE = 0\n" + helper)
    for arm, regret in ((0, "0.0"), (1, "3.0")):
        (folder / "deeper.py").write_text(
            f"from dpbandits import kernel\nARM = {arm}\n@kernel\ndef arm():\n    return ARM\n"
            "def made(c=ARM):\n    @kernel\n    def chosen(arm):\n        return c\n    return chosen\n"
        )
        assert run(ASK, folder) == f"{regret} compiled"
    assert run(ASK, folder) == "3.0 loaded"


def test_damaged_files_cost_a_compilation(folder: Path) -> None:
    """Empty, nonsense, truncated: each is compiled anew, once, and what is written then is whole."""
    assert run(ASK, folder) == "3.0 compiled"
    for ending in ("nbi", "nbc"):
        for content in (b"", b"nonsense", None):
            damaged = list((folder / "cache").rglob(f"*.{ending}"))
            assert damaged
            for path in damaged:
                path.write_bytes(path.read_bytes()[:-20] if content is None else content)
            assert run(ASK, folder) == "3.0 compiled", (ending, content)
            assert run(ASK, folder) == "3.0 loaded", (ending, content)


def write_helpers(folder: Path, favourite: int = 1, expression: str = "arm") -> None:
    (folder / "helpers.py").write_text(HELPERS.format(favourite=favourite, expression=expression))


def run(code: str, folder: Path, path: str = "") -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    if path:
        environment["PYTHONPATH"] = path
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_users_policy_is_compiled_once_and_again_after_every_edit(folder: Path) -> None:
    """An edit of the policy itself, of a function that it calls, of a constant in another file."""
    assert run(ASK, folder) == "3.0 compiled"
    assert run(ASK, folder) == "3.0 loaded"
    write_helpers(folder, favourite=0)
    assert run(ASK, folder) == "0.0 compiled"
    write_helpers(folder, favourite=0, expression="1 - arm")
    assert run(ASK, folder) == "3.0 compiled"
    (folder / "mine.py").write_text(MINE.replace("return chosen(FAVOURITE)", "return 1 - chosen(FAVOURITE)"))
    assert run(ASK, folder) == "0.0 compiled"
    assert run(ASK, folder) == "0.0 loaded"


def test_a_users_policy_is_in_nobodys_way(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another process, which cannot import it, uses the same cache; so does a script that defines it in __main__."""
    run(ASK, folder)
    code = (
        "import dpbandits as dpb; r = dpb.simulate(dpb.UCB(), dpb.Bernoulli([0.9, 0.6]), horizon=10, runs=1, seed=1);"
        "print(len(r.names))"
    )
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(folder / "cache", elsewhere / "cache")
    assert run(code, elsewhere) == "1"
    before = sorted((elsewhere / "cache").rglob("*.nbi"))
    (elsewhere / "helpers.py").write_text((folder / "helpers.py").read_text())
    assert run(MINE + "print(round(float(regret()), 6))", elsewhere) == "3.0"
    assert sorted((elsewhere / "cache").rglob("*.nbi")) == before


ALIKE = """
import os
import sys
import dpbandits as dpb
from dpbandits.engine import loop
for kind in {kinds}:
    if {forks}:
        child = os.fork()
        if child:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            continue
    policy = getattr(dpb, kind)(epsilon=1.0)
    result = dpb.simulate(policy, dpb.Bernoulli([0.9, 0.6, 0.5]), horizon=3000, runs=10, seed=1)
    print(kind, result.final_regret(policy.name).sum(), flush=True)
    if {forks}:
        os._exit(0)
"""


def test_policies_that_look_alike_are_not_mixed_up(tmp_path: Path) -> None:
    """Constants and states have the same names and types. Two forks compile one policy each, a process loads both."""
    kinds = ["AdaPUCB", "AdaPKLUCB"]
    alone = run(ALIKE.format(kinds=kinds, forks=True), tmp_path).splitlines()
    assert alone[0].split()[1] != alone[1].split()[1]
    assert run(ALIKE.format(kinds=kinds, forks=False), tmp_path).splitlines() == alone
    assert run(ALIKE.format(kinds=kinds[::-1], forks=False), tmp_path).splitlines() == alone[::-1]


FACTORY = """
import math
from dpbandits import kernel

def favourite(arm):
    @kernel
    def chosen(t):
        x = float(t)
        x = math.sin(x) + math.cos(x)
        return arm if x < 2.0 else 2
    return chosen
"""
REGRETS = """
for name in {names}:
    print(name, round(float(__import__(name).regret()), 6))
"""


def test_policies_of_users_that_look_alike_are_not_mixed_up(tmp_path: Path) -> None:
    """Both say `Params` and `State`, in two modules, and each plays the arm of a kernel that one factory made.

    The kernel is too long to become a part of its caller: code inside other code has no name that could be mistaken.
    """
    line = "        x = math.sin(x) + math.cos(x)\n"
    (tmp_path / "factory.py").write_text(FACTORY.replace(line, 100 * line))
    for arm, name in enumerate(("first", "second")):
        start = f"from factory import favourite\nchosen = favourite({arm})"
        text = MINE.replace("from helpers import FAVOURITE, chosen", start).replace("chosen(FAVOURITE)", "chosen(t)")
        (tmp_path / f"{name}.py").write_text(text)
    assert run(REGRETS.format(names=["first"]), tmp_path) == "first 0.0"
    assert run(REGRETS.format(names=["second"]), tmp_path) == "second 3.0"
    assert run(REGRETS.format(names=["second", "first"]), tmp_path) == "second 3.0\nfirst 0.0"


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
import dpbandits as dpb
dpb.simulate(dpb.UCB(), dpb.Bernoulli([0.9, 0.6]), horizon=10, runs=1, seed=1)
after = dict(attributes())
print([key for key, value in before.items() if after[key] is not value])
"""


def test_numba_is_left_as_it_was(tmp_path: Path) -> None:
    """Other users of numba in the process find every attribute of its modules and classes as it was."""
    assert run(UNTOUCHED, tmp_path) == "[]"


def test_an_edit_of_a_policy_of_ours_is_seen(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "dpbandits", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        f"import dpbandits as dpb; assert dpb.__file__.startswith({str(tmp_path)!r});"
        "result = dpb.simulate(dpb.UCB(), dpb.Bernoulli([0.9, 0.6]), horizon=100, runs=5, seed=1);"
        "print(result.final_regret('ucb').sum())"
    )
    first = run(code, tmp_path, path=str(tmp_path))
    edited = tmp_path / "dpbandits" / "policies" / "ucb.py"
    original = edited.read_text()
    edited.write_text(original.replace("if index > highest else best", "if index < highest else best"))
    changed = run(code, tmp_path, path=str(tmp_path))
    edited.write_text(original)
    assert changed != first
    assert run(code, tmp_path, path=str(tmp_path)) == first


def test_without_numba_jit_the_same_numbers_come_out(tmp_path: Path) -> None:
    code = (
        "import dpbandits as dpb;"
        "r = dpb.simulate(dpb.DPUCB(epsilon=1.0), dpb.Bernoulli([0.9, 0.6]), horizon=100, runs=2, seed=1);"
        "print(r.final_regret('dp-ucb').tolist())"
    )
    compiled = run(code, tmp_path)
    assert run("import os; os.environ['NUMBA_DISABLE_JIT'] = '1';" + code, tmp_path) == compiled
