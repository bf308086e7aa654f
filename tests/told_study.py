"""A study that shows claims whatever a test wants them to see."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpbandits as dpb
from dpbandits.auditing.broken.printed import PrintedAlgorithm3
from dpbandits.reproduce import Settings, Study
from dpbandits.simulation import RegretSummary

Told = Callable[[Any, int], Any]
SHAPE = np.array([1e-5, 0.1, 0.5, 1.0])  # of the horizon


def summary_of(regrets: Any, horizon: int = 100_000) -> RegretSummary:
    """A summary of these runs: final regrets that are reached in straight lines, or a column for each of four times."""
    checkpoints = np.maximum(1, (SHAPE * horizon).astype(np.int64))
    runs = np.asarray(regrets, dtype=np.float64)
    summary = RegretSummary(checkpoints, np.array([0.0, 0.3]))
    summary.add(np.outer(runs, checkpoints / horizon) if runs.ndim == 1 else runs)
    return summary


class Shown(Study):
    """Every simulation comes out as told, by policy and horizon."""

    def __init__(self, folder: Path, told: Told, settings: Settings | None = None) -> None:
        super().__init__(settings or Settings(), folder)
        self._told = told

    def summary(self, policy: Any, environment: Any, *, horizon: int | None = None, runs: int | None = None) -> Any:
        t = horizon or self.settings.horizon
        return summary_of(self._told(policy, t), t)


def around(mean: float, spread: float = 1.0, runs: int = 50) -> NDArray[np.float64]:
    """Final regrets with this mean."""
    return np.asarray(mean + spread * np.linspace(-1, 1, runs))


def flat(mean: float, spread: float = 1.0, runs: int = 50) -> NDArray[np.float64]:
    """Regrets that are the same at all times."""
    return np.tile(around(mean, spread, runs)[:, None], len(SHAPE))


def kind(policy: Any) -> str:
    """The policy's name in the paper."""
    names: dict[type, str] = {
        dpb.UCB: "UCB",
        dpb.PrivateUCB: "Private-UCB",
        dpb.DPUCB: "DP-UCB",
        dpb.DPUCBBound: "DP-UCB-Bound",
        dpb.DPUCBInt: "DP-UCB-Int",
        PrintedAlgorithm3: "as printed",
    }
    return names[type(policy)]


def by_kind(usual: Any, **others: Any) -> Told:
    """Tell the same of every policy but those named: Int, Bound, Plain, Private, Ucb, Printed."""
    letters = {
        **{"UCB": "Ucb", "Private-UCB": "Private", "DP-UCB": "Plain", "DP-UCB-Bound": "Bound"},
        **{"DP-UCB-Int": "Int", "as printed": "Printed"},
    }

    def told(policy: Any, t: int) -> Any:
        chosen = others.get(letters[kind(policy)], usual)
        return chosen(policy, t) if callable(chosen) else chosen

    return told
