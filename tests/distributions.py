"""Whether two samples come from one distribution."""

from typing import Any

import numpy as np
from scipy.stats import ks_2samp


def same_distribution(first: Any, second: Any) -> bool:
    """Kolmogorov-Smirnov at a false-alarm rate of 1e-4, or less where values repeat (rounding errors apart)."""
    return bool(ks_2samp(np.round(first, 6), np.round(second, 6), method="asymp").pvalue > 1e-4)
