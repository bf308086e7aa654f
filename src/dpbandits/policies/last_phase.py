"""The last phase of an arm alone: its mean carries a single noise, and all before it is forgotten."""

from typing import Annotated, Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.state import public
from dpbandits.policies.phases import Tally


class LastPhaseState(NamedTuple):
    """Where the arms stand, and what their last phases gave."""

    tally: Tally
    means: Annotated[Any, public("arms")]
    sizes: Annotated[Any, public("arms")]  # plays of the last phase


@kernel
def keep_last_phase(params: Any, state: LastPhaseState, arm: int, value: float, t: int) -> None:
    """Keep the mean of the phase that was just released, and its size."""
    size = params.phases.sizes[state.tally.done[arm] - 1]
    state.means[arm] = value / size
    state.sizes[arm] = size
