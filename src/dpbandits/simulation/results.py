"""SimulationResult: the regret of every run at log-spaced times, with summaries, tables, plots and files of it."""

import json
from collections.abc import Mapping
from os import PathLike
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._extras import require_extras
from dpbandits._phrases import count_text
from dpbandits._writing import write_arrays
from dpbandits.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_FORMAT = "dpbandits simulation 1"
# What a file calls the arrays of a policy: those that are always there, and those that may have been asked for.
_ALWAYS = {"regrets": "regret", "switches": "switches"}
_SAVED = {**_ALWAYS, "plays": "plays", "chosen": "chosen"}


class SimulationResult:
    """What `simulate` returns. Pseudo-regret: the expected reward lost against always playing the best arm.

    Attributes:
        names: the policies' names, in order.
        checkpoints: the times at which regret was kept; the last is the horizon.
        policies: the settings of every policy, as text.
        environment, means, seed: where it came from.
    """

    def __init__(
        self,
        rows: Mapping[str, Mapping[str, NDArray[Any]]],
        checkpoints: NDArray[np.int64],
        *,
        policies: Mapping[str, Any],
        environment: str,
        means: ArrayLike,
        seed: int,
    ) -> None:
        self._rows = {name: dict(arrays) for name, arrays in rows.items()}
        self.checkpoints = checkpoints
        self.policies = {name: str(policy) for name, policy in policies.items()}
        self.environment = environment
        self.means = np.asarray(means)
        self.seed = seed

    @property
    def names(self) -> list[str]:
        """The policies' names, in order."""
        return list(self._rows)

    @property
    def horizon(self) -> int:
        """How many steps every run has."""
        return int(self.checkpoints[-1])

    @property
    def runs(self) -> int:
        """How many runs every policy has."""
        return len(next(iter(self._rows.values()))["regrets"])

    def regret(self, name: str) -> NDArray[np.float64]:
        """Return the regret of one policy: a row per run, a column per checkpoint."""
        return self._of(name, "regrets")

    def final_regret(self, name: str) -> NDArray[np.float64]:
        """Return the regret of one policy at the horizon, one number per run."""
        return self.regret(name)[:, -1]

    def switches(self, name: str) -> NDArray[np.int64]:
        """Return how often one policy changed its arm from one step to the next, one number per run."""
        return self._of(name, "switches")

    def plays(self, name: str) -> NDArray[np.int64]:
        """Return how often every arm was played up to a checkpoint: by run, checkpoint and arm.

        Raises:
            InvalidInput: `simulate` was not asked to keep them, by `plays=True`.
        """
        return self._of(name, "plays")

    def best_share(self, name: str) -> NDArray[np.float64]:
        """Return which share of the plays up to every checkpoint was of the best arm, on average over the runs."""
        shares = self.plays(name).mean(axis=0) / self.checkpoints[:, None]
        return np.asarray(shares[:, self._is_best()].sum(axis=1))

    def best_probability(self, name: str) -> NDArray[np.float64]:
        """Return in which share of the runs the best arm was played at every checkpoint, at that very time."""
        return np.asarray(self._is_best()[self._of(name, "chosen")].mean(axis=0))

    def _is_best(self) -> NDArray[np.bool_]:
        return np.asarray(self.means == self.means.max())

    def _of(self, name: str, what: str) -> NDArray[Any]:
        if name not in self._rows:
            raise InvalidInput(f"Expected name={name!r} to be one of {', '.join(self.names)}.")
        if what not in self._rows[name]:
            raise InvalidInput("Expected a simulation that kept the plays of every arm: simulate(..., plays=True).")
        return self._rows[name][what]

    def summary(self) -> "pd.DataFrame":
        """Return a table of the regret at the horizon: a row per policy."""
        require_extras("pandas")
        import pandas as pd

        rows = []
        for name in self.names:
            final = self.final_regret(name)
            error = final.std(ddof=1) / np.sqrt(len(final)) if len(final) > 1 else np.nan
            rows.append([final.mean(), error, np.median(final), np.quantile(final, 0.99), final.max()])
        columns = ["mean", "standard error", "median", "99th percentile", "worst"]
        return pd.DataFrame(rows, index=pd.Index(self.names, name="policy"), columns=columns)

    def to_pandas(self) -> "pd.DataFrame":
        """Return everything as a tidy table: policy, run, t, regret."""
        require_extras("pandas")
        import pandas as pd

        points = len(self.checkpoints)
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "policy": name,
                        "run": np.repeat(np.arange(self.runs), points),
                        "t": np.tile(self.checkpoints, self.runs),
                        "regret": self.regret(name).ravel(),
                    }
                )
                for name in self.names
            ],
            ignore_index=True,
        )

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw mean regret over time, with bands from the 5th to the 95th percentile of the runs."""
        from dpbandits.plots import plot_regret

        regrets = {name: self.regret(name) for name in self.names}
        return plot_regret(regrets, self.checkpoints, shorten(self.environment, 90, placeholder=" ...)"), axes)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, which `load` reads (a NumPy .npz archive without pickles)."""
        about = {
            "format": _FORMAT,
            "names": self.names,
            "policies": self.policies,
            "environment": self.environment,
            "seed": self.seed,
        }
        arrays = {f"{_SAVED[what]} {i}": self._rows[name][what] for i, name, what in self._every_array()}
        fixed = {"about": json.dumps(about), "checkpoints": self.checkpoints, "means": self.means}
        write_arrays(path, {**fixed, **arrays})

    def _every_array(self) -> list[tuple[int, str, str]]:
        return [(i, name, what) for i, name in enumerate(self.names) for what in self._rows[name]]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "SimulationResult":
        """Read a result that was saved.

        Raises:
            InvalidInput: the file is not a saved simulation.
        """
        with open(path, "rb") as file:
            try:
                with np.load(file) as archive:
                    about = json.loads(str(archive["about"]))
                    if about["format"] != _FORMAT:
                        raise InvalidInput(f"Expected {path} in the format {_FORMAT!r}, not {about['format']!r}.")
                    return cls(
                        {name: _saved_rows(archive, i) for i, name in enumerate(about["names"])},
                        archive["checkpoints"],
                        policies=about["policies"],
                        environment=about["environment"],
                        means=archive["means"],
                        seed=about["seed"],
                    )
            except InvalidInput:
                raise
            except Exception:  # noqa: BLE001  (a damaged archive can raise anything)
                raise InvalidInput(f"Expected {path} to be a saved simulation, but it cannot be read as one.") from None

    def __repr__(self) -> str:
        extent = f"{count_text(self.runs, 'run')} of {', '.join(self.names)} for {count_text(self.horizon, 'step')}"
        return f"<{extent} in {self.environment}>"


def _saved_rows(archive: Mapping[str, NDArray[Any]], number: int) -> dict[str, NDArray[Any]]:
    """Return what a file has of the policy with this number."""
    names = {what: f"{saved} {number}" for what, saved in _SAVED.items()}
    return {what: archive[name] for what, name in names.items() if what in _ALWAYS or name in archive}
