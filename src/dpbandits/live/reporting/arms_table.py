"""The arms of a live experiment as a pandas table."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from dpbandits._extras import require_extras
from dpbandits.live.experiment_overview import Overview

if TYPE_CHECKING:
    import pandas as pd


def arms_frame(overview: Overview, confidence: float) -> "pd.DataFrame":
    """Return a row for every arm: assignments, mean, low, high, rewards in releases, releases."""
    require_extras("pandas")
    import pandas as pd

    estimates = [asdict(estimate) for estimate in overview.estimates(confidence).values()]
    frame = pd.DataFrame(estimates).set_index("arm")
    frame["mean"] = frame["mean"].astype("float64")  # NaN before the first release
    frame.insert(0, "assigned", overview.assigned_to)
    return frame
