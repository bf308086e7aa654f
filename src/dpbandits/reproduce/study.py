"""Study: the settings of a reproduction, and everything it has computed so far, kept in its folder.

Whatever takes time is written to `parts/` as it is done, under a name made from all it was computed from: the settings,
the program's own source, its libraries. Stopped and started again, a study goes on where it was, to the same bits.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dpbandits
from dpbandits import _validate
from dpbandits.environments.base import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies import DPUCBInt, Policy
from dpbandits.reproduce.experiments import HORIZON, RUNS
from dpbandits.simulation import RegretSummary, summarise

_SECONDS_BETWEEN_SAVES = 5.0
_UNFINISHED = ".unfinished-"
_LIBRARIES = ("numpy", "scipy", "numba", "dp-accounting")


@dataclass(frozen=True)
class Settings:
    """What a user may choose. `effort` scales the extra runs and trials that single claims need."""

    horizon: int = HORIZON
    runs: int = RUNS
    seed: int = 0
    effort: float = 1.0

    def __post_init__(self) -> None:
        _validate.integer_fields(self, horizon="[1000, 1000000000]", runs="[2, 1000000000]", seed="[0, inf)")
        _validate.real_fields(self, effort="(0, 1]")


class Study:
    """Computes what figures and claims ask for, each thing once.

    Attributes:
        pulls, seconds: how many pulls were simulated by this process, and the CPU time they took.
        on_runs: called with the number of runs that were just finished.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.pulls = 0
        self.seconds = 0.0
        self.on_runs: Callable[[int], None] = lambda runs: None
        self._folder = folder / "parts"
        self._folder.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(self._folder)
        self._summaries: dict[str, RegretSummary] = {}

    def scaled(self, number: int, least: int) -> int:
        """Return a number of extra runs or trials, fewer if less effort is asked for."""
        return max(least, round(number * self.settings.effort))

    def summary(
        self, policy: Policy, environment: Environment, *, horizon: int | None = None, runs: int | None = None
    ) -> RegretSummary:
        """Return the regret of a policy, with the study's own horizon and number of runs unless told otherwise."""
        horizon = self.settings.horizon if horizon is None else horizon
        runs = self.settings.runs if runs is None else runs
        path = self._path(f"{policy!r} {environment!r} {horizon} {runs} {self.settings.seed}", ".npz")
        if path.name not in self._summaries:
            self._summaries[path.name] = self._summarise(path, policy, environment, horizon, runs)
        return self._summaries[path.name]

    def steady(self, policy: Policy, environment: Environment) -> RegretSummary:
        """Return so many runs that their mean can be trusted: the study's own, or more of DP-UCB-Int.

        About one in a hundred of its runs decides its mean; a hundred runs show some of them or none.
        """
        many = max(self.settings.runs, self.scaled(20_000, least=1000))
        return self.summary(policy, environment, runs=many if isinstance(policy, DPUCBInt) else None)

    def kept(self, what: str, compute: Callable[[], Any]) -> Any:
        """Return a result that JSON can hold, computed now or by an earlier process with the same settings."""
        path = self._path(f"{what} {self.settings!r}", ".json")
        with suppress(FileNotFoundError, ValueError):  # what is damaged is computed again
            checksum, text = path.read_text("utf-8").split("\n", 1)
            if checksum == _checksum(path.name, text):
                return json.loads(text)
        text = json.dumps(compute())
        write_file(path, f"{_checksum(path.name, text)}\n{text}".encode())
        return json.loads(text)  # the same form now as later

    def _summarise(
        self, path: Path, policy: Policy, environment: Environment, horizon: int, runs: int
    ) -> RegretSummary:
        begun = _loaded(path)
        if begun is not None:
            self.on_runs(begun.runs)
            if begun.runs == runs:
                return begun
        done = 0 if begun is None else begun.runs
        saved = time.monotonic()
        started = time.process_time()
        summary = begun
        for summary in summarise(policy, environment, horizon=horizon, runs=runs, seed=self.settings.seed, begun=begun):
            self.on_runs(summary.runs - done)
            self.pulls += (summary.runs - done) * horizon
            done = summary.runs
            if done == runs or time.monotonic() - saved > _SECONDS_BETWEEN_SAVES:
                self.seconds += time.process_time() - started
                _replace(path, summary.save)
                saved, started = time.monotonic(), time.process_time()
        assert summary is not None
        return summary

    def _path(self, made_from: str, ending: str) -> Path:
        return self._folder / (_checksum(_program(), made_from)[:24] + ending)


def _loaded(path: Path) -> RegretSummary | None:
    try:
        return RegretSummary.load(path)
    except (FileNotFoundError, InvalidInput):  # what is damaged is computed again
        return None


def write_file(path: Path, content: bytes) -> Path:
    """Write a file so that it is there as a whole or not at all."""
    _replace(path, lambda part: part.write_bytes(content))
    return path


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    part = path.with_name(f"{path.name}{_UNFINISHED}{os.getpid()}")
    write(part)
    part.replace(path)


def _remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left: no file takes a minute to write."""
    for path in folder.glob(f"*{_UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > 60:
                path.unlink()


def _checksum(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@cache
def _program() -> str:
    """Return what names this program: any edit, and any other version of what it computes with, begins anew."""
    root = Path(dpbandits.__file__).parent
    sources = (f"{path.relative_to(root)}\0{path.read_text('utf-8')}" for path in sorted(root.rglob("*.py")))
    return _checksum(*sources, *(f"{name} {version(name)}" for name in _LIBRARIES))
