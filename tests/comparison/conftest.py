"""Comparisons of runs that are played in plain Python."""

from collections.abc import Iterator

import pytest

from dpbandits.engine.cpu import CPUPlayer
from dpbandits.engine.loop import play_runs


@pytest.fixture(scope="module")
def plain_loop() -> Iterator[None]:
    """Play the loop as it is written.

    It gives the same bits as compiled (tests/engine/test_compiled.py), and short runs take less time than compiling.
    Comparisons of compiled runs are in test_places.py, in the doctests and in the tests of the commands.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CPUPlayer, "_loop", lambda *kinds: play_runs)
        yield
