"""SimulationResult: the regret of every run at log-spaced times, and what one wants to know of it."""

import json
from collections.abc import Mapping
from os import PathLike
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._extras import require_extras
from dpbandits._words import counted
from dpbandits.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_FORMAT = "dpbandits simulation 1"


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
        regrets: Mapping[str, NDArray[np.float64]],
        switches: Mapping[str, NDArray[np.int64]],
        checkpoints: NDArray[np.int64],
        *,
        policies: Mapping[str, Any],
        environment: str,
        means: ArrayLike,
        seed: int,
    ) -> None:
        self._regrets = dict(regrets)
        self._switches = dict(switches)
        self.checkpoints = checkpoints
        self.policies = {name: str(policy) for name, policy in policies.items()}
        self.environment = environment
        self.means = np.asarray(means)
        self.seed = seed

    @property
    def names(self) -> list[str]:
        """The policies' names, in order."""
        return list(self._regrets)

    @property
    def horizon(self) -> int:
        """How many steps every run has."""
        return int(self.checkpoints[-1])

    @property
    def runs(self) -> int:
        """How many runs every policy has."""
        return len(next(iter(self._regrets.values())))

    def regret(self, name: str) -> NDArray[np.float64]:
        """Return the regret of one policy: a row per run, a column per checkpoint."""
        return self._regrets[self._known(name)]

    def final_regret(self, name: str) -> NDArray[np.float64]:
        """Return the regret of one policy at the horizon, one number per run."""
        return self.regret(name)[:, -1]

    def switches(self, name: str) -> NDArray[np.int64]:
        """Return how often one policy changed its arm from one step to the next, one number per run."""
        return self._switches[self._known(name)]

    def _known(self, name: str) -> str:
        if name not in self._regrets:
            raise InvalidInput(f"Expected name={name!r} to be one of {', '.join(self.names)}.")
        return name

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
        arrays: dict[str, Any] = {}
        for i, name in enumerate(self.names):
            arrays |= {f"regret {i}": self._regrets[name], f"switches {i}": self._switches[name]}
        with open(path, "wb") as file:  # a path is written as it is, without NumPy's own ending
            np.savez_compressed(file, about=json.dumps(about), checkpoints=self.checkpoints, means=self.means, **arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "SimulationResult":
        """Read a result that was saved."""
        with open(path, "rb") as file:
            try:
                with np.load(file) as archive:
                    about = json.loads(str(archive["about"]))
                    if about["format"] != _FORMAT:
                        raise InvalidInput(f"Expected {path} in the format {_FORMAT!r}, not {about['format']!r}.")
                    return cls(
                        {name: archive[f"regret {i}"] for i, name in enumerate(about["names"])},
                        {name: archive[f"switches {i}"] for i, name in enumerate(about["names"])},
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
        played = f"{counted(self.runs, 'run')} of {', '.join(self.names)} for {counted(self.horizon, 'step')}"
        return f"<{played} in {self.environment}>"
