"""ExperimentView: what can be known of a live experiment, asked for by name. All of it is made from an Overview."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from dpbandits.live.configuration import Configuration
from dpbandits.live.estimates import Comparison, Estimate
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.reporting.arms_table import arms_frame
from dpbandits.live.reporting.overview_figure import overview_figure
from dpbandits.live.reporting.report_page import write_page
from dpbandits.live.spent_budget import Spent
from dpbandits.policies import Policy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class ExperimentView(ABC):
    """Questions about an experiment, each answered from releases, counts of assignments and the configuration."""

    _configuration: Configuration

    @abstractmethod
    def _overview(self) -> Overview:
        """Return what may be shown now."""

    def _own_files(self) -> tuple[Path, ...]:
        """Return the files that no report may overwrite."""
        return ()

    @property
    def arms(self) -> tuple[str | int, ...]:
        """The names of the arms."""
        return self._configuration.arms

    @property
    def policy(self) -> Policy:
        """The policy as it was given."""
        return self._configuration.policy

    def spent(self) -> Spent:
        """Return the largest loss of any one reward so far."""
        return self._overview().spent()

    def estimates(self, confidence: float = 0.95) -> dict[str | int, Estimate]:
        """Return the mean of every arm with an interval, from releases alone.

        With (at least) this probability all intervals that are ever returned at this confidence are right, for all
        arms and all releases at once, if the rewards of an arm are independent with one mean. A missing answer is a
        reward like any other, the default one.

        Args:
            confidence: in (0, 1).
        """
        return self._overview().estimates(confidence)

    def compare(self, a: str | int, b: str | int, confidence: float = 0.95) -> Comparison:
        """Tell whether arm b is better than arm a: right whenever the intervals of `estimates` are."""
        return self._overview().compare(a, b, confidence)

    def to_pandas(self, confidence: float = 0.95) -> "pd.DataFrame":
        """Return the assignments, estimates and intervals of all arms as a table, a row for each."""
        return arms_frame(self._overview(), confidence)

    def plot(self) -> "Figure":
        """Draw who got which arm, the estimates with their 95% intervals, and the budget that is spent."""
        return overview_figure(self._overview())

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write all that may be shown as one page (.html), in plain words, for the owner of the experiment."""
        write_page(path, self._overview(), self._own_files())
