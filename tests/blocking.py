"""Packages that seem not to be installed, for tests of what is said then."""

import sys

import pytest

from dpbandits._extras import EXTRA_OF

# For a process of its own, at its very beginning: no extra is installed, whatever the machine has.
NOTHING_INSTALLED = f"""
import sys
from importlib.machinery import PathFinder

class Bare(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {sorted(EXTRA_OF)} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Bare
"""


def uninstall(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let packages be absent until the test ends: what is imported from now on does not find them."""
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
