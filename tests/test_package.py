"""The package as a whole: light import, exact exports, one direction of imports is checked by import-linter."""

import json
import subprocess
import sys

import dpbandits
from dpbandits import live, mechanisms, privacy

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
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_exports_are_what_they_say() -> None:
    for module in (dpbandits, live, mechanisms, privacy):
        assert all(hasattr(module, name) for name in module.__all__)
        assert len(set(module.__all__)) == len(module.__all__)
