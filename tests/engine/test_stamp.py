"""Equal stamps mean the same program: whatever is bound differently gives another stamp, and nothing else does."""

import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from dpbandits.engine import stamp as stamps_module
from dpbandits.engine.stamp import program_stamp, stamp, stamp_of_constants
from dpbandits.policies import ucb

HEAD = "import numpy as np, math, enum\nfrom typing import NamedTuple\nfrom dpbandits import kernel\n"


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name in ("mine", "other", "deeper"):
            del sys.modules[name]


def stamped(source: str, other: str = "", deeper: str = "") -> str:
    """Return the stamp of `f` in a module made from the source; it may import two others."""
    for name, text in (("deeper", deeper), ("other", other), ("mine", source)):
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(HEAD + text, vars(module))
    return stamp(sys.modules["mine"].f)


DIFFERENT = {
    "the code": ("def f(x): return x + 1", "def f(x): return x - 1"),
    "a constant in the code": ("def f(x): return x + 1", "def f(x): return x + 2"),
    "an int and a float": ("def f(x): return x + 1", "def f(x): return x + 1.0"),
    "a global": ("A = 1\ndef f(x): return A", "A = 2\ndef f(x): return A"),
    "two globals swapped": ("A, B = 1, 2\ndef f(x): return A - B", "A, B = 2, 1\ndef f(x): return A - B"),
    "a renamed library function": (
        "from math import floor as r\ndef f(x): return r(x)",
        "from math import ceil as r\ndef f(x): return r(x)",
    ),
    "a type": ("R = int\ndef f(x): return R(x)", "R = float\ndef f(x): return R(x)"),
    "a generic": (
        "from dpbandits.mechanisms import uniform as d\ndef f(x): return d(x)",
        "from dpbandits.mechanisms import normal as d\ndef f(x): return d(x)",
    ),
    "defaults swapped": ("def f(a=0, b=1): return a", "def f(a=1, b=0): return a"),
    "closures": (
        "def g(c):\n    def h(x): return c\n    return h\nf = g(1)",
        "def g(c):\n    def h(x): return c\n    return h\nf = g(2)",
    ),
    "closures of helpers swapped": (
        "def g(c):\n    def h(x): return c\n    return h\na, b = g(1), g(2)\ndef f(x): return a(x) - b(x)",
        "def g(c):\n    def h(x): return c\n    return h\na, b = g(2), g(1)\ndef f(x): return a(x) - b(x)",
    ),
    "helpers swapped": (
        "def p(x): return 1\ndef q(x): return 2\na, b = p, q\ndef f(x): return a(x) - b(x)",
        "def p(x): return 1\ndef q(x): return 2\na, b = q, p\ndef f(x): return a(x) - b(x)",
    ),
    "a member of an enum": (
        "class E(enum.IntEnum):\n    A = 1\ndef f(x): return E.A",
        "class E(enum.IntEnum):\n    A = 2\ndef f(x): return E.A",
    ),
    "options in a dict": (
        "A = {'fast': True}\ndef f(x): return g(x, **A)",
        "A = {'fast': False}\ndef f(x): return g(x, **A)",
    ),
    "the shape of an array": (
        "A = np.zeros((1, 2))\ndef f(x): return A",
        "A = np.zeros((2, 1))\ndef f(x): return A",
    ),
    "a long array in a tuple": (
        "A = (np.arange(3000),)\ndef f(x): return A",
        "A = (np.where(np.arange(3000) == 1500, 0, np.arange(3000)),)\ndef f(x): return A",
    ),
    "options of a compiled function": (
        "from numba import njit\n@njit\ndef g(x): return 1 / x\ndef f(x): return g(x)",
        "from numba import njit\n@njit(error_model='numpy')\ndef g(x): return 1 / x\ndef f(x): return g(x)",
    ),
    "fields of a NamedTuple": (
        "class P(NamedTuple):\n    a: int\n    b: int\ndef f(x): return P(1, 2)",
        "class P(NamedTuple):\n    b: int\n    a: int\ndef f(x): return P(1, 2)",
    ),
    "an implementation for a NamedTuple": (
        "from dpbandits.policies import hold\nclass P(NamedTuple):\n    a: int\n"
        "@hold.register(P)\ndef _h(params, state, arm, t): return 1\ndef f(x): return hold(P(1), x, 0, 1)",
        "from dpbandits.policies import hold\nclass P(NamedTuple):\n    a: int\n"
        "@hold.register(P)\ndef _h(params, state, arm, t): return 2\ndef f(x): return hold(P(1), x, 0, 1)",
    ),
    "an inner function": (
        "def f(x):\n    def g(y): return y + 1\n    return g(x)",
        "def f(x):\n    def g(y): return y + 2\n    return g(x)",
    ),
}


@pytest.mark.parametrize(("before", "after"), DIFFERENT.values(), ids=list(DIFFERENT))
def test_a_difference_is_seen(before: str, after: str) -> None:
    assert stamped(before) == stamped(before)
    assert stamped(before) != stamped(after)


def test_differences_in_other_modules_are_seen() -> None:
    for mine in (
        "import other\ndef f(x): return other.A",
        "from other import A\ndef f(x): return A",
        "import other\ndef f(x): return other.g(x)",
        "from other import g\ndef f(x): return g(x)",
        "import other\ndef f(x): return other.deeper.A",
        "from other import A\n@kernel\ndef f(x, c=A): return c",
        "from other import made\nf = made()",
        "from other import A\nif A > 1:\n    def f(x): return 1\nelse:\n    def f(x): return 2",
    ):
        other = (
            "import deeper\nfrom deeper import A\n@kernel\ndef g(x): return deeper.A\n"
            "def made(c=A):\n    @kernel\n    def h(x): return c\n    return h\n"
        )
        assert stamped(mine, other, "A = 1") == stamped(mine, other, "A = 1")
        assert stamped(mine, other, "A = 1") != stamped(mine, other, "A = 2")


def test_a_constant_that_no_file_tells_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same source, which takes its constant from the environment: a hash of files would not see it."""
    mine = "import os\nA = int(os.environ['DPBANDITS_TEST'])\ndef f(x): return A"
    found = set()
    for value in ("1", "2", "1"):
        monkeypatch.setenv("DPBANDITS_TEST", value)
        found.add(stamped(mine))
    assert len(found) == 2


def test_an_edit_of_a_policy_of_ours_is_seen() -> None:
    source = Path(ucb.__file__).read_text("utf-8")
    edited = source.replace("if index > highest else best", "if index < highest else best")
    assert edited != source
    stamps = []
    for text in (source, source, edited):
        module = types.ModuleType("mine")
        sys.modules["mine"] = module
        exec(text, vars(module))
        stamps.append(stamp(module.Params))
    assert stamps[0] == stamps[1] != stamps[2]


def test_what_is_not_read_does_not_matter() -> None:
    mine = "import other\nB = 1\ndef f(x): return other.A"
    assert stamped(mine, "A, B = 1, 2") == stamped(mine.replace("B = 1", "B = 3"), "A, B = 1, 7")


def test_functions_that_call_each_other_are_stamped() -> None:
    source = "def g(x): return f(x - 1) + {}\ndef f(x): return g(x) if x > 0 else 0"
    assert stamped(source.format(1)) == stamped(source.format(1))
    assert stamped(source.format(1)) != stamped(source.format(2))


def test_stamps_are_the_same_in_every_process() -> None:
    code = (
        "import numpy as np\nfrom dpbandits.engine.stamp import stamp\n"
        "X = Y = np.zeros(3)\ndef g(x): return x\nT = (g, g)\n"
        "def f(x): return (X, Y, T, x in {'a', 'b', 'c'})\nprint(stamp(f))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


# ---- results


def test_the_program_is_all_of_its_source_and_what_it_computes_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "room").mkdir()
    first, second = tmp_path / "__init__.py", tmp_path / "room" / "module.py"
    monkeypatch.setattr(stamps_module, "_PACKAGE", tmp_path)
    seen = set()
    for texts, version in (
        *((("", ""), "1"), (("a", ""), "1"), (("", "a"), "1")),
        *((("a", "b"), "1"), (("a", "b"), "2"), (("", "a"), "1")),
    ):
        for path, text in zip((first, second), texts, strict=True):
            path.write_text(text, "utf-8")
        monkeypatch.setattr(stamps_module, "version", lambda name, version=version: version)
        program_stamp.cache_clear()
        seen.add(program_stamp())
    program_stamp.cache_clear()
    assert len(seen) == 5


def test_constants_are_their_values() -> None:
    class Pair(NamedTuple):
        one: object
        other: object

    table = np.arange(5000.0)
    assert stamp_of_constants(Pair(1, table)) == stamp_of_constants((1, table.copy()))
    changed = table.copy()
    changed[2500] = 0.0
    different = [(1, changed), (1.0, table), ((1, table),), (table, 1), (1, table.astype(int))]
    assert len({stamp_of_constants(each) for each in [(1, table), *different]}) == 6
