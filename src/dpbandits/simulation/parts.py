"""Parts: what was computed, kept in a folder, so that whoever is stopped goes on where it was, to the same bits.

A part has a name made from all it was computed from: what was asked, the program's own source, its libraries. Summaries
of many runs are written while they grow. What is damaged is computed again.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dpbandits import _writing
from dpbandits.environments.base import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies import Policy
from dpbandits.simulation.runner import CHECKPOINTS, summarise
from dpbandits.simulation.stamp import classes_in, stamp
from dpbandits.simulation.summary import RegretSummary

_SECONDS_BETWEEN_SAVES = 5.0
_LIBRARIES = ("numpy", "scipy", "numba", "dp-accounting")
_PACKAGE = Path(__file__).parent.parent


class Parts:
    """A folder of results, each computed once.

    Attributes:
        pulls, seconds: how many pulls were simulated by this process, and the CPU time they took.
        on_runs: called with the number of runs that were just finished.
    """

    def __init__(self, folder: Path) -> None:
        self.pulls = 0
        self.seconds = 0.0
        self.on_runs: Callable[[int], None] = lambda runs: None
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        _writing.remove_unfinished(self._folder)
        self._summaries: dict[str, RegretSummary] = {}

    def summary(
        self,
        policy: Policy,
        environment: Environment,
        *,
        horizon: int,
        runs: int,
        seed: int,
        shuffled: bool = False,
        workers: int | None = None,
        points: int = CHECKPOINTS,
    ) -> RegretSummary:
        """Return the regret of a policy in so many runs, at about so many points in time."""
        arms = environment.means.tobytes().hex()  # the text of an environment with many arms leaves them out
        kernels = _stamped(classes_in(policy.configure(environment.arms, horizon).params))  # of a user's own file, too
        asked = f"{policy!r} {kernels} {environment!r} {arms} {horizon} {runs} {seed} {shuffled} {points}"
        path = self._path(asked, ".npz")
        if path.name not in self._summaries:
            begun = _loaded(path)
            done = 0 if begun is None else begun.runs
            if begun is not None:
                self.on_runs(done)
            if begun is None or done < runs:
                growing = summarise(
                    policy,
                    environment,
                    horizon=horizon,
                    runs=runs,
                    seed=seed,
                    shuffled=shuffled,
                    workers=workers,
                    points=points,
                    begun=begun,
                )
                begun = self._grown(path, growing, done, runs)
            self._summaries[path.name] = begun
        return self._summaries[path.name]

    def kept(self, what: str, compute: Callable[[], Any]) -> Any:
        """Return a result that JSON can hold, computed now or by an earlier process that was asked the same."""
        path = self._path(what, ".json")
        with suppress(FileNotFoundError, ValueError):  # what is damaged is computed again
            checksum, text = path.read_text("utf-8").split("\n", 1)
            if checksum == _checksum(path.name, text):
                return json.loads(text)
        text = json.dumps(compute())
        _writing.write_file(path, f"{_checksum(path.name, text)}\n{text}".encode())
        return json.loads(text)  # the same form now as later

    def _grown(self, path: Path, growing: Iterator[RegretSummary], done: int, runs: int) -> RegretSummary:
        saved = time.monotonic()
        started = time.process_time()
        for summary in growing:
            self.on_runs(summary.runs - done)
            self.pulls += (summary.runs - done) * summary.horizon
            done = summary.runs
            if done == runs or time.monotonic() - saved > _SECONDS_BETWEEN_SAVES:
                self.seconds += time.process_time() - started
                _writing.replace_file(path, summary.save)
                saved, started = time.monotonic(), time.process_time()
        return summary

    def _path(self, made_from: str, ending: str) -> Path:
        return self._folder / (_checksum(_program(), made_from)[:24] + ending)


def _loaded(path: Path) -> RegretSummary | None:
    try:
        return RegretSummary.load(path)
    except (FileNotFoundError, InvalidInput):  # what is damaged is computed again
        return None


def _checksum(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@cache
def _stamped(classes: tuple[type, ...]) -> str:
    return stamp(*classes)


@cache
def _program() -> str:
    """Return what names this program: any edit, and any other version of what it computes with, begins anew."""
    sources = (f"{path.relative_to(_PACKAGE)}\0{path.read_text('utf-8')}" for path in sorted(_PACKAGE.rglob("*.py")))
    return _checksum(*sources, *(f"{name} {_version(name)}" for name in _LIBRARIES))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # simulation alone needs no accounting library
        return "absent"
