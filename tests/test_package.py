"""The package as a whole: light import, types and documents inside; import-linter checks the direction of imports."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
HEAVY = ["numba", "opendp", "dp_accounting", "matplotlib", "pandas", "pyarrow", "rich", "scipy", "typer"]


def test_import_is_light() -> None:
    """The half second is measured by the benchmarks; what it would be spent on is checked here."""
    code = f"import dpbandits, sys, json; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == []


def test_live_use_never_loads_numba() -> None:
    code = (
        "import dpbandits as dpb, sys; dpb.mechanisms.Hybrid(1.0).insert(1.0);"
        "bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=5.0, delta=0.0, horizon=500), 2);"
        "[bandit.update(bandit.select(), 1.0) for _ in range(100)];"
        "assert len(bandit.ledger) > 1; bandit.estimates(); print('numba' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"


def test_simulation_needs_neither_opendp_nor_dp_accounting() -> None:
    code = (
        "import sys, dpbandits as dpb, dpbandits.mechanisms as m;"
        "m.Hybrid(1.0, noise=m.SeededNoise(1)).insert(1.0);"
        "policies = [dpb.DPUCBBound(epsilon=1.0), dpb.DPUCBInt(epsilon=1.0, delta=1e-6)];"
        "dpb.simulate(policies, dpb.Bernoulli([0.9, 0.6]), horizon=10, runs=1, seed=1);"
        "print([x for x in ('opendp', 'dp_accounting') if x in sys.modules])"
    )
    plainly = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # the same modules, and nothing to be compiled
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=plainly).stdout
    assert printed.strip() == "[]"


def test_type_checkers_are_told_that_there_are_types() -> None:
    assert (files("dpbandits") / "py.typed").is_file()


def test_documents_that_are_named_exist_and_are_installed() -> None:
    """Guarantees, errors and help texts send their readers to documents, also where there is no checkout."""
    sources = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {document for source in sources for document in re.findall(r"docs/\w+\.md", source)}
    assert "docs/counters.md" in named  # of every counter's guarantee
    documents = {f"docs/{path.name}" for kind in ("*.md", "*.svg") for path in (ROOT / "docs").glob(kind)}
    assert named <= documents
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {document: f"dpbandits/{document}" for document in sorted(documents)}
