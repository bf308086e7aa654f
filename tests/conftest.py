"""Every run of the tests is the same: hypothesis rolls no dice of its own, and compiled code starts from nothing."""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")

# Set before numba is imported, and inherited by the workers and by every process that a test starts.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="dpbandits-numba-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
    if "service_stores" in sys.modules:
        sys.modules["service_stores"].stop_servers()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of collected tests stay to the end, and so does most of what is compiled: nothing there can be freed,
    and looking for it takes time. It is looked for less often."""
    gc.set_threshold(20_000, 20, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", help="hit a live bandit everywhere it can be hit (make torture)")


@pytest.fixture
def torture(request: pytest.FixtureRequest) -> bool:
    """Whether there is time for all places, and not for a sample of them."""
    return bool(request.config.getoption("--torture"))


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls a plug here, so nothing has to be on the disk itself. Tests of `fsync` bring their own."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture(scope="module")
def plain_loop() -> Iterator[None]:
    """Play the loop as it is written.

    It gives the same bits as compiled (tests/engine/test_compiled.py), and short runs take less time than compiling.
    """
    from dpbandits.engine.cpu import CPUPlayer
    from dpbandits.engine.loop import play_runs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CPUPlayer, "_loop", lambda *kinds: play_runs)
        yield


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Where a store of each kind is."""
    from service_stores import Place

    return Place(request.param, tmp_path)


@pytest.fixture
def postgresql_place(tmp_path: Path) -> Any:
    """Where a store on PostgreSQL is."""
    from service_stores import POSTGRESQL, Place

    return Place(POSTGRESQL, tmp_path)


@pytest.fixture
def store(place: Any) -> Iterator[Any]:
    """An open store of each kind."""
    with place.store() as opened:
        yield opened
